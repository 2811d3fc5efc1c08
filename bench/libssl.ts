/**
 * TLS on a socket of `libc.ts`, by OpenSSL, which wrk and ab use too: OPENSSL_CONF of `tls.ts` holds
 * it to the same version, cipher and group. In: a connected socket that blocks. Out: a session, read
 * and written by calls which allocate nothing in the heap of V8.
 */
const LIBSSL = Deno.dlopen("libssl.so.3", {
  TLS_client_method: { parameters: [], result: "pointer" },
  SSL_CTX_new: { parameters: ["pointer"], result: "pointer" },
  SSL_CTX_ctrl: { parameters: ["pointer", "i32", "i64", "pointer"], result: "i64" },
  SSL_CTX_load_verify_locations: { parameters: ["pointer", "buffer", "pointer"], result: "i32" },
  SSL_CTX_set_verify: { parameters: ["pointer", "i32", "pointer"], result: "void" },
  SSL_new: { parameters: ["pointer"], result: "pointer" },
  SSL_free: { parameters: ["pointer"], result: "void" },
  SSL_set_fd: { parameters: ["pointer", "i32"], result: "i32" },
  SSL_ctrl: { parameters: ["pointer", "i32", "i64", "buffer"], result: "i64" },
  SSL_set1_host: { parameters: ["pointer", "buffer"], result: "i32" },
  SSL_connect: { parameters: ["pointer"], result: "i32" },
  SSL_read: { parameters: ["pointer", "buffer", "i32"], result: "i32" },
  SSL_write: { parameters: ["pointer", "buffer", "i32"], result: "i32" },
  SSL_get_error: { parameters: ["pointer", "i32"], result: "i32" },
  SSL_session_reused: { parameters: ["pointer"], result: "i32" },
  SSL_get1_session: { parameters: ["pointer"], result: "pointer" },
  SSL_set_session: { parameters: ["pointer", "pointer"], result: "i32" },
  SSL_SESSION_free: { parameters: ["pointer"], result: "void" },
  SSL_shutdown: { parameters: ["pointer"], result: "i32" },
  ERR_clear_error: { parameters: [], result: "void" },
}).symbols;

const SSL_VERIFY_PEER = 1;
const SSL_CTRL_SET_READ_AHEAD = 41;
const SSL_CTRL_SET_TLSEXT_HOSTNAME = 55;
const TLSEXT_NAMETYPE_HOST_NAME = 0n;
const SSL_ERROR_WANT_READ = 2;

/** An `SSL *`. */
export type Session = Deno.PointerObject;

/** An `SSL_SESSION *`: what a server's tickets have brought, to resume from. */
export type Ticket = Deno.PointerObject;

export class TlsClient {
  readonly #context: Deno.PointerValue;
  readonly #name: Uint8Array<ArrayBuffer>;

  /**
   * @param authority a file of PEM, which a server's certificate must come from.
   * @param name what it must be for, and is asked for by SNI. Throws where the file is no such.
   */
  constructor(authority: string, name: string) {
    this.#context = LIBSSL.SSL_CTX_new(LIBSSL.TLS_client_method());
    this.#name = cString(name);
    if (LIBSSL.SSL_CTX_load_verify_locations(this.#context, cString(authority), null) !== 1) {
      throw new Error(`${authority} holds no certificate`);
    }
    LIBSSL.SSL_CTX_set_verify(this.#context, SSL_VERIFY_PEER, null);
    // One read of the socket for a record, not one for its head and one for the rest.
    LIBSSL.SSL_CTX_ctrl(this.#context, SSL_CTRL_SET_READ_AHEAD, 1n, null);
  }

  /** A full handshake, to its end; throws where it fails, or the certificate is not the right one. */
  handshake(fd: number): Session {
    const session = this.begin(fd, null);
    if (!proceed(session)) {
      LIBSSL.SSL_free(session);
      throw new Error("the TLS handshake was not answered");
    }
    return session;
  }

  /** A session that `proceed` hands shakes for, with the offer to resume where a ticket is given. */
  begin(fd: number, ticket: Ticket | null): Session {
    const session = LIBSSL.SSL_new(this.#context);
    if (session === null) throw new Error("no memory for a TLS session");
    LIBSSL.SSL_set_fd(session, fd);
    const type = TLSEXT_NAMETYPE_HOST_NAME;
    LIBSSL.SSL_ctrl(session, SSL_CTRL_SET_TLSEXT_HOSTNAME, type, this.#name);
    LIBSSL.SSL_set1_host(session, this.#name);
    if (ticket !== null) LIBSSL.SSL_set_session(session, ticket);
    return session;
  }
}

/** Whether the handshake is at its end; where not, more must come. Throws where it fails. */
export function proceed(session: Session): boolean {
  const result = LIBSSL.SSL_connect(session);
  if (result === 1) return true;
  if (LIBSSL.SSL_get_error(session, result) === SSL_ERROR_WANT_READ) return false;
  LIBSSL.ERR_clear_error();
  throw new Error("the TLS handshake failed");
}

/** Whether the server took the ticket: no certificate was shown. */
export function isResumed(session: Session): boolean {
  return LIBSSL.SSL_session_reused(session) === 1;
}

/** The last ticket that has come, for one `freeTicket`. */
export function ticketOf(session: Session): Ticket | null {
  return LIBSSL.SSL_get1_session(session);
}

export function freeTicket(ticket: Ticket): void {
  LIBSSL.SSL_SESSION_free(ticket);
}

/** Says good-bye; OpenSSL resumes from no session that was left without. */
export function endTls(session: Session): void {
  LIBSSL.SSL_shutdown(session);
}

/** The number of bytes; 0 at the end of the stream or of the session, negative for none yet. */
export function receiveTls(session: Session, into: Uint8Array<ArrayBuffer>): number {
  const count = LIBSSL.SSL_read(session, into, into.length);
  if (count > 0) return count;
  if (LIBSSL.SSL_get_error(session, count) === SSL_ERROR_WANT_READ) return -1;
  // It would be taken for one of the next session.
  LIBSSL.ERR_clear_error();
  return 0;
}

/** The number of bytes that were taken, negative for none. */
export function transmitTls(session: Session, bytes: Uint8Array<ArrayBuffer>): number {
  return LIBSSL.SSL_write(session, bytes, bytes.length);
}

export function freeSession(session: Session): void {
  LIBSSL.SSL_free(session);
}

function cString(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(`${text}\0`);
}
