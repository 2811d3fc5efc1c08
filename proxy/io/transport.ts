/**
 * A byte stream to one peer. In: bytes to write. Out: bytes read. `Deno.TcpConn` is one as it
 * stands; what is faster, and TLS, are adapters of the same shape, so no connection knows which it
 * serves.
 */
export interface Transport {
  /**
   * Reads into `view`, which has room; the count, or null or 0 at the peer's FIN. Rejects on a reset
   * or after close.
   */
  read(view: Uint8Array): Promise<number | null>;
  /** Writes some of `view`; the count, which may be short. Rejects when the peer has reset. */
  write(view: Uint8Array): Promise<number>;
  /** Sends FIN and goes on reading. */
  closeWrite(): Promise<void>;
  close(): void;
}

/** Closes a transport that may be closed already. */
export function closeQuietly(transport: Transport): void {
  try {
    transport.close();
  } catch {
    // Closed by the other path of a race (deadline against error): that is what was wanted.
  }
}
