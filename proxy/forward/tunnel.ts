/**
 * Bytes both ways between a client and a backend that have switched protocols. In: two ends. Out:
 * what each says, to the other, until both have said their last, one breaks, or nothing has moved
 * for too long.
 *
 * When the process ends, WebSockets are told so: a Close frame with 1001 goes to both sides at the
 * end of a frame, so that clients connect anew at once and elsewhere. Other protocols have no word
 * for it that we know: they get FIN.
 */
import { type Deadlined, type Deadlines } from "../io/deadlines.ts";
import { asProxyError, ProxyError } from "../errors.ts";
import type { Duplex } from "../http/message.ts";
import { FrameBoundary, goingAwayFrame } from "../http/websocket_frames.ts";

/** The tunnels of one event loop. */
export class Tunnels {
  readonly #open = new Set<Tunnel>();
  readonly #deadlines: Deadlines;

  constructor(deadlines: Deadlines) {
    this.#deadlines = deadlines;
  }

  get size(): number {
    return this.#open.size;
  }

  /**
   * Runs a tunnel to its end. Resolves with null, or with why it was cut; both ends are closed then.
   *
   * @param idleTimeout of silence on both sides, in ms.
   */
  async run(
    client: Duplex,
    backend: Duplex,
    isWebSocket: boolean,
    idleTimeout: number,
  ): Promise<ProxyError | null> {
    const tunnel = new Tunnel(client, backend, isWebSocket, idleTimeout, this.#deadlines);
    this.#open.add(tunnel);
    this.#deadlines.add(tunnel);
    try {
      return await tunnel.run();
    } finally {
      this.#deadlines.delete(tunnel);
      this.#open.delete(tunnel);
    }
  }

  /** Tells every end that this is the end; those that take it are gone soon. */
  leave(): void {
    for (const tunnel of this.#open) tunnel.leave();
  }
}

/** One direction. */
interface Lane {
  readonly from: Duplex;
  readonly to: Duplex;
  /** Null where the protocol is not WebSocket. */
  readonly frames: FrameBoundary | null;
  /** What is sent here is masked. */
  readonly masked: boolean;
  writing: boolean;
  /** The last word has been said: what still comes is not carried. */
  over: boolean;
}

class Tunnel implements Deadlined {
  deadlinePlace = -1;
  readonly #lanes: readonly [Lane, Lane];
  readonly #idleTimeout: number;
  readonly #deadlines: Deadlines;
  #deadline: number;
  #leaving = false;
  #failure: ProxyError | null = null;

  constructor(
    client: Duplex,
    backend: Duplex,
    isWebSocket: boolean,
    idleTimeout: number,
    deadlines: Deadlines,
  ) {
    const lane = (from: Duplex, to: Duplex): Lane => ({
      from,
      to,
      frames: isWebSocket ? new FrameBoundary() : null,
      masked: to === backend,
      writing: false,
      over: false,
    });
    this.#lanes = [lane(client, backend), lane(backend, client)];
    this.#idleTimeout = idleTimeout;
    this.#deadlines = deadlines;
    this.#deadline = deadlines.in(idleTimeout);
  }

  async run(): Promise<ProxyError | null> {
    await Promise.all(this.#lanes.map((lane) => this.#carry(lane)));
    return this.#failure;
  }

  check(now: number): number | void {
    // What moves puts it off, so that it comes no earlier.
    if (now < this.#deadline) return this.#deadline;
    this.#cut(new ProxyError("tunnel_idle"));
  }

  leave(): void {
    this.#leaving = true;
    for (const lane of this.#lanes) if (!lane.writing) this.#end(lane);
  }

  async #carry(lane: Lane): Promise<void> {
    const { from, to, frames } = lane;
    try {
      for (;;) {
        const view = await from.body.read();
        if (view === null) break;
        if (lane.over) continue;
        this.#deadline = this.#deadlines.in(this.#idleTimeout);
        frames?.pass(view);
        lane.writing = true;
        await to.write(view);
        lane.writing = false;
        if (this.#leaving) await this.#end(lane);
      }
      if (!lane.over) await to.end();
    } catch (error) {
      this.#cut(asProxyError(error, "internal"));
    }
  }

  /** Says the last word in one direction, unless a frame is under way: then after it. */
  async #end(lane: Lane): Promise<void> {
    const { frames, to, masked } = lane;
    if (lane.over || (frames !== null && !frames.isReached)) return;
    lane.over = true;
    try {
      if (frames !== null && !frames.hasClosed) await to.write(goingAwayFrame(masked));
      await to.end();
    } catch (error) {
      this.#cut(asProxyError(error, "internal"));
    }
  }

  #cut(error: ProxyError): void {
    this.#failure ??= error;
    for (const lane of this.#lanes) lane.from.abort(error);
  }
}
