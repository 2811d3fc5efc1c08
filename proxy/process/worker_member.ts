/**
 * One worker, as the supervisor sees it. In: messages for it. Out: what it says, and whether it is
 * serving, stalled, or stuck and asked to retire.
 */
import type { PasswordCheck, VerifyPassword } from "../filters/passwords/messages.ts";
import type { SocketStates } from "../listen/socket_states.ts";
import type { DrainOptions } from "../server.ts";
import type { TelemetryHub, WorkerTelemetry } from "../telemetry/hub.ts";
import type { FromWorker, Listening, PostedDelta, ToWorker } from "./worker_protocol.ts";
import type { WorkerThread } from "./worker_thread.ts";

/** How much later than a drain's own end (ms) a worker may say that it has drained. */
const DRAIN_GRACE = 2_000;

/** Who is told what a worker says. */
export interface MemberEvents {
  /** Whole lines for standard output. */
  readonly write: (lines: string) => void;
  /** As `WorkerPoolOptions.onObstacle`. */
  readonly onObstacle: (name: string, reason: string | null) => void;
  /** Its `sockets` are others. */
  readonly onSockets: () => void;
  /** It is no more, or no use. */
  readonly lost: (reason: string) => void;
  readonly verifyPassword: VerifyPassword;
}

export class WorkerMember {
  /** Pings since it last said anything. */
  pingsUnheard = 0;
  /** It has been silent for a moment. */
  isStalled = false;
  /** It has been silent for long, and still is. */
  isStuck = false;
  /** Which of the workers it is, from 0. */
  readonly place: number;
  readonly #thread: WorkerThread;
  readonly #events: MemberEvents;
  readonly #obstacles = new Set<string>();
  #sockets: SocketStates = { open: [], obstacles: [] };
  readonly #telemetry: WorkerTelemetry;
  readonly #born = performance.now();
  #isRetired = false;
  #isListening = false;
  #listening = Promise.withResolvers<Listening>();
  #drained = Promise.withResolvers<void>();
  /** Deltas that it has not said to have applied, by their sequence. */
  readonly #unapplied = new Map<number, () => void>();

  constructor(
    thread: WorkerThread,
    place: number,
    hub: TelemetryHub,
    events: MemberEvents,
  ) {
    this.place = place;
    this.#events = events;
    this.#thread = thread;
    this.#telemetry = hub.attach((message) => this.post({ kind: "telemetry", message }), place);
    this.#thread.onmessage = ({ data }: MessageEvent<FromWorker>) => this.#take(data);
    this.#thread.onerror = (event) => {
      event.preventDefault();
      this.#gone(event.message);
    };
  }

  /** In ms. */
  get age(): number {
    return performance.now() - this.#born;
  }

  /** It has been asked to end, whenever it answers again. */
  get isRetired(): boolean {
    return this.#isRetired;
  }

  /** It has listened once, and takes connections unless it is stuck. */
  get isListening(): boolean {
    return this.#isListening;
  }

  get sockets(): SocketStates {
    return this.#sockets;
  }

  post(message: ToWorker): void {
    this.#thread.postMessage(message);
  }

  start(
    message: Omit<Extract<ToWorker, { kind: "start" }>, "kind" | "telemetry">,
  ): Promise<Listening> {
    this.post({ kind: "start", telemetry: this.#telemetry.setup, ...message });
    return this.#listening.promise;
  }

  /**
   * Settles when it has applied this, is no more, or has been asked to retire: such a worker serves
   * nobody while it is silent, and gets the deltas in order before it serves again.
   */
  apply(delta: PostedDelta, sequence: number): Promise<void> {
    this.post({ kind: "delta", delta, sequence });
    if (this.#isRetired) return Promise.resolve();
    return new Promise((resolve) => this.#unapplied.set(sequence, resolve));
  }

  ping(): void {
    this.pingsUnheard++;
    this.post({ kind: "ping" });
  }

  /** Settles when it has drained, or should have long ago. */
  async drain(options: DrainOptions): Promise<void> {
    this.post({ kind: "drain", options });
    const late = setTimeout(
      () => this.#drained.resolve(),
      options.delay + options.timeout + DRAIN_GRACE,
    );
    await this.#drained.promise;
    clearTimeout(late);
  }

  /** Has it drain and end as soon as it answers; settles when it has, however late. */
  retire(options: DrainOptions): Promise<void> {
    this.#isRetired = true;
    this.#applied(Infinity);
    this.post({ kind: "drain", options });
    return this.#drained.promise;
  }

  terminate(): void {
    this.#thread.onmessage = null;
    this.#thread.terminate();
    this.#telemetry.detach();
    for (const name of this.#obstacles) this.#setObstacle(name, null);
    this.#drained.resolve();
    this.#applied(Infinity);
  }

  #take(message: FromWorker): void {
    this.pingsUnheard = 0;
    switch (message.kind) {
      case "listening":
        this.#isListening = true;
        this.#listening.resolve(message.listening);
        break;
      case "refused":
        this.#gone(message.message);
        break;
      case "applied":
        this.#applied(message.sequence);
        break;
      case "password":
        this.#verify(message.id, message.check);
        break;
      case "sockets":
        this.#sockets = message.states;
        this.#events.onSockets();
        break;
      case "obstacle":
        this.#setObstacle(message.name, message.reason);
        break;
      case "lines":
        this.#events.write(message.text);
        break;
      case "telemetry":
        this.#telemetry.receive(message.message);
        break;
      case "drained":
        this.#drained.resolve();
        break;
    }
  }

  #verify(id: number, check: PasswordCheck): void {
    this.#events.verifyPassword(check).then(
      (verdict) => this.post({ kind: "password", id, verdict }),
      () => this.post({ kind: "password", id, verdict: null }),
    );
  }

  /** Others have the same listeners: the name says whose it is. */
  #setObstacle(name: string, reason: string | null): void {
    if (reason === null) this.#obstacles.delete(name);
    else this.#obstacles.add(name);
    this.#events.onObstacle(`${name} of worker ${this.place}`, reason);
  }

  #applied(sequence: number): void {
    for (const [of, resolve] of this.#unapplied) {
      if (of > sequence) break;
      this.#unapplied.delete(of);
      resolve();
    }
  }

  #gone(reason: string): void {
    this.#listening.reject(new Error(reason));
    this.#drained.resolve();
    this.#events.lost(reason);
  }
}
