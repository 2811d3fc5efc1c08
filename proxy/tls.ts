/**
 * TLS on the downstream side, the one place that knows `node:tls`. In: an address, and a certificate
 * for each name. Out: transports of the same shape as plain sockets, once their handshake is done.
 *
 * What `node:tls` in Deno does not do by itself, and this file does (each has a test, so that a
 * Deno that changes is noticed):
 * - `pause()` on a TLS socket does not stop reading, and `resume()` on the raw one does not start it
 *   again: flow is controlled at the raw socket's handle.
 * - A handshake that stalls is only reported: the deadline destroys the socket.
 * - A throwing SNICallback ends the process; `createSecureContext` takes a key that does not fit:
 *   `certificates.ts` checks before.
 */
import { Buffer } from "node:buffer";
import net from "node:net";
import tls from "node:tls";
import { type Peer, plainAddress } from "./listener.ts";
import type { Transport } from "./transport.ts";

/** Mozilla's intermediate profile: forward secrecy and AEAD only. */
const CIPHERS = [
  "TLS_AES_128_GCM_SHA256",
  "TLS_AES_256_GCM_SHA384",
  "TLS_CHACHA20_POLY1305_SHA256",
  "ECDHE-ECDSA-AES128-GCM-SHA256",
  "ECDHE-RSA-AES128-GCM-SHA256",
  "ECDHE-ECDSA-AES256-GCM-SHA384",
  "ECDHE-RSA-AES256-GCM-SHA384",
  "ECDHE-ECDSA-CHACHA20-POLY1305",
  "ECDHE-RSA-CHACHA20-POLY1305",
].join(":");

/** Decrypted bytes held for a reader that is busy, before the raw socket stops. */
const READ_AHEAD = 64 * 1024;

/** The two calls of a raw socket's handle that stop and start its reading. */
interface RawHandle {
  readStop(): void;
  readStart(): void;
}

export interface TlsListenerOptions {
  /** The context for a name ("" for none), or null to refuse it with an alert. Must not throw. */
  readonly contextFor: (serverName: string) => tls.SecureContext | null;
  /** Protocols offered by ALPN, best first. */
  readonly protocols: readonly string[];
  /** In ms. */
  readonly handshakeTimeout: number;
  /** Asks for room before a handshake begins; false sheds the connection. */
  readonly admit: (address: string) => boolean;
  /** A handshake is done; `serverName` is in lower case without a last dot, "" for none. */
  readonly onConnection: (transport: Transport, peer: Peer, serverName: string) => void;
  /** A handshake that failed, for counters and logs. */
  readonly onHandshakeError: (address: string, reason: string) => void;
}

/** One TLS port. */
export class TlsListener {
  readonly #options: TlsListenerOptions;
  readonly #handshakes = new Set<net.Socket>();
  #server: net.Server | null = null;

  constructor(options: TlsListenerOptions) {
    this.#options = options;
  }

  /** Rejects with what the system says: a port in use, one that needs a privilege. */
  listen(
    hostname: string,
    port: number,
    reusePort: boolean,
  ): Promise<{ hostname: string; port: number }> {
    return new Promise((resolve, reject) => {
      const server = net.createServer({ allowHalfOpen: true }, (raw) => this.#accept(raw));
      server.once("error", reject);
      server.listen({ host: hostname, port, reusePort } as net.ListenOptions, () => {
        server.off("error", reject);
        server.on("error", () => {});
        this.#server = server;
        const address = server.address() as net.AddressInfo;
        resolve({ hostname: address.address, port: address.port });
      });
    });
  }

  /** Handshakes under way. */
  get handshakeCount(): number {
    return this.#handshakes.size;
  }

  /** Accepts no more, and ends handshakes under way. Connections stay. */
  close(): void {
    this.#server?.close();
    this.#server = null;
    for (const raw of this.#handshakes) raw.destroy();
  }

  #accept(raw: net.Socket): void {
    const { contextFor, protocols, handshakeTimeout, admit, onHandshakeError } = this.#options;
    // Without a listener an error event is an exception; the TLS socket tells it again.
    raw.on("error", () => {});
    const address = plainAddress(raw.remoteAddress ?? "");
    if (!admit(address)) {
      raw.destroy();
      return;
    }
    raw.setNoDelay(true);
    let serverName = "";
    const socket = new tls.TLSSocket(raw, {
      isServer: true,
      allowHalfOpen: true,
      ALPNProtocols: [...protocols],
      minVersion: "TLSv1.2",
      ciphers: CIPHERS,
      honorCipherOrder: false,
      ecdhCurve: "X25519:P-256:P-384",
      // Names come from strangers: what goes wrong with one is an answer, never an exception.
      SNICallback: (
        name: string,
        done: (error: Error | null, context?: tls.SecureContext) => void,
      ) => {
        serverName = plainName(name);
        const context = contextFor(serverName);
        if (context === null) done(new Error("no certificate for this name"));
        else done(null, context);
      },
      secureContext: contextFor("") ?? undefined,
    } as tls.TLSSocketOptions);
    this.#handshakes.add(raw);
    const timer = setTimeout(() => raw.destroy(new Error("handshake timeout")), handshakeTimeout);
    const onError = (error: Error) => onHandshakeError(address, error.message);
    const settle = () => {
      clearTimeout(timer);
      this.#handshakes.delete(raw);
    };
    socket.on("error", onError);
    socket.once("close", settle);
    raw.once("close", settle);
    socket.once("secure", () => {
      settle();
      socket.off("error", onError);
      const peer = { address, port: raw.remotePort ?? 0, localPort: raw.localPort ?? 0 };
      this.#options.onConnection(new TlsTransport(socket, raw), peer, serverName);
    });
  }
}

/** A TLS socket as a transport, with backpressure both ways. */
export class TlsTransport implements Transport {
  readonly #socket: tls.TLSSocket;
  readonly #handle: RawHandle | null;
  readonly #chunks: Buffer[] = [];
  /** Bytes in `#chunks`, and how many of the first one are consumed. */
  #held = 0;
  #offset = 0;
  #stopped = false;
  #ended = false;
  #error: Error | null = null;
  #reading: {
    view: Uint8Array;
    resolve: (count: number | null) => void;
    reject: (error: Error) => void;
  } | null = null;

  constructor(socket: tls.TLSSocket, raw: net.Socket) {
    this.#socket = socket;
    this.#handle = (raw as unknown as { _handle: RawHandle | null })._handle;
    socket.on("data", (chunk: Buffer) => this.#arrived(chunk));
    socket.on("end", () => {
      this.#ended = true;
      this.#serve();
    });
    socket.on("error", (error: Error) => this.#broke(error));
    socket.on("close", () => this.#broke(new Error("closed")));
  }

  read(view: Uint8Array): Promise<number | null> {
    return new Promise((resolve, reject) => {
      this.#reading = { view, resolve, reject };
      this.#serve();
    });
  }

  /** Settles when the system has taken all of `view`, so that it may be used again. */
  write(view: Uint8Array): Promise<number> {
    if (this.#error !== null) return Promise.reject(this.#error);
    return new Promise((resolve, reject) => {
      const bytes = Buffer.from(view.buffer, view.byteOffset, view.byteLength);
      this.#socket.write(bytes, (error) => error ? reject(error) : resolve(view.length));
    });
  }

  closeWrite(): Promise<void> {
    return new Promise((resolve) => this.#socket.end(() => resolve()));
  }

  close(): void {
    this.#socket.destroy();
    this.#broke(new Error("closed"));
  }

  #arrived(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#held += chunk.length;
    this.#serve();
    if (this.#held >= READ_AHEAD && !this.#stopped) {
      this.#stopped = true;
      this.#handle?.readStop();
    }
  }

  /** Gives a waiting read what there is. */
  #serve(): void {
    const { view, resolve, reject } = this.#reading ?? {};
    if (view === undefined || resolve === undefined || reject === undefined) return;
    if (this.#held > 0) {
      this.#reading = null;
      resolve(this.#take(view));
    } else if (this.#ended) {
      this.#reading = null;
      resolve(null);
    } else if (this.#error !== null) {
      this.#reading = null;
      reject(this.#error);
    }
  }

  #take(view: Uint8Array): number {
    let count = 0;
    while (count < view.length && this.#chunks.length > 0) {
      const chunk = this.#chunks[0];
      const part = chunk.subarray(this.#offset, this.#offset + view.length - count);
      view.set(part, count);
      count += part.length;
      this.#offset += part.length;
      if (this.#offset === chunk.length) {
        this.#chunks.shift();
        this.#offset = 0;
      }
    }
    this.#held -= count;
    if (this.#stopped && this.#held < READ_AHEAD / 2 && this.#error === null) {
      this.#stopped = false;
      this.#handle?.readStart();
    }
    return count;
  }

  #broke(error: Error): void {
    this.#error ??= error;
    this.#serve();
  }
}

function plainName(name: string): string {
  const lower = name.toLowerCase();
  return lower.endsWith(".") ? lower.slice(0, -1) : lower;
}
