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
import { type Body, LATER, readThen } from "../http/body.ts";
import type { Duplex, DuplexSink } from "../http/message.ts";
import { DirectRelay, type ReadWaiter } from "../io/direct_relay.ts";
import type { WriteWaiter } from "../io/output.ts";
import { FrameBoundary, goingAwayFrame, wholeFrame } from "../http/websocket_frames.ts";

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

class Tunnel implements Deadlined {
  deadlinePlace = -1;
  readonly #lanes: readonly [Lane, Lane];
  readonly #idleTimeout: number;
  readonly #deadlines: Deadlines;
  #failure: ProxyError | null = null;

  constructor(
    client: Duplex,
    backend: Duplex,
    isWebSocket: boolean,
    idleTimeout: number,
    deadlines: Deadlines,
  ) {
    this.#lanes = [
      new Lane(this, client, backend, isWebSocket, true, deadlines),
      new Lane(this, backend, client, isWebSocket, false, deadlines),
    ];
    this.#idleTimeout = idleTimeout;
    this.#deadlines = deadlines;
  }

  async run(): Promise<ProxyError | null> {
    await Promise.all(this.#lanes.map((lane) => lane.carry()));
    return this.#failure;
  }

  check(now: number): number | void {
    const movedAt = Math.max(...this.#lanes.map((lane) => lane.movedAt));
    const deadline = this.#deadlines.after(movedAt, this.#idleTimeout);
    // What moves puts it off, so that it comes no earlier.
    if (now < deadline) return deadline;
    this.cut(new ProxyError("tunnel_idle"));
  }

  leave(): void {
    for (const lane of this.#lanes) lane.leave();
  }

  /** Breaks both directions. */
  cut(thrown: unknown): void {
    const error = asProxyError(thrown, "internal");
    this.#failure ??= error;
    for (const lane of this.#lanes) lane.abort(error);
  }
}

/**
 * One direction. Callbacks and no async function: with a thousand WebSockets, promises would be a tenth of
 * what a message costs.
 */
class Lane implements ReadWaiter, WriteWaiter {
  readonly #tunnel: Tunnel;
  readonly #deadlines: Deadlines;
  readonly #from: Duplex;
  readonly #to: Duplex;
  /** Of `#from` and `#to`, kept here so that a message needs neither of them. */
  readonly #body: Body;
  readonly #sink: DuplexSink;
  /** Null where the protocol is not WebSocket. */
  readonly #frames: FrameBoundary | null;
  /** What is sent here is masked. */
  readonly #masked: boolean;
  /** Created for the second message: many tunnels never carry one. */
  #relay: DirectRelay | null = null;
  #movedAt: number;
  #isWriting = false;
  /** The process ends: this direction is to end at the next end of a frame. */
  #isLeaving = false;
  /** The last word has been said: what still comes is not carried. */
  #isOver = false;
  /** The receiver reads no more: what still comes stays unread. */
  #isWriteClosed = false;
  #ended = () => {};

  constructor(
    tunnel: Tunnel,
    from: Duplex,
    to: Duplex,
    isWebSocket: boolean,
    masked: boolean,
    deadlines: Deadlines,
  ) {
    this.#tunnel = tunnel;
    this.#deadlines = deadlines;
    this.#movedAt = deadlines.now;
    this.#from = from;
    this.#to = to;
    this.#body = from.body;
    this.#sink = to.sink;
    this.#frames = isWebSocket ? new FrameBoundary() : null;
    this.#masked = masked;
  }

  /** Resolves once nothing more comes from its end, or all has been cut. */
  carry(): Promise<void> {
    return new Promise((ended) => {
      this.#ended = ended;
      this.#to.onWriteClosed?.(() => this.#writeClosed());
      if (!this.#isWriteClosed) this.#pull();
    });
  }

  /** When bytes came last, in ms, monotonic. */
  get movedAt(): number {
    return Math.max(this.#movedAt, this.#relay === null ? 0 : this.#relay.movedAt);
  }

  leave(): void {
    this.#isLeaving = true;
    this.#relay?.stop();
    if (!this.#isWriting && !this.#relay?.isWriting) this.#end();
  }

  abort(error: ProxyError): void {
    this.#from.abort(error);
  }

  arrived(view: Uint8Array | null): void {
    if (this.#isWriteClosed) return;
    try {
      if (!this.#take(view)) this.#pull();
    } catch (mistake) {
      this.#fail(mistake);
    }
  }

  broke(error: unknown): void {
    if (!this.#isWriteClosed) this.#fail(error);
  }

  wrote(): void {
    this.#isWriting = false;
    if (this.#isWriteClosed) return;
    if (this.#isLeaving) this.#end().then(() => this.#pull());
    else this.#pull();
  }

  writeBroke(error: unknown): void {
    this.#isWriting = false;
    if (!this.#isWriteClosed) this.#fail(error);
  }

  #pull(): void {
    try {
      if (this.#relays()) return;
      for (;;) {
        const view = readThen(this.#body, this);
        if (view === LATER || this.#take(view)) return;
      }
    } catch (error) {
      this.#fail(error);
    }
  }

  /** True where what comes next is relayed: each end has a connection to itself, and no frame has begun. */
  #relays(): boolean {
    if (this.#isLeaving || this.#frames !== null && !this.#frames.isReached) return false;
    const measure = this.#frames === null ? anyBytes : wholeFrame;
    this.#relay ??= DirectRelay.create(this.#body.directSource, this.#sink.output, this, measure);
    return this.#relay !== null && this.#relay.begin(this);
  }

  /** False where the next bytes are to be read at once. */
  #take(view: Uint8Array | null): boolean {
    if (view === null) {
      this.#finish();
      return true;
    }
    if (this.#isOver) return false;
    this.#movedAt = this.#deadlines.now;
    this.#frames?.pass(view);
    this.#isWriting = true;
    this.#sink.writeThen(view, view.length, this);
    return true;
  }

  /**
   * This direction is over, as its receiver reads no more; the tunnel ends once the other direction has delivered
   * what the receiver sent before. A client that sends nothing would never learn it by a failed write.
   */
  #writeClosed(): void {
    this.#isWriteClosed = this.#isOver = true;
    this.#ended();
  }

  async #finish(): Promise<void> {
    try {
      if (!this.#isOver) await this.#to.end();
    } catch (error) {
      this.#tunnel.cut(error);
    }
    this.#ended();
  }

  /** Says the last word, unless a frame is under way: then after it. */
  async #end(): Promise<void> {
    const frames = this.#frames;
    if (this.#isOver || (frames !== null && !frames.isReached)) return;
    this.#isOver = true;
    try {
      if (frames !== null && !frames.hasClosed) {
        await this.#to.write(goingAwayFrame(this.#masked));
      }
      await this.#to.end();
    } catch (error) {
      this.#tunnel.cut(error);
    }
  }

  #fail(thrown: unknown): void {
    this.#tunnel.cut(thrown);
    this.#ended();
  }
}

/** Bytes of an unknown protocol are relayed as they come. */
function anyBytes(_bytes: Uint8Array, length: number): number {
  return length;
}
