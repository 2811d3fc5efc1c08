/**
 * What the load generator is told, and what it tells. In: nothing. Out: the types of its plan, which
 * it gets as one line of JSON, and of the lines of JSON that it writes.
 */

/** Requests of one kind, begun at a fixed rate whatever becomes of them. */
export interface StreamPlan {
  readonly name: string;
  /** Requests a second. */
  readonly rate: number;
  readonly method: "GET" | "POST";
  readonly host: string;
  /** Path and query; the query gets a further `id=…`, which the answer must say. */
  readonly path: string;
  /** Whether a request may be sent on a connection that has had one before. */
  readonly connections: "kept" | "new";
  /** Over TLS, with a certificate that must be good for `host`. */
  readonly secure?: boolean;
  /** Of each POST, in bytes; default 1,000. */
  readonly bodyBytes?: number;
  /** From when a request is due until its whole answer, in ms; default 10,000. */
  readonly timeout?: number;
}

/** Calls of gRPC at a fixed rate, on one connection of HTTP/2 until it is told to go. */
export interface CallsPlan {
  readonly name: string;
  /** Calls a second. */
  readonly rate: number;
  readonly host: string;
  /** Of a method that sends its message back. */
  readonly path: string;
  /** Over TLS, with a certificate that must be good for `host`. */
  readonly secure?: boolean;
}

/** WebSockets that stay open, and are opened anew when they end. */
export interface SocketsPlan {
  readonly name: string;
  readonly count: number;
  /** From one message of a socket to its next, in ms. An echo must have come by then or 10 s. */
  readonly interval: number;
  readonly host: string;
  readonly path: string;
  readonly secure?: boolean;
}

/** New TLS connections with one GET each, whose certificates are looked at. */
export interface HandshakesPlan {
  readonly name: string;
  /** Handshakes a second. */
  readonly rate: number;
  readonly host: string;
  readonly path: string;
}

export interface LoadPlan {
  /** An IP address, with the ports that a client would use. */
  readonly address: string;
  readonly httpPort: number;
  readonly httpsPort: number;
  /** PEM of what signs the certificates of secure streams. */
  readonly authority?: string;
  readonly streams: readonly StreamPlan[];
  readonly calls?: readonly CallsPlan[];
  readonly sockets?: readonly SocketsPlan[];
  readonly handshakes?: readonly HandshakesPlan[];
}

/**
 * Where a request went wrong: `refused` and `connect` before a connection stood, `handshake` in TLS,
 * `closed` by FIN and `reset` by RST before any byte of the answer, `cut` within the answer,
 * `timeout`, `status` other than 200 (of gRPC: other than 0), `body` other than it should be.
 */
export type FailureKind =
  | "refused"
  | "connect"
  | "handshake"
  | "closed"
  | "reset"
  | "cut"
  | "timeout"
  | "status"
  | "body";

export interface Failure {
  readonly kind: "failure";
  readonly stream: string;
  readonly how: FailureKind;
  /** When it was sent, in ms since 1970. */
  readonly at: number;
  /** From then until it had failed, in ms. */
  readonly after: number;
  /** Of a request on a connection of HTTP/1: from `at` until it was written, in ms; null where it was not. */
  readonly written?: number | null;
  /** 0 without an answer. */
  readonly status: number;
  /** The first line and body of the answer, or the error. */
  readonly detail: string;
  /** How many requests its connection had had before. */
  readonly before: number;
}

/** A WebSocket has ended. */
export interface SocketEnd {
  readonly kind: "end";
  readonly stream: string;
  /** In ms since 1970. */
  readonly at: number;
  /** Of its close frame; 1006 where there was none, 0 where it never was open. */
  readonly code: number;
  readonly detail: string;
  /** Milliseconds for which it was open. */
  readonly age: number;
}

/** A certificate was shown in a handshake, another than in the one that was over before it. */
export interface CertificateSeen {
  readonly kind: "certificate";
  readonly stream: string;
  /** When its handshake began, in ms since 1970. */
  readonly began: number;
  /** When it was over. */
  readonly at: number;
  /** SHA-256 of the certificate, as `X509Certificate.fingerprint256` has it. */
  readonly fingerprint: string;
}

/** Said every 100 ms. */
export interface Progress {
  readonly kind: "progress";
  readonly at: number;
  /** So far: requests and messages that were answered as they should. */
  readonly answered: number;
  readonly failed: number;
}

export interface StreamResult {
  readonly name: string;
  readonly answered: number;
  readonly failed: number;
  /** From when a request was due until its whole answer, in ms. */
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
  readonly opened: number;
}

/** The last line. */
export interface Summary {
  readonly kind: "summary";
  /** In s. */
  readonly seconds: number;
  readonly streams: readonly StreamResult[];
  /** By how much a request was sent later than due because this program was busy, in ms. */
  readonly lag: { readonly p99: number; readonly max: number };
}

/** The first line, once every kept connection and socket is open. */
export interface Started {
  readonly kind: "started";
}

export type LoadLine = Started | Failure | SocketEnd | CertificateSeen | Progress | Summary;
