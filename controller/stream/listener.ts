/**
 * The stream's port. In: an address, a certificate that is replaced while it listens, and limits. Out:
 * requests for the stream whose head is whole; whatever else connects is ended, and harms nobody.
 *
 * One request a connection: what answers it closes it.
 *
 * For want of descriptors a listener of node:https in Deno 2.9 goes silent, and says nothing. So the
 * port is tried from within while nobody comes, and opened anew when it does not answer.
 */
import { createServer, type Server } from "node:https";
import type { IncomingMessage, ServerResponse } from "node:http";
import { connect, type Socket } from "node:net";
import { type Address, formatAddress } from "../../shared/net/address.ts";
import { readKeyPair } from "../../shared/key_pair.ts";
import type { Logger } from "../../shared/log.ts";
import { listenAddresses } from "../cli/listen_addresses.ts";
import type { ServingCertificates } from "./ca/certificate_authority.ts";

export interface ListenerLimits {
  /** That are open at once. */
  readonly connections: number;
  /** Those of them whose request has not been let in. One more ends the oldest of them. */
  readonly strangers: number;
  /** Those of one address; one more is closed at once, so that nobody fills the places of others. */
  readonly strangersOfAddress: number;
  /** Milliseconds from the first byte to the end of the request's head, handshake included. */
  readonly head: number;
  /** Bytes of a head. */
  readonly headBytes: number;
  /** Milliseconds from one look at whether the port answers to the next. */
  readonly watch: number;
}

export const LISTENER_LIMITS: ListenerLimits = {
  connections: 4096,
  strangers: 1024,
  // Enough for proxies behind one NAT, which come again: each is one for milliseconds.
  strangersOfAddress: 16,
  head: 10_000,
  headBytes: 24_576,
  watch: 10_000,
};

export interface StreamListenerOptions {
  readonly address: Address;
  readonly certificates: ServingCertificates;
  readonly limits?: Partial<ListenerLimits>;
  readonly log: Logger;
  readonly onRequest: (request: IncomingMessage, response: ServerResponse) => void;
}

/** Failures that another address would not mend. */
const OF_PORT: ReadonlySet<unknown> = new Set(["EADDRINUSE", "EACCES"]);

/**
 * Bytes of a body that are read before anybody takes them. Node counts no chunk, and one of a byte takes
 * hundreds: with its 64 KiB, a connection that sends 400 KB took 32 MiB.
 */
const BODY_BUFFER = 4096;

/** Milliseconds that the port may take to answer. */
const PROBE_PATIENCE = 5_000;

interface Stranger {
  readonly socket: Socket;
  readonly timer: ReturnType<typeof setTimeout>;
  readonly address: string;
}

export class StreamListener {
  readonly #options: StreamListenerOptions;
  readonly #limits: ListenerLimits;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  /** By the address and port of the peer, the oldest first. */
  readonly #strangers = new Map<string, Stranger>();
  /** How many of them each address has. */
  readonly #strangersOf = new Map<string, number>();
  #address: Address;
  #admitted = 0;
  #watching: ReturnType<typeof setTimeout> | undefined;
  #isClosed = false;

  constructor(options: StreamListenerOptions) {
    this.#options = options;
    this.#limits = { ...LISTENER_LIMITS, ...options.limits };
    this.#address = options.address;
    this.#server = createServer({
      minVersion: "TLSv1.2",
      ALPNProtocols: ["http/1.1"],
      highWaterMark: BODY_BUFFER,
      maxHeaderSize: this.#limits.headBytes,
      // A stream has no end; its head has a deadline of ours, which counts the handshake too.
      requestTimeout: 0,
      headersTimeout: 0,
      keepAliveTimeout: 0,
    });
    this.#server.on("connection", (socket: Socket) => this.#admit(socket));
    const asked = new WeakSet<Socket>();
    this.#server.on("request", (request: IncomingMessage, response: ServerResponse) => {
      // More of them could be sent at once than there is memory for.
      if (asked.has(request.socket)) return void request.socket.destroy();
      asked.add(request.socket);
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
      if (others.length === 0 || OF_PORT.has(failed.code)) throw failed;
      await this.#bind(others[0]).catch(() => Promise.reject(failed));
      log.info("IPv6 is not available, serving the stream on IPv4 only");
    }
    this.#server.on("error", (error) => log.error("The stream's listener failed", { error }));
    this.#watch();
  }

  /** The request of this connection is from whom it should be. */
  welcome(request: IncomingMessage): void {
    const key = keyOf(request.socket);
    clearTimeout(this.#strangers.get(key)?.timer);
    this.#forget(key);
  }

  /** Accepts no more. Connections go on. */
  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#watching);
    this.#server.close();
  }

  /** Ends all connections. */
  destroy(): void {
    this.close();
    for (const { timer } of this.#strangers.values()) clearTimeout(timer);
    this.#strangers.clear();
    this.#strangersOf.clear();
    for (const socket of this.#sockets) socket.destroy();
  }

  /** Looks every now and then whether the port answers. */
  #watch(): void {
    const admitted = this.#admitted;
    this.#watching = setTimeout(async () => {
      const isHeard = this.#admitted > admitted || await this.#isAnswering();
      if (!isHeard && !this.#isClosed) await this.#reopen();
      if (!this.#isClosed) this.#watch();
    }, this.#limits.watch);
  }

  /** Whether a connection from within is admitted. */
  #isAnswering(): Promise<boolean> {
    const { hostname: host, port } = this.#address;
    const admitted = this.#admitted;
    return new Promise((resolve) => {
      const socket = connect({ host, port });
      const end = () => {
        clearTimeout(timer);
        socket.destroy();
        resolve(this.#admitted > admitted);
      };
      const timer = setTimeout(end, PROBE_PATIENCE);
      socket.on("error", end);
      // It ends as soon as it is admitted, since it is nobody.
      socket.on("close", end);
      socket.on("connect", () => socket.end());
    });
  }

  async #reopen(): Promise<void> {
    const { log } = this.#options;
    this.#server.close();
    const failed = await this.#bind(this.#address).then(() => null, (error) => error);
    if (failed === null) log.warn("The stream's listener had stopped accepting and was reopened");
    else {log.error("The stream's listener stopped accepting and cannot be reopened", {
        error: failed,
      });}
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
      log.error("The stream's new certificate is invalid, keeping the current one", { reason });
    }
  }

  #admit(socket: Socket): void {
    socket.on("error", () => socket.destroy());
    socket.setNoDelay(true);
    this.#admitted++;
    if (this.#sockets.size >= this.#limits.connections) return void socket.destroy();
    const { remoteAddress = "" } = socket;
    const ofAddress = this.#strangersOf.get(remoteAddress) ?? 0;
    if (ofAddress >= this.#limits.strangersOfAddress) return void socket.destroy();
    if (this.#strangers.size >= this.#limits.strangers) {
      const [oldest] = this.#strangers.values();
      oldest.socket.destroy();
    }
    const key = keyOf(socket);
    const timer = setTimeout(() => socket.destroy(), this.#limits.head);
    this.#strangers.set(key, { socket, timer, address: remoteAddress });
    this.#strangersOf.set(remoteAddress, ofAddress + 1);
    this.#sockets.add(socket);
    socket.once("close", () => {
      this.#sockets.delete(socket);
      clearTimeout(timer);
      if (this.#strangers.get(key)?.socket === socket) this.#forget(key);
    });
  }

  /** It is no stranger any more, or has left. */
  #forget(key: string): void {
    const stranger = this.#strangers.get(key);
    if (stranger === undefined) return;
    this.#strangers.delete(key);
    const left = (this.#strangersOf.get(stranger.address) ?? 1) - 1;
    if (left === 0) this.#strangersOf.delete(stranger.address);
    else this.#strangersOf.set(stranger.address, left);
  }
}

/** As `formatAddress` writes it: the same of a connection, and of TLS on it. */
function keyOf({ remoteAddress, remotePort }: Socket): string {
  return formatAddress({ hostname: remoteAddress ?? "", port: remotePort ?? 0 });
}
