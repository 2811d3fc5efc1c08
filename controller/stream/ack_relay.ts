/**
 * From a replica that does not lead to the one that does. In: where the leader is, and what the proxies of
 * this replica have acknowledged. Out: a request to the leader that goes on as long as both last, with a line
 * for each change.
 *
 * Whether a Gateway is programmed is the leader's to say, and its own streams are those of some proxies only.
 */
import http from "node:http";
import tls from "node:tls";
import type { Logger } from "../../shared/log.ts";
import { type Address, formatAddress, parseAddress } from "../../shared/net/address.ts";
import type { Secret } from "../../shared/redacted.ts";
import { LineSplitter } from "../../shared/stream/lines.ts";
import { PROTOCOL_FIELD, STREAM_PROTOCOL, STREAM_TYPE } from "../../shared/stream/protocol.ts";
import { VERSION } from "../../shared/version.ts";
import {
  ackLine,
  type AckMessage,
  ACKS_INTERVAL,
  ACKS_PATH,
  ACKS_SILENCE,
  MAX_ACK_BYTES,
} from "./ack_messages.ts";
import type { ProxyAck } from "./proxy_acks.ts";

export interface AckRelayOptions {
  /** `HOST:PORT` of the leader's stream; null where nobody else leads, or it is not known. */
  readonly leader: () => string | null;
  /** Of the proxies of this replica, by what is the same as long as one is connected. */
  readonly acks: () => ReadonlyMap<object, ProxyAck>;
  /** Of our own service account; null where there is none. */
  readonly token: () => Promise<Secret | null>;
  /** Authorities of the stream in PEM; null where they are not known now. */
  readonly trust: () => Promise<string | null>;
  /** In the certificate of every replica. */
  readonly serverName: string;
  readonly log: Logger;
}

/** Milliseconds between two looks at who leads. */
const TICK = 250;

/** Milliseconds from one try to the next. */
const RETRY = 1_000;

/** Milliseconds from a change to its line: one update is acknowledged by all proxies at once. */
const GATHER = 20;

export class AckRelay {
  readonly #options: AckRelayOptions;
  #link: Link | null = null;
  #ticking: ReturnType<typeof setInterval> | undefined;
  #gathering: ReturnType<typeof setTimeout> | undefined;
  #triedAt = -Infinity;
  #isTrying = false;
  #isStopped = false;
  /** Why it last failed, as it was logged; null since it worked. */
  #complaint: string | null = null;

  constructor(options: AckRelayOptions) {
    this.#options = options;
  }

  /** The leader that has what our proxies have acknowledged; null where none does. */
  get leader(): string | null {
    return this.#link?.isOpen ? this.#link.leader : null;
  }

  start(): void {
    this.#ticking = setInterval(() => void this.#tick(), TICK);
  }

  /** A proxy has acknowledged something, or has come or gone. */
  changed(): void {
    this.#gathering ??= setTimeout(() => {
      this.#gathering = undefined;
      this.#link?.send(this.#options.acks());
    }, GATHER);
  }

  stop(): void {
    this.#isStopped = true;
    clearInterval(this.#ticking);
    clearTimeout(this.#gathering);
    this.#link?.end();
    this.#link = null;
  }

  async #tick(): Promise<void> {
    const leader = this.#options.leader();
    if (this.#link !== null && this.#link.leader !== leader) {
      this.#link.end();
      this.#link = null;
      this.#triedAt = -Infinity;
    }
    const now = performance.now();
    if (leader === null || this.#link !== null || this.#isTrying) return;
    if (now - this.#triedAt < RETRY) return;
    this.#triedAt = now;
    this.#isTrying = true;
    await this.#open(leader).catch((error) => this.#failed(leader, String(error)));
    this.#isTrying = false;
  }

  async #open(leader: string): Promise<void> {
    const { token: tokenOf, trust, serverName, acks } = this.#options;
    const address = parseAddress(leader);
    if (address === null) return this.#failed(leader, "it is no address");
    const [token, ca] = await Promise.all([tokenOf(), trust()]);
    if (token === null) return this.#failed(leader, "this replica has no service account token");
    if (ca === null) return this.#failed(leader, "the stream's CA is not known yet");
    if (this.#isStopped) return;
    const link = this.#link = new Link(leader, address, serverName, ca, token, {
      onOpen: () => {
        this.#complaint = null;
        this.#options.log.info("Relaying acknowledgements to the leader", { leader });
        link.send(acks());
      },
      onEnd: (reason) => {
        if (this.#link === link) this.#link = null;
        if (reason !== null) this.#failed(leader, reason);
      },
    });
  }

  #failed(leader: string, reason: string): void {
    if (reason === this.#complaint || this.#isStopped) return;
    this.#complaint = reason;
    this.#options.log.warn("Cannot relay acknowledgements to the leader, will retry", {
      leader,
      reason,
      remedy: "None while the leader changes; else allow port 9443 between controllers",
    });
  }
}

interface LinkListener {
  readonly onOpen: () => void;
  /** @param reason Null where we have ended it. */
  readonly onEnd: (reason: string | null) => void;
}

/** One request. */
class Link {
  readonly leader: string;
  readonly #listener: LinkListener;
  readonly #socket: tls.TLSSocket;
  /** Null before the peer is known to be a controller: the token is for nobody else. */
  #request: http.ClientRequest | null = null;
  readonly #alive: ReturnType<typeof setInterval>;
  #silent: ReturnType<typeof setTimeout>;
  isOpen = false;
  #isEnded = false;
  #lastId = 0;
  /** What the leader has been told of each proxy. */
  readonly #told = new Map<object, { readonly id: number; readonly line: string }>();

  constructor(
    leader: string,
    address: Address,
    serverName: string,
    ca: string,
    token: Secret,
    listener: LinkListener,
  ) {
    this.leader = leader;
    this.#listener = listener;
    const socket = this.#socket = tls.connect({
      host: address.hostname,
      port: address.port,
      servername: serverName,
      minVersion: "TLSv1.2",
      ca,
    });
    socket.on("error", (error) => this.#over(error.message));
    socket.on("close", () => this.#over("the connection was closed"));
    socket.once("secureConnect", () => this.#ask(address, token));
    this.#silent = setTimeout(() => this.#over("the leader does not respond"), ACKS_SILENCE);
    this.#alive = setInterval(() => this.#write({ kind: "alive" }), ACKS_INTERVAL);
  }

  #ask(address: Address, token: Secret): void {
    const request = this.#request = http.request({
      createConnection: () => this.#socket,
      method: "POST",
      path: ACKS_PATH,
      headers: {
        host: formatAddress(address),
        authorization: `Bearer ${token.reveal()}`,
        "content-type": STREAM_TYPE,
        "transfer-encoding": "chunked",
        "user-agent": `pingress-controller/${VERSION}`,
        [PROTOCOL_FIELD]: STREAM_PROTOCOL,
      },
    });
    request.on("error", (error) => this.#over(error.message));
    request.on("response", (response) => this.#respond(response));
    request.flushHeaders();
  }

  /** Tells what is new. */
  send(acks: ReadonlyMap<object, ProxyAck>): void {
    if (!this.isOpen) return;
    for (const [proxy, ack] of acks) {
      const before = this.#told.get(proxy);
      const id = before?.id ?? ++this.#lastId;
      const line = ackLine({ kind: "ack", id, ack });
      if (line === before?.line) continue;
      this.#told.set(proxy, { id, line });
      this.#request?.write(line);
    }
    for (const [proxy, { id }] of this.#told) {
      if (acks.has(proxy)) continue;
      this.#told.delete(proxy);
      this.#write({ kind: "gone", id });
    }
  }

  end(): void {
    this.#over(null);
  }

  #respond(response: http.IncomingMessage): void {
    response.on("error", (error) => this.#over(error.message));
    if (response.statusCode !== 200) {
      response.resume();
      return this.#over(`the leader responds ${response.statusCode}`);
    }
    const splitter = new LineSplitter(MAX_ACK_BYTES);
    response.on("data", (chunk: Uint8Array) => {
      if (splitter.push(chunk).lines.length > 0) this.#heard();
    });
    response.on("end", () => this.#over("the leader ended it"));
    this.isOpen = true;
    this.#heard();
    this.#listener.onOpen();
  }

  #heard(): void {
    if (this.#isEnded) return;
    clearTimeout(this.#silent);
    this.#silent = setTimeout(() => this.#over("the leader is silent"), ACKS_SILENCE);
  }

  #write(message: AckMessage): void {
    if (this.isOpen && !this.#isEnded) this.#request?.write(ackLine(message));
  }

  #over(reason: string | null): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.isOpen = false;
    clearTimeout(this.#silent);
    clearInterval(this.#alive);
    this.#request?.destroy();
    this.#socket.destroy();
    this.#listener.onEnd(reason);
  }
}
