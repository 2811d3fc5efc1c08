/**
 * Leader election by a Lease. In: a client, a Lease's name and our identity. Out: whether we lead, and
 * until when what the leader alone may write may be written.
 *
 * Two fences keep two from writing. The API server's: every change of the Lease names the
 * resourceVersion that it replaces. And time: others wait for `leaseDuration` from when they saw the
 * last renewal, the holder writes for `renewDeadline` from when it asked for it, each on its own
 * monotonic clock. A write that the API server has received and not yet carried out is beyond both:
 * writers name the resourceVersion of what they replace wherever an old write could do harm.
 *
 * Needs of RBAC: `get` and `update` of the one Lease by its name, and `create` (which cannot be
 * limited to a name). The timings and their meanings are those of client-go's
 * k8s.io/client-go/tools/leaderelection, which does not fence.
 */
import { type Clock, systemClock } from "../../shared/clock.ts";
import type { Logger } from "../../shared/log.ts";
import {
  heldSpec,
  holderOf,
  type Lease,
  type Observation,
  observe,
  releasedSpec,
  standingOf,
  transitionsOf,
} from "./lease.ts";
import { LeaseCalls, type LeaseClient } from "./lease_calls.ts";
import { Term, type WriteFence } from "./term.ts";
import type { ApiError } from "./types.ts";

export type { LeaseClient } from "./lease_calls.ts";
export type { WriteFence } from "./term.ts";

export interface LeaderElectorOptions {
  readonly client: LeaseClient;
  /** Of the Lease. */
  readonly namespace: string;
  /** Of the Lease. Default: `pingress-controller`. */
  readonly name?: string;
  /** On a Lease that is created here. */
  readonly labels?: Readonly<Record<string, string>>;
  /** On the Lease while we hold it, for other replicas; asked at each renewal. */
  readonly annotations?: () => Readonly<Record<string, string>>;
  /** Unlike any other process's, ever: `<pod name>_<random UUID>`. */
  readonly identity: string;
  /** Milliseconds after a renewal was seen until another may lead. Default: 15,000. */
  readonly leaseDuration?: number;
  /** Milliseconds after a renewal was sent until the holder writes no more. Default: 10,000. */
  readonly renewDeadline?: number;
  /** Milliseconds from one try to the next, at most. Default: 2,000. */
  readonly retryPeriod?: number;
  /**
   * Whether nobody can have led before, asked where the first look finds no Lease: it may have been
   * deleted under a holder who does not know yet. Default: nobody has.
   */
  readonly isNew?: (deadline: number) => Promise<boolean>;
  readonly clock?: Clock;
  /** Numbers from 0 up to 1, for jitter. */
  readonly random?: () => number;
  readonly log: Logger;
  /** Called when we begin or cease to lead. */
  readonly onChange?: (isLeader: boolean) => void;
}

export interface LeaderStatistics {
  readonly isLeader: boolean;
  /** As last read; null for nobody. */
  readonly holder: string | null;
  /** How often the holder has changed, as the Lease says. */
  readonly transitions: number;
  /** Milliseconds since our own last renewal was sent; null before the first. */
  readonly renewedAgo: number | null;
}

/** Of the Lease. */
export const LEASE_NAME = "pingress-controller";
const LEASE_DURATION = 15_000;
const RENEW_DEADLINE = 10_000;
const RETRY_PERIOD = 2_000;

/** A renewal must come well after the retry period, which waits and answers stretch: client-go's. */
const RETRY_MARGIN = 1.2;

/** Tries are this much of the retry period apart at least, so that replicas do not march in step. */
const JITTER = 0.2;

/** The shortest pause, as a part of the retry period: no failure makes us ask in a loop. */
const SHORTEST_PAUSE = 0.05;

/** Reads and writes in a row when somebody else changes the Lease between them. */
const ROUNDS = 3;

export class LeaderElector implements WriteFence {
  readonly #calls: LeaseCalls;
  readonly #identity: string;
  readonly #leaseDuration: number;
  readonly #renewDeadline: number;
  readonly #retryPeriod: number;
  readonly #annotations: () => Readonly<Record<string, string>>;
  readonly #isNew: (deadline: number) => Promise<boolean>;
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #log: Logger;
  readonly #onChange: (isLeader: boolean) => void;

  readonly #stopping = new AbortController();
  #running: Promise<void> | null = null;
  #stopped: Promise<void> | null = null;
  #observation: Observation | null = null;
  #term: Term | null = null;
  #renewedAt: number | null = null;
  #waiting: ((isLeader: boolean) => void)[] = [];

  /** Throws a RangeError for timings under which two could lead. */
  constructor(options: LeaderElectorOptions) {
    const { client, namespace, name = LEASE_NAME, labels, log } = options;
    this.#calls = new LeaseCalls(client, { namespace, name, labels }, log);
    this.#identity = options.identity;
    this.#leaseDuration = options.leaseDuration ?? LEASE_DURATION;
    this.#renewDeadline = options.renewDeadline ?? RENEW_DEADLINE;
    this.#retryPeriod = options.retryPeriod ?? RETRY_PERIOD;
    this.#annotations = options.annotations ?? (() => ({}));
    this.#isNew = options.isNew ?? (() => Promise.resolve(true));
    this.#clock = options.clock ?? systemClock;
    this.#random = options.random ?? Math.random;
    this.#log = log;
    this.#onChange = options.onChange ?? (() => {});
    if (this.#identity === "") throw new RangeError("Cannot lead without an identity");
    const isInOrder = this.#leaseDuration > this.#renewDeadline &&
      this.#renewDeadline > this.#retryPeriod * RETRY_MARGIN && this.#retryPeriod > 0;
    if (!isInOrder || !Number.isFinite(this.#leaseDuration)) {
      throw new RangeError(
        `Cannot lead with a lease of ${this.#leaseDuration} ms, a renew deadline of ` +
          `${this.#renewDeadline} ms and a retry period of ${this.#retryPeriod} ms`,
      );
    }
  }

  /** Begins to try. Throws when called twice. */
  start(): void {
    if (this.#running !== null) throw new Error("Cannot start: started already");
    this.#running = this.#run();
  }

  /**
   * From now on no write may start. Those that run may end: when `writesEnded` says so, the lease is
   * released, and another can lead within its retry period. If it rejects, or does not settle before
   * the writes' deadline, the lease is left to expire, because one of them may still arrive.
   * Takes no longer than three calls to the API server and the writes' deadline.
   */
  stop(writesEnded: Promise<unknown> = Promise.resolve()): Promise<void> {
    return this.#stopped ??= this.#stop(writesEnded);
  }

  /** Whether we lead, at this moment. */
  get isLeader(): boolean {
    return this.#term !== null && !this.#term.isOver;
  }

  mayWrite(): boolean {
    return this.isLeader && !this.#stopping.signal.aborted;
  }

  writeDeadline(): number {
    return this.mayWrite() ? this.#term!.left : 0;
  }

  writeSignal(): AbortSignal {
    return this.mayWrite() ? this.#term!.signal : AbortSignal.abort();
  }

  /** An annotation of another replica that leads, as last read; null for none. */
  annotationOfOther(name: string): string | null {
    const lease = this.#observation?.lease ?? null;
    const holder = holderOf(lease);
    if (this.isLeader || holder === null || holder === this.#identity) return null;
    return lease?.metadata.annotations?.[name] ?? null;
  }

  /** Resolves with true when we lead, with false when `stop` was called before. */
  acquired(): Promise<boolean> {
    if (this.#stopping.signal.aborted) return Promise.resolve(false);
    if (this.isLeader) return Promise.resolve(true);
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  statistics(): LeaderStatistics {
    const lease = this.#observation?.lease ?? null;
    return {
      isLeader: this.isLeader,
      holder: holderOf(lease),
      transitions: transitionsOf(lease),
      renewedAgo: this.#renewedAt === null ? null : this.#clock.monotonic() - this.#renewedAt,
    };
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      const started = this.#clock.monotonic();
      const error = await this.#try();
      if (error === null) this.#calls.worked();
      await pause(this.#pauseAfter(started, error), signal);
    }
  }

  /** Gets or keeps the lease where that is allowed. The failure, or null. */
  async #try(): Promise<ApiError | null> {
    // A holder knows the record: it need not read what only itself has written.
    let isKnown = this.isLeader;
    let error: ApiError | null = null;
    for (let round = 0; round < ROUNDS; round++) {
      if (!isKnown) {
        error = await this.#look(this.#callDeadline);
        if (error !== null) return error;
      }
      isKnown = false;
      if (this.#stopping.signal.aborted || !this.#mayTake()) return null;
      const isNew = this.#observation!.lease === null;
      error = await this.#take();
      // 409: somebody was faster. 404 of an update: the Lease was deleted.
      if (error === null || (error.code !== 409 && (error.code !== 404 || isNew))) return error;
    }
    return error;
  }

  #mayTake(): boolean {
    const observation = this.#observation!;
    // A holder makes a deleted Lease again: those who saw it held wait for that.
    if (observation.lease === null && this.isLeader) return true;
    return standingOf(observation, this.#identity, this.#clock.monotonic()).kind !== "held";
  }

  async #look(deadline: number): Promise<ApiError | null> {
    const result = await this.#calls.read(deadline);
    if (!result.ok) return result.error;
    const isVoid = this.#observation === null && result.value === null;
    const isNew = !isVoid || await this.#isNew(deadline);
    if (!isNew) {
      this.#log.warn("The lease is missing, waiting in case its last holder still leads", {
        lease: this.#calls.title,
        seconds: this.#leaseDuration / 1000,
      });
    }
    this.#observe(result.value, isNew);
    return null;
  }

  async #take(): Promise<ApiError | null> {
    const { lease } = this.#observation!;
    const spec = heldSpec(lease, this.#identity, this.#leaseDuration, this.#clock.now());
    // The holder's time begins before the others can have seen the renewal.
    const sent = this.#clock.monotonic();
    const annotations = this.#annotations();
    const result = await this.#calls.write(lease, spec, this.#callDeadline, annotations);
    if (!result.ok) return result.error;
    this.#observe(result.value);
    this.#renewed(sent);
    return null;
  }

  #observe(lease: Lease | null, isNew = true): void {
    const before = holderOf(this.#observation?.lease ?? null);
    const now = this.#clock.monotonic();
    this.#observation = observe(this.#observation, lease, now, this.#leaseDuration, isNew);
    const holder = holderOf(lease);
    if (lease !== null && holder !== this.#identity) {
      this.#lose(holder === null ? "the lease names no holder" : "another holds the lease");
    }
    if (holder === null || holder === before || holder === this.#identity) return;
    this.#log.info("Another replica leads", { lease: this.#calls.title, identity: holder });
  }

  #renewed(sent: number): void {
    this.#renewedAt = sent;
    // In between somebody may have been told that we do not lead: that stays true of that term.
    if (this.#term?.isOver) this.#expired();
    const until = sent + this.#renewDeadline;
    if (this.#term !== null) return this.#term.extend(until);
    // An answer may come so late that its time is over.
    if (this.#clock.monotonic() >= until) return;
    this.#term = new Term(this.#clock, until, () => this.#expired());
    this.#log.info("Leading", {
      lease: this.#calls.title,
      identity: this.#identity,
      transitions: transitionsOf(this.#observation!.lease),
    });
    for (const resolve of this.#waiting.splice(0)) resolve(true);
    this.#onChange(true);
  }

  #expired(): void {
    const { failure } = this.#calls;
    const cause = failure === null ? "" : `: ${failure}`;
    this.#lose(`the lease was not renewed within ${this.#renewDeadline} ms${cause}`);
  }

  #lose(reason: string): void {
    if (this.#term === null) return;
    this.#term.end();
    this.#term = null;
    const level = this.#stopping.signal.aborted ? "info" : "warn";
    this.#log[level]("Not leading any more", { lease: this.#calls.title, reason });
    this.#onChange(false);
  }

  async #stop(writesEnded: Promise<unknown>): Promise<void> {
    this.#stopping.abort();
    const settled = writesEnded.then(() => true, () => false);
    await this.#running;
    const term = this.#term;
    if (term !== null) {
      const isSafe = await Promise.race([settled, aborted(term.signal)]);
      this.#lose("stopped");
      if (isSafe) await this.#release();
      else this.#leftToExpire("writes have not ended");
    }
    for (const resolve of this.#waiting.splice(0)) resolve(false);
  }

  async #release(): Promise<void> {
    const end = this.#clock.monotonic() + this.#callDeadline;
    let left = this.#callDeadline;
    let reason = "";
    while (left > 0) {
      const { lease } = this.#observation!;
      if (lease === null || holderOf(lease) !== this.#identity) return;
      const spec = releasedSpec(lease, this.#clock.now());
      const result = await this.#calls.write(lease, spec, left);
      if (result.ok) {
        return this.#log.info("Released the lease", { lease: this.#calls.title });
      }
      reason = result.error.message;
      if (result.error.code !== 409) await pause(this.#retryPeriod / 4, null);
      left = end - this.#clock.monotonic();
      // A renewal that was given up may have been carried out all the same.
      if (left > 0) await this.#look(left);
      left = end - this.#clock.monotonic();
    }
    this.#leftToExpire(reason);
  }

  #leftToExpire(reason: string): void {
    this.#log.warn("Did not release the lease, it will expire", {
      lease: this.#calls.title,
      reason,
    });
  }

  /** Milliseconds until the next try. */
  #pauseAfter(started: number, error: ApiError | null): number {
    const now = this.#clock.monotonic();
    let at = started + this.#retryPeriod * (1 - JITTER * this.#random());
    if (error?.retryAfter) {
      // Not longer than a holder can wait.
      at = Math.max(at, now + Math.min(error.retryAfter, this.#callDeadline));
    } else if (error === null && !this.isLeader && this.#observation !== null) {
      const standing = standingOf(this.#observation, this.#identity, now);
      if (standing.kind === "held") at = Math.min(at, standing.until);
    }
    return Math.max(at - now, this.#retryPeriod * SHORTEST_PAUSE);
  }

  /** Milliseconds for one call: a connection that is dead leaves time for another try. */
  get #callDeadline(): number {
    return this.#renewDeadline / 2;
  }
}

/** Resolves after `ms`, or when `signal` aborts. */
function pause(ms: number, signal: AbortSignal | null): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const end = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal?.addEventListener("abort", end);
  });
}

/** Resolves with false when `signal` aborts; never, if it does not. */
function aborted(signal: AbortSignal): Promise<false> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(false);
    else signal.addEventListener("abort", () => resolve(false), { once: true });
  });
}
