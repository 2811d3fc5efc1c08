/**
 * Calls of gRPC at a fixed rate, many at a time on one connection. In: a plan, and the time now. Out:
 * what failed, each as it does, and how fast the others were answered. A connection that is told to
 * go (GOAWAY) is replaced, a call that was refused unseen (RFC 9113 §8.7) is made once more, and a
 * call beyond SETTINGS_MAX_CONCURRENT_STREAMS waits for another to end (RFC 9113 §5.1.2), as in gRPC's
 * clients: after a standstill of this process, all that is due starts at once. No call that may have
 * been seen is sent twice.
 *
 * By frames of our tests' own: Deno's `node:http2` ends its process at a GOAWAY now and then (2.9.6: an
 * assertion of nghttp2, or a pointer that is freed twice), and what was measured is lost with it.
 */
import { CODE, data, type Field, FRAME, headers, SETTING } from "../../support/h2_frames.ts";
import { type H2Message, H2Peer } from "../../support/h2_peer.ts";
import type { Latencies } from "./latencies.ts";
import { OpenLoop } from "./open_loop.ts";
import type { CallsPlan, Failure, FailureKind, LoadPlan, StreamResult } from "./plan.ts";

/** A connection, and how many more calls the other end takes on it. */
interface Connection {
  readonly peer: H2Peer;
  free: number;
  /** Settles when a call on it has ended. */
  freed: PromiseWithResolvers<void>;
}

export class CallStream {
  readonly loop: OpenLoop;
  readonly #plan: CallsPlan;
  readonly #load: LoadPlan;
  readonly #onFailure: (failure: Failure) => void;
  /** The one in use, or being opened. */
  #connecting: Promise<Connection> | null = null;
  /** All that are open, also those that calls only end on. */
  readonly #peers = new Set<H2Peer>();
  #opened = 0;

  constructor(
    plan: CallsPlan,
    load: LoadPlan,
    lag: Latencies,
    onFailure: (failure: Failure) => void,
  ) {
    this.#plan = plan;
    this.#load = load;
    this.loop = new OpenLoop(plan, lag, (late) => this.#one(late));
    this.#onFailure = onFailure;
  }

  /** Opens its connection; where that fails, later. */
  async open(): Promise<void> {
    await this.#connection().catch(() => {});
  }

  /** Waits for the calls that are under way. */
  async end(): Promise<StreamResult> {
    await this.loop.settled();
    for (const peer of this.#peers) peer.close();
    return this.loop.resultWith(this.#opened);
  }

  /**
   * @param late is how long ago it was due, in ms.
   * @param isAgain where it has been refused already.
   */
  async #one(late: number, isAgain = false): Promise<void> {
    const began = performance.now();
    const at = Date.now();
    const fail = (how: FailureKind, status: number, detail: string) => {
      this.loop.failed++;
      const after = performance.now() - began;
      const stream = this.#plan.name;
      this.#onFailure({ kind: "failure", stream, how, at, after, status, detail, before: 0 });
    };
    let connection: Connection;
    try {
      connection = await this.#takeStream();
    } catch (error) {
      return fail(
        error instanceof Deno.errors.ConnectionRefused ? "refused" : "connect",
        0,
        `${error}`,
      );
    }
    const { peer } = connection;
    const id = peer.nextStream();
    const answer = peer.stream(id);
    const message = messageOf(crypto.randomUUID());
    peer.send(headers(id, this.#head()), data(id, message, { end: true }));
    try {
      await peer.until("an answer", () => answer.over || isBeyond(id, peer));
    } catch (error) {
      return fail("timeout", 0, String(error));
    } finally {
      connection.free++;
      connection.freed.resolve();
      connection.freed = Promise.withResolvers();
    }
    if (isUnseen(id, answer, peer) && !isAgain) return await this.#one(late, true);
    if (!answer.ended || answer.reset !== null) {
      const detail = `code ${answer.reset}, connection ${peer.ending || "open"}`;
      return fail(answer.heads.length === 0 ? "reset" : "cut", 0, detail);
    }
    const field = (wanted: string) =>
      answer.trailers?.find(([name]) => name === wanted)?.[1] ?? answer.field(wanted);
    if (answer.status !== 200 || field("grpc-status") !== "0") {
      const detail = `grpc-status ${field("grpc-status")} ${field("grpc-message")}`;
      fail("status", answer.status, detail);
    } else if (answer.body !== message) {
      fail("body", answer.status, answer.body);
    } else {
      this.loop.succeeded(performance.now() - began + late);
    }
  }

  #head(): Field[] {
    const { host, path, secure = false } = this.#plan;
    return [
      [":method", "POST"],
      [":scheme", secure ? "https" : "http"],
      [":path", path],
      [":authority", host],
      ["content-type", "application/grpc"],
      ["te", "trailers"],
    ];
  }

  /** Waits while all streams of the connection are taken, and takes one. */
  async #takeStream(): Promise<Connection> {
    for (;;) {
      const connection = await this.#connection();
      if (connection.free > 0) {
        connection.free--;
        return connection;
      }
      await connection.freed.promise;
    }
  }

  async #connection(): Promise<Connection> {
    const before = this.#connecting;
    if (before !== null) {
      const connection = await before.catch(() => null);
      if (connection !== null && connection.peer.goAway === null && connection.peer.ending === "") {
        return connection;
      }
      // Another call may have replaced it meanwhile.
      if (this.#connecting !== before) return await this.#connection();
    }
    this.#connecting = this.#connect();
    return await this.#connecting;
  }

  /** Rejects where it ends before the first SETTINGS. */
  async #connect(): Promise<Connection> {
    const { host, secure = false } = this.#plan;
    const { address, httpPort, httpsPort, authority: ca } = this.#load;
    for (const peer of this.#peers) {
      if (peer.ending === "") continue;
      peer.close();
      this.#peers.delete(peer);
    }
    this.#opened++;
    const peer = await H2Peer.connect(secure ? httpsPort : httpPort, {
      address,
      ...(secure && ca !== undefined ? { tls: { name: host, ca } } : {}),
    });
    this.#peers.add(peer);
    await peer.until("SETTINGS", () => peer.count(FRAME.SETTINGS) > 0);
    if (peer.ending !== "") throw new Error("closed before SETTINGS");
    const free = peer.setting(SETTING.MAX_CONCURRENT_STREAMS) ?? Infinity;
    return { peer, free, freed: Promise.withResolvers() };
  }
}

/** A text as the only field of a message, with gRPC's prefix, in latin1. */
function messageOf(text: string): string {
  const prefix = [0, 0, 0, 0, text.length + 2, 0x0a, text.length];
  return String.fromCharCode(...prefix) + text;
}

/** The other end has said that it does not take this stream. */
function isBeyond(id: number, { goAway }: H2Peer): boolean {
  return goAway !== null && id > goAway.last;
}

/** Nothing has been done with it; it may not even have left. */
function isUnseen(id: number, { ended, reset }: H2Message, peer: H2Peer): boolean {
  return !ended && (reset === CODE.REFUSED_STREAM || isBeyond(id, peer));
}
