/**
 * TLS on the downstream side. In: an address, and a certificate for each name. Out: transports of
 * the same shape as plain sockets, once their handshake is done.
 *
 * What `node:tls` in Deno does not do by itself, and this folder does (each has a test, so that a
 * Deno that changes is noticed):
 * - Flow control: `tls_transport.ts`. It needs a `net` server whose raw sockets are wrapped here.
 * - A handshake that stalls is only reported: the deadline destroys the socket.
 * - A name without a certificate ends the connection without an alert: it is written here.
 * - An SNICallback costs memory, and the process where it throws: `client_hello.ts` reads the name.
 * - `createSecureContext` takes a key that does not fit: `certificates/loader.ts` checks before.
 * - A server falls deaf for ever when descriptors run out: `port_watch.ts` notices.
 */
import { Buffer } from "node:buffer";
import net from "node:net";
import tls from "node:tls";
import { plainAddress } from "../../shared/net/address.ts";
import type { CertificateEntry } from "../certificates/store.ts";
import { ClientHelloReader } from "./client_hello.ts";
import type { Peer } from "./listener.ts";
import type { SelfProbes } from "./self_probes.ts";
import { PortWatch } from "./port_watch.ts";
import { IntrusiveSet } from "../io/intrusive_set.ts";
import { Timeout } from "../io/timeout.ts";
import { TlsTransport } from "../io/tls_transport.ts";
import type { Transport } from "../io/transport.ts";

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

/** A fatal alert unrecognized_name (RFC 6066 §3), as a record that both versions send in the clear. */
const UNRECOGNIZED_NAME = new Uint8Array([0x15, 0x03, 0x03, 0x00, 0x02, 0x02, 0x70]);

/** Between two attempts to listen anew, in ms. */
const RETRY = 100;

/** How long it may take to know whether a connection is a call of this process's own, in ms. */
const DOUBT = 50;

/** A handshake that is older than this, in ms, is not under way any more, most likely. */
const STALLED = 1_000;

interface Address {
  readonly hostname: string;
  readonly port: number;
}

export interface TlsListenerOptions {
  /**
   * What is shown for a name (lower case, no last dot, "" for none), or null to refuse it with an
   * alert. Must not throw, nor may its context.
   */
  readonly certificateFor: (
    serverName: string,
    hello: Pick<ClientHelloReader, "signatureSchemes">,
  ) => CertificateEntry | null;
  /** Protocols offered by ALPN, best first. */
  readonly protocols: readonly string[];
  /** In ms. */
  readonly handshakeTimeout: number;
  /** Handshakes under way; past it one gives way to the newest, see `shed`. */
  readonly handshakes: number;
  /** Connections that are ended unseen: the process makes them itself. */
  readonly ownCalls: SelfProbes;
  /** Asks for room for one more connection; false sheds it. */
  readonly admit: (address: string) => boolean;
  /**
   * A handshake is done in which this certificate was shown, be it in force no more, and this
   * protocol agreed on; null where the client named none. The server name is the one that the
   * certificate was chosen by.
   */
  readonly onConnection: (
    transport: Transport,
    peer: Peer,
    shown: CertificateEntry | null,
    protocol: string | null,
    serverName: string,
  ) => void;
  /** A handshake that failed, for counters and logs. */
  readonly onHandshakeError: (address: string, reason: string) => void;
  /** Milliseconds between two looks whether the port answers; default 500. */
  readonly lookInterval?: () => number;
  /** The port does not answer, or (null) answers again. */
  readonly onDeaf: (reason: string | null) => void;
  /** The system has no descriptor left. */
  readonly onExhausted: () => void;
}

/** One that is under way. */
interface Handshake {
  readonly raw: net.Socket;
  /** In ms, monotonic. */
  readonly began: number;
  place: number;
}

/** One TLS port. */
export class TlsListener {
  readonly #options: TlsListenerOptions;
  readonly #protocols: string[];
  /** In the order in which they began. */
  readonly #handshakes = new IntrusiveSet<Handshake>({
    get: (handshake) => handshake.place,
    set: (handshake, place) => void (handshake.place = place),
  });
  /** Of which it is not known yet whether a client has made them, and what looks again. */
  readonly #doubtful = new Map<net.Socket, ReturnType<typeof setTimeout>>();
  /** Several sockets may listen on a shared port. */
  #servers: net.Server[] = [];
  #sockets = 1;
  #address: Address | null = null;
  #watch: PortWatch | null = null;
  #accepted = 0;
  #closed = false;
  /** No handshake begins any more. */
  #isOver = false;

  constructor(options: TlsListenerOptions) {
    this.#options = options;
    this.#protocols = [...options.protocols];
  }

  /** Rejects with what the system says: a port in use, one that needs a privilege. */
  async listen(hostname: string, port: number, reusePort: boolean): Promise<Address> {
    const server = await this.#bind(hostname, port, reusePort);
    this.#servers = [server];
    const bound = server.address() as net.AddressInfo;
    const address = this.#address = { hostname: bound.address, port: bound.port };
    this.#watch = new PortWatch({
      address,
      shared: reusePort,
      ownCalls: this.#options.ownCalls,
      accepted: () => this.#accepted,
      interval: this.#options.lookInterval,
      onDeaf: () => this.#listenAnew(address, reusePort),
      onExhausted: this.#options.onExhausted,
    });
    return address;
  }

  /** Listens by so many sockets in all. Rejects with what the system says. */
  async widen(sockets: number): Promise<void> {
    const { hostname, port } = this.#address!;
    for (; this.#sockets < sockets && !this.#closed; this.#sockets++) {
      const server = await this.#bind(hostname, port, true);
      if (this.#closed) server.close();
      else this.#servers.push(server);
    }
  }

  /** Connections so far, with a handshake or not. */
  get acceptedCount(): number {
    return this.#accepted;
  }

  /** Handshakes under way, and connections of which it is not known yet whether there will be one. */
  get handshakeCount(): number {
    return this.#handshakes.size + this.#doubtful.size;
  }

  /** Accepts no more. Handshakes under way go on, and connections stay. */
  close(): void {
    this.#closed = true;
    this.#watch?.close();
    this.#closeServers();
  }

  /** Ends handshakes under way, and those to come; to be called after `close`. */
  endHandshakes(): void {
    this.#isOver = true;
    for (const { raw } of [...this.#handshakes]) raw.destroy();
    for (const [raw, timer] of this.#doubtful) {
      clearTimeout(timer);
      raw.destroy();
    }
    this.#doubtful.clear();
  }

  /**
   * Ends up to `count` handshakes: stalled ones, the oldest first, then the newest, which have cost
   * the least so far.
   */
  shed(count: number): void {
    const before = performance.now() - STALLED;
    const all = [...this.#handshakes];
    const stalled = all.filter(({ began }) => began < before);
    const others = all.slice(stalled.length).reverse();
    for (const handshake of [...stalled, ...others].slice(0, count)) {
      this.#handshakes.delete(handshake);
      handshake.raw.destroy();
    }
  }

  #bind(hostname: string, port: number, reusePort: boolean): Promise<net.Server> {
    return new Promise((resolve, reject) => {
      const server = net.createServer({ allowHalfOpen: true }, (raw) => this.#accept(raw));
      server.once("error", reject);
      server.listen({ host: hostname, port, reusePort } as net.ListenOptions, () => {
        server.off("error", reject);
        server.on("error", () => {});
        resolve(server);
      });
    });
  }

  #closeServers(): void {
    for (const server of this.#servers) server.close();
    this.#servers = [];
  }

  /** Puts new sockets in place of those that have fallen deaf; what waited in a queue is lost. */
  async #listenAnew({ hostname, port }: Address, reusePort: boolean): Promise<void> {
    this.#options.onDeaf("the port does not answer");
    this.#closeServers();
    while (!this.#closed && this.#servers.length < this.#sockets) {
      try {
        const server = await this.#bind(hostname, port, reusePort);
        if (this.#closed) server.close();
        else this.#servers.push(server);
      } catch {
        await new Promise((resume) => setTimeout(resume, RETRY));
      }
    }
    this.#options.onDeaf(null);
  }

  #accept(raw: net.Socket): void {
    this.#accepted++;
    // Without a listener an error event is an exception; the TLS socket tells it again.
    raw.on("error", () => {});
    if (this.#isOver) raw.destroy();
    else if (raw.remoteAddress === raw.localAddress) this.#sort(raw, performance.now() + DOUBT);
    else this.#greet(raw);
  }

  /** Ends a call of this process's own, at the latest at `end`; whatever else comes is greeted. */
  #sort(raw: net.Socket, end: number): void {
    this.#doubtful.delete(raw);
    const { remotePort = 0, localPort = 0 } = raw;
    const isOwn = this.#options.ownCalls.includes(remotePort, localPort);
    if (isOwn === true) raw.destroy();
    else if (isOwn === false || performance.now() >= end) this.#greet(raw);
    else this.#doubtful.set(raw, setTimeout(() => this.#sort(raw, end), 1));
  }

  #greet(raw: net.Socket): void {
    const { certificateFor, handshakeTimeout, admit, onHandshakeError } = this.#options;
    const { remoteAddress, remotePort = 0, localPort = 0 } = raw;
    // Without one it has gone between accept and here.
    if (remoteAddress === undefined) return void raw.destroy();
    const address = plainAddress(remoteAddress);
    if (!admit(address)) return void raw.destroy();
    raw.setNoDelay(true);
    const onError = (error: Error) => {
      // Whoever says nothing has only looked whether the port is open.
      if (raw.bytesRead > 0) onHandshakeError(address, error.message);
    };
    // A client that ends before the handshake is done: nothing closes the socket by itself.
    const onEnd = () => {
      onError(new Error("the client has ended"));
      raw.destroy();
    };
    const handshake: Handshake = { raw, began: performance.now(), place: -1 };
    const settle = () => {
      timer.cancel();
      raw.off("end", onEnd);
      this.#handshakes.delete(handshake);
    };
    const timer = new Timeout(handshakeTimeout, () => {
      onHandshakeError(address, `not done in ${handshakeTimeout} ms`);
      raw.destroy();
    });
    // Strangers may begin as many as they like: it is the others that have stalled that give way.
    if (this.#handshakes.size >= this.#options.handshakes) this.shed(1);
    this.#handshakes.add(handshake);
    raw.once("end", onEnd);
    raw.once("close", settle);
    heard(raw, (name, hello) => {
      const serverName = name === null ? "" : plainName(name);
      // Names come from strangers: what goes wrong with one is an answer, never an exception.
      const shown = certificateFor(serverName, hello);
      if (shown === null && name !== null) {
        onError(new Error("no certificate for this name"));
        return void raw.write(UNRECOGNIZED_NAME, () => raw.destroy());
      }
      const socket = this.#secure(raw, shown);
      socket.on("error", onError);
      raw.off("end", onEnd);
      socket.once("end", onEnd);
      socket.once("close", settle);
      socket.once("secure", () => {
        settle();
        socket.off("end", onEnd);
        socket.off("close", settle);
        raw.off("close", settle);
        socket.off("error", onError);
        const peer = { address, port: remotePort, localPort };
        const protocol = socket.alpnProtocol || null;
        const transport = new TlsTransport(socket, raw);
        this.#options.onConnection(transport, peer, shown, protocol, serverName);
      });
    });
  }

  #secure(raw: net.Socket, shown: CertificateEntry | null): tls.TLSSocket {
    return new tls.TLSSocket(raw, {
      isServer: true,
      allowHalfOpen: true,
      ALPNProtocols: this.#protocols,
      minVersion: "TLSv1.2",
      ciphers: CIPHERS,
      honorCipherOrder: false,
      ecdhCurve: "X25519:P-256:P-384",
      secureContext: shown?.context,
    } as tls.TLSSocketOptions);
  }
}

/**
 * Calls `done` with the name that a client asks for ("" for none, null for what is no handshake) and
 * what else its first message says, and leaves all that has come to be read once more. An `SNICallback` would tell the name too, for 19 KiB
 * more a connection: each gets a configuration of its own.
 */
function heard(
  raw: net.Socket,
  done: (name: string | null, hello: ClientHelloReader) => void,
): void {
  const hello = new ClientHelloReader();
  const onData = (chunk: Buffer) => {
    const read = hello.read(chunk);
    if (read === "more") return;
    raw.off("data", onData);
    raw.pause();
    raw.unshift(hello.bytes);
    done(read === null ? null : read.name, hello);
  };
  raw.on("data", onData);
}

function plainName(name: string): string {
  const lower = name.toLowerCase();
  return lower.endsWith(".") ? lower.slice(0, -1) : lower;
}
