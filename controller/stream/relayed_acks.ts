/**
 * What proxies of other replicas have acknowledged. In: relays of those replicas, each a request that goes
 * on. Out: the acknowledgements of all of them, as long as their relays last: without one, nobody knows
 * what its proxies have.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Logger } from "../../shared/log.ts";
import { LineSplitter } from "../../shared/stream/lines.ts";
import { STREAM_TYPE } from "../../shared/stream/protocol.ts";
import {
  ackLine,
  ACKS_INTERVAL,
  ACKS_SILENCE,
  MAX_ACK_BYTES,
  readAckLine,
} from "./ack_messages.ts";
import type { EarlyBody } from "./early_body.ts";
import type { ProxyAck } from "./proxy_acks.ts";

/** Relays at once, of which each replica has one; during a rollout there are twice as many. */
const MAX_RELAYS = 32;

/** Milliseconds after which a replica has to show its token again. */
const MAX_AGE = 3_600_000;

/** Proxies of one relay. */
const MAX_PROXIES = 2048;

export interface RelayedAcksOptions {
  readonly log: Logger;
  /** What is known of proxies has changed. */
  readonly onNews: () => void;
  /** For tests, in ms. */
  readonly silence?: number;
}

interface Relay {
  /** By the sender's number. */
  readonly proxies: Map<number, ProxyAck>;
  end(reason: string): void;
}

export class RelayedAcks {
  readonly #options: RelayedAcksOptions;
  readonly #relays = new Set<Relay>();

  constructor(options: RelayedAcksOptions) {
    this.#options = options;
  }

  get isFull(): boolean {
    return this.#relays.size >= MAX_RELAYS;
  }

  /** Of all relays. */
  acks(): ProxyAck[] {
    return Array.from(this.#relays).flatMap(({ proxies }) => [...proxies.values()]);
  }

  /** From a replica whose token is good for so many milliseconds. */
  begin(
    request: IncomingMessage,
    response: ServerResponse,
    early: EarlyBody,
    life: number,
  ): void {
    const { log, onNews, silence = ACKS_SILENCE } = this.#options;
    const peer = request.socket.remoteAddress ?? "";
    const proxies = new Map<number, ProxyAck>();
    const relay: Relay = {
      proxies,
      end: (reason) => {
        if (!this.#relays.delete(relay)) return;
        clearTimeout(silent);
        clearTimeout(aged);
        clearInterval(pings);
        response.end();
        request.socket.destroySoon();
        log.info("A replica relays acknowledgements no longer", { peer, reason });
        if (proxies.size > 0) onNews();
      },
    };
    const late = () => relay.end("nothing was heard of it");
    let silent = setTimeout(late, silence);
    const aged = setTimeout(() => relay.end("it is time to reconnect"), Math.min(life, MAX_AGE));
    const ping = () => void response.write(ackLine({ kind: "alive" }));
    const pings = setInterval(ping, ACKS_INTERVAL);
    this.#relays.add(relay);
    response.writeHead(200, { "content-type": STREAM_TYPE, connection: "close" });
    ping();
    log.info("A replica relays acknowledgements", { peer });
    const splitter = new LineSplitter(MAX_ACK_BYTES);
    early.handOver((chunk) => {
      if (!this.#relays.has(relay)) return;
      clearTimeout(silent);
      silent = setTimeout(late, silence);
      const { ok, lines } = splitter.push(chunk);
      const isUnderstood = ok && lines.every((line) => take(proxies, line));
      if (!isUnderstood) return relay.end("what it says cannot be understood");
      if (lines.length > 0) onNews();
    });
    request.on("end", () => relay.end("it was closed"));
    response.on("close", () => relay.end("it was closed"));
  }

  /** Ends all relays: their replicas look for the leader again. */
  stop(): void {
    for (const relay of this.#relays) relay.end("this replica does not lead");
  }
}

/** Whether the line was understood. */
function take(proxies: Map<number, ProxyAck>, line: string): boolean {
  const message = readAckLine(line);
  if (message === null) return false;
  if (message.kind === "gone") proxies.delete(message.id);
  if (message.kind !== "ack") return true;
  if (proxies.size >= MAX_PROXIES && !proxies.has(message.id)) return false;
  proxies.set(message.id, message.ack);
  return true;
}
