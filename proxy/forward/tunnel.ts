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
import {
  type BodyReader,
  type Duplex,
  LATER,
  readThen,
  type WriteWaiter,
} from "../http/message.ts";
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

/** What a lane needs of its tunnel. */
interface LaneOwner {
  /** Something is carried. */
  moved(): void;
  /** All of a view has been carried; a promise where something else is said before the next. */
  carried(lane: Lane): Promise<void> | null;
  cut(error: ProxyError): void;
}

/** One direction. It reads and writes without promises of its own: a message would cost six. */
class Lane implements BodyReader, WriteWaiter {
  readonly from: Duplex;
  readonly to: Duplex;
  /** Null where the protocol is not WebSocket. */
  readonly frames: FrameBoundary | null;
  /** What is sent here is masked. */
  readonly masked: boolean;
  writing = false;
  /** The last word has been said: what still comes is not carried. */
  over = false;
  readonly #owner: LaneOwner;
  #ended: () => void = () => {};

  constructor(
    owner: LaneOwner,
    from: Duplex,
    to: Duplex,
    frames: FrameBoundary | null,
    masked: boolean,
  ) {
    this.#owner = owner;
    this.from = from;
    this.to = to;
    this.frames = frames;
    this.masked = masked;
  }

  /** Carries all that comes. Settles at its end, or once the tunnel is cut; never rejects. */
  carry(): Promise<void> {
    return new Promise((resolve) => {
      this.#ended = resolve;
      this.#pull();
    });
  }

  arrived(view: Uint8Array | null): void {
    try {
      if (view === null) this.#end();
      else if (this.over) this.#pull();
      else this.#write(view);
    } catch (error) {
      this.broke(error);
    }
  }

  wrote(): void {
    this.writing = false;
    const saying = this.#owner.carried(this);
    if (saying === null) this.#pull();
    else saying.then(() => this.#pull());
  }

  broke(error: unknown): void {
    this.#owner.cut(asProxyError(error, "internal"));
    this.#ended();
  }

  writeBroke(error: unknown): void {
    this.broke(error);
  }

  #pull(): void {
    try {
      let next = readThen(this.from.body, this);
      while (this.over && next !== LATER && next !== null) next = readThen(this.from.body, this);
      if (next !== LATER) this.arrived(next);
    } catch (error) {
      this.broke(error);
    }
  }

  #write(view: Uint8Array): void {
    const { to } = this;
    this.#owner.moved();
    this.frames?.pass(view);
    this.writing = true;
    if (to.writeThen !== undefined) to.writeThen(view, view.length, this);
    else to.write(view).then(() => this.wrote(), (error) => this.broke(error));
  }

  #end(): void {
    if (this.over) this.#ended();
    else this.to.end().then(() => this.#ended(), (error) => this.broke(error));
  }
}

class Tunnel implements Deadlined, LaneOwner {
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
    const lane = (from: Duplex, to: Duplex) =>
      new Lane(this, from, to, isWebSocket ? new FrameBoundary() : null, to === backend);
    this.#lanes = [lane(client, backend), lane(backend, client)];
    this.#idleTimeout = idleTimeout;
    this.#deadlines = deadlines;
    this.#deadline = deadlines.in(idleTimeout);
  }

  async run(): Promise<ProxyError | null> {
    await Promise.all(this.#lanes.map((lane) => lane.carry()));
    return this.#failure;
  }

  check(now: number): number | void {
    // What moves puts it off, so that it comes no earlier.
    if (now < this.#deadline) return this.#deadline;
    this.cut(new ProxyError("tunnel_idle"));
  }

  leave(): void {
    this.#leaving = true;
    for (const lane of this.#lanes) if (!lane.writing) this.#end(lane);
  }

  moved(): void {
    this.#deadline = this.#deadlines.in(this.#idleTimeout);
  }

  carried(lane: Lane): Promise<void> | null {
    return this.#leaving ? this.#end(lane) : null;
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
      this.cut(asProxyError(error, "internal"));
    }
  }

  cut(error: ProxyError): void {
    this.#failure ??= error;
    for (const lane of this.#lanes) lane.from.abort(error);
  }
}
