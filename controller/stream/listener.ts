/**
 * The stream's port. In: an address, a certificate that is replaced while it listens, and limits. Out:
 * requests for the stream whose head is whole; whatever else connects is ended, and harms nobody.
 *
 * One request a connection: what answers it closes it.
 */
import { createServer, type Server } from "node:https";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { type Address, formatAddress } from "../../shared/address.ts";
import { readKeyPair } from "../../shared/key_pair.ts";
import type { Logger } from "../../shared/log.ts";
import { listenAddresses } from "./listen_addresses.ts";
import type { ServingCertificates } from "./authority.ts";

export interface ListenerLimits {
  /** That are open at once. */
  readonly connections: number;
  /** Those of them whose request has not been let in. One more ends the oldest of them. */
  readonly strangers: number;
  /** Milliseconds from the first byte to the end of the request's head, handshake included. */
  readonly head: number;
  /** Bytes of a head. */
  readonly headBytes: number;
}

export const LISTENER_LIMITS: ListenerLimits = {
  connections: 4096,
  strangers: 1024,
  head: 10_000,
  headBytes: 24_576,
};

export interface StreamListenerOptions {
  readonly address: Address;
  readonly certificates: ServingCertificates;
  readonly limits?: Partial<ListenerLimits>;
  readonly log: Logger;
  readonly onRequest: (request: IncomingMessage, response: ServerResponse) => void;
}

/** Nothing that listens on all addresses of IPv6 can where there is none. */
const NO_IPV6: ReadonlySet<unknown> = new Set(["EAFNOSUPPORT", "EADDRNOTAVAIL"]);

interface Stranger {
  readonly socket: Socket;
  readonly timer: ReturnType<typeof setTimeout>;
}

export class StreamListener {
  readonly #options: StreamListenerOptions;
  readonly #limits: ListenerLimits;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  /** By the address and port of the peer, the oldest first. */
  readonly #strangers = new Map<string, Stranger>();
  #address: Address;

  constructor(options: StreamListenerOptions) {
    this.#options = options;
    this.#limits = { ...LISTENER_LIMITS, ...options.limits };
    this.#address = options.address;
    this.#server = createServer({
      minVersion: "TLSv1.2",
      ALPNProtocols: ["http/1.1"],
      maxHeaderSize: this.#limits.headBytes,
      // A stream has no end; its head has a deadline of ours, which counts the handshake too.
      requestTimeout: 0,
      headersTimeout: 0,
      keepAliveTimeout: 0,
    });
    this.#server.on("connection", (socket: Socket) => this.#admit(socket));
    this.#server.on("request", (request: IncomingMessage, response: ServerResponse) => {
      // Who it is may take longer to find out, and has deadlines of its own.
      clearTimeout(this.#strangers.get(keyOf(request.socket))?.timer);
      request.on("error", () => request.socket.destroy());
      response.on("error", () => request.socket.destroy());
      options.onRequest(request, response);
    });
    // Garbage, plain HTTP, another protocol, a head too long: whoever it is has had its chance.
    for (const event of ["tlsClientError", "clientError"]) {
      this.#server.on(event, (_error: Error, socket?: Socket) => socket?.destroy());
    }
    options.certificates.onChange(() => this.#present());
    this.#present();
  }

  /** With the port that was chosen where 0 was asked for. */
  get address(): Address {
    return this.#address;
  }

  get connections(): number {
    return this.#sockets.size;
  }

  /** Throws what `listen` of node:net reports. */
  async listen(): Promise<void> {
    const { address, log } = this.#options;
    const [first, ...others] = listenAddresses(address);
    const failed = await this.#bind(first).then(() => null, (error) => error);
    if (failed !== null) {
      if (others.length === 0 || !NO_IPV6.has(failed.code)) throw failed;
      log.info("There is no IPv6 here, so the stream is served on IPv4 alone");
      await this.#bind(others[0]);
    }
    this.#server.on("error", (error) => log.error("The stream's port has failed", { error }));
  }

  /** The request of this connection is from whom it should be. */
  welcome(request: IncomingMessage): void {
    const key = keyOf(request.socket);
    clearTimeout(this.#strangers.get(key)?.timer);
    this.#strangers.delete(key);
  }

  /** Accepts no more. Connections go on. */
  close(): void {
    this.#server.close();
  }

  /** Ends all connections. */
  destroy(): void {
    this.close();
    for (const { timer } of this.#strangers.values()) clearTimeout(timer);
    this.#strangers.clear();
    for (const socket of this.#sockets) socket.destroy();
  }

  #bind({ hostname: host, port }: Address): Promise<void> {
    return new Promise((resolve, reject) => {
      const failed = (error: Error) => reject(error);
      this.#server.once("error", failed);
      this.#server.listen({ host, port }, () => {
        this.#server.off("error", failed);
        const bound = this.#server.address();
        if (bound !== null && typeof bound === "object") {
          this.#address = { hostname: host, port: bound.port };
        }
        resolve();
      });
    });
  }

  /** Handshakes from now on are with the certificate of now; without one they fail. */
  #present(): void {
    const { certificates, log } = this.#options;
    if (certificates.current === null) return;
    const { certPem, keyPem } = certificates.current;
    const names = { chain: "the certificate", key: "the key" };
    const reading = readKeyPair(certPem, keyPem.reveal(), names);
    if (reading.ok) {
      const { chain: cert, key } = reading.pair;
      this.#server.setSecureContext({ cert, key, minVersion: "TLSv1.2" });
    } else {
      const { message: reason } = reading;
      log.error("The stream's certificate cannot be used, so the one before stays", { reason });
    }
  }

  #admit(socket: Socket): void {
    socket.on("error", () => socket.destroy());
    socket.setNoDelay(true);
    if (this.#sockets.size >= this.#limits.connections) return void socket.destroy();
    if (this.#strangers.size >= this.#limits.strangers) {
      const [oldest] = this.#strangers.values();
      oldest.socket.destroy();
    }
    const key = keyOf(socket);
    const timer = setTimeout(() => socket.destroy(), this.#limits.head);
    this.#strangers.set(key, { socket, timer });
    this.#sockets.add(socket);
    socket.once("close", () => {
      this.#sockets.delete(socket);
      clearTimeout(timer);
      if (this.#strangers.get(key)?.socket === socket) this.#strangers.delete(key);
    });
  }
}

/** As `formatAddress` writes it: the same of a connection, and of TLS on it. */
function keyOf({ remoteAddress, remotePort }: Socket): string {
  return formatAddress({ hostname: remoteAddress ?? "", port: remotePort ?? 0 });
}
