/**
 * A plain connection as a transport. In: a `Deno.TcpConn`. Out: reads and writes that go to Deno's
 * operations directly, where this Deno is known to have them; else the connection itself.
 *
 * `TcpConn.read` and `write` wrap each operation in an async function, and a read in a set besides:
 * with two of each a request that is a seventh of all that a small one costs. The operations below
 * them are no public interface, so they are only used in releases that the tests have passed with.
 */
import type { Transport } from "./transport.ts";

/** What is used of Deno's core. */
interface Operations {
  /** The count, 0 at FIN. */
  read(id: number, view: Uint8Array): Promise<number>;
  write(id: number, view: Uint8Array): Promise<number>;
  /** Sends FIN. */
  shutdown(id: number): Promise<void>;
  close(id: number): void;
  /** The property of a connection with its id. */
  readonly internalRidSymbol: symbol;
}

/** Releases whose operations are what `Operations` says. */
const KNOWN = /^2\.9\./;

const OPERATIONS = KNOWN.test(Deno.version.deno) ? findOperations() : null;

/** Bytes that fit one segment of any network: 1,220 are left of the least MTU of IPv6 (RFC 8200 §5). */
const SEGMENT = 1_220;

/**
 * The connection as a transport; the caller uses it by that alone from now on. What is written goes
 * out at once: messages are written in one piece each, and to wait for more only adds delay. Throws
 * where the connection has gone.
 */
export function tcpTransport(
  connection: Deno.TcpConn,
  operations: Operations | null = OPERATIONS,
): Transport {
  const id = operations === null
    ? null
    : (connection as unknown as Record<symbol, unknown>)[operations.internalRidSymbol];
  if (operations !== null && typeof id === "number") {
    return new TcpTransport(connection, id, operations);
  }
  connection.setNoDelay(true);
  return connection;
}

/** Null where Deno has none of them, or keeps them to itself. */
export function findOperations(): Operations | null {
  const { internal } = Deno as unknown as { readonly internal?: symbol };
  if (internal === undefined) return null;
  const inside = Deno as unknown as Record<symbol, { readonly core?: Partial<Operations> }>;
  const { read, write, shutdown, close, internalRidSymbol } = inside[internal]?.core ?? {};
  if (typeof read !== "function" || typeof write !== "function") return null;
  if (typeof shutdown !== "function" || typeof close !== "function") return null;
  return typeof internalRidSymbol === "symbol"
    ? { read, write, shutdown, close, internalRidSymbol }
    : null;
}

/** Makes the same connection anew, without what is known of its ends. */
type MakeConnection = new (id: number, remote: null, local: null) => Deno.TcpConn;

/**
 * A connection that is read and written by Deno's operations. The `Deno.TcpConn` itself is not kept: with
 * both of its addresses, which are objects of the slow kind, it takes 800 bytes.
 */
export class TcpTransport implements Transport {
  readonly #make: MakeConnection;
  /** Of Deno's resource. */
  readonly id: number;
  readonly #operations: Operations;
  /** The system delays small writes, of which the first one would wait for nothing. */
  #delays = true;
  #hasWritten = false;

  constructor(connection: Deno.TcpConn, id: number, operations: Operations) {
    this.#make = connection.constructor as MakeConnection;
    this.id = id;
    this.#operations = operations;
  }

  read(view: Uint8Array): Promise<number> {
    return this.#operations.read(this.id, view);
  }

  write(view: Uint8Array): Promise<number> {
    if (this.#delays) this.#beforeWrite(view.length);
    return this.#operations.write(this.id, view);
  }

  /**
   * Nagle's algorithm (RFC 9293 §3.7.4) only holds back what follows bytes that are under way: who
   * writes a single segment, as to a client that comes for one response, is spared a system call.
   */
  #beforeWrite(length: number): void {
    const isAlone = !this.#hasWritten && length <= SEGMENT;
    this.#hasWritten = true;
    if (isAlone) return;
    this.#delays = false;
    try {
      new this.#make(this.id, null, null).setNoDelay(true);
    } catch {
      // Closed, or gone: the write that follows says so.
    }
  }

  closeWrite(): Promise<void> {
    return this.#operations.shutdown(this.id);
  }

  close(): void {
    this.#operations.close(this.id);
  }
}
