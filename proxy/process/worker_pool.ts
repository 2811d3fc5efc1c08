/**
 * Workers that share the ports, and their supervisor. In: snapshots. Out: deltas to every worker, a
 * new worker in place of one that dies, and a spare beside one that is stuck.
 *
 * The kernel spreads connections over the listeners (SO_REUSEPORT). The supervisor carries none: it
 * stays free to see that a worker is stuck. Such a one cannot be ended: `terminate()` waits for a
 * running loop in Deno 2.9 (measured: still at 100 % CPU, its port still bound, six seconds later),
 * and the kernel goes on giving it its share of connections. So the others open more listeners: with
 * one of four stuck 83 of 300 connections hung, and 17 of 600 with 15 more in each of the others.
 * These stay: closing one resets what waits in its queue. So there is no such help against a second
 * worker that gets stuck: then the process ends.
 */
import { type Address, describeListenError } from "../../shared/net/address.ts";
import type { Logger } from "../../shared/log.ts";
import { ConnectionCounts } from "../listen/connection_counts.ts";
import type { DataPlane, ServedSnapshot } from "./data_plane.ts";
import { joinedStates, type SocketStates } from "../listen/socket_states.ts";
import { SelfProbes } from "../listen/self_probes.ts";
import { PasswordQueue } from "../filters/passwords/password_queue.ts";
import type { DrainOptions } from "../server.ts";
import { hasUsers, type SnapshotDelta, SnapshotDiffer } from "../config/diff.ts";
import { STALL_LIMITS, type StallLimits, StallWatch } from "./stall_watch.ts";
import type { TelemetryHub } from "../telemetry/hub.ts";
import { WorkerMember } from "./worker_member.ts";
import { type Listening, packDelta, type WorkerSettings } from "./worker_protocol.ts";
import { startWorkerThread, type WorkerThread } from "./worker_thread.ts";

export interface WorkerPoolOptions {
  /** How many, at least one. */
  readonly count: number;
  readonly settings: Omit<WorkerSettings, "protected">;
  readonly log: Logger;
  /** What counts over all workers. */
  readonly hub: TelemetryHub;
  /** Takes whole lines for standard output. */
  readonly write: (lines: string) => void;
  /** The process should end: a second worker is stuck, or one has been for long. */
  readonly onEnd: (reason: string) => void;
  /** Of a worker that was stuck and answers again. */
  readonly retirement: DrainOptions;
  /** Why traffic should not come, by a name of the reason and its worker; null once it may again. */
  readonly onObstacle: (name: string, reason: string | null) => void;
  /** `sockets` may be others. */
  readonly onSockets?: () => void;
  /** Threads that have been started for the first workers. */
  readonly threads?: readonly WorkerThread[];
  /** The code of all other workers; `worker.ts` but in tests of faults. */
  readonly module?: URL;
  /** Default: `STALL_LIMITS`. */
  readonly stalls?: Partial<StallLimits>;
}

/** A worker that dies sooner than this (ms) after its start is not replaced at once. */
const SHORT_LIFE = 1_000;

/** What waits in the queue of a worker that was stuck is taken in for at least this long, in ms. */
const MIN_RETIREMENT_DELAY = 500;

/** Listeners of each worker on each port, from the first worker on that is stuck. */
const LISTENERS_BESIDE_STUCK = 16;

export class WorkerPool implements DataPlane {
  readonly #options: WorkerPoolOptions;
  readonly #members = new Set<WorkerMember>();
  /** That no worker has used yet. */
  readonly #threads: WorkerThread[];
  /** Of all workers. */
  readonly #passwords = new PasswordQueue();
  /** Null before the first. */
  #whole: ServedSnapshot | null = null;
  #zone: string | null = null;
  #listening: Listening = { http: [], https: [] };
  readonly #protected: Address[] = [];
  /** Limits count over the process. */
  readonly #counts: Int32Array<SharedArrayBuffer>;
  readonly #bodies: Int32Array<SharedArrayBuffer>;
  /** So do calls to see whether ports answer. */
  readonly #calls: Int32Array<SharedArrayBuffer>;
  #watch: StallWatch<WorkerMember> | null = null;
  /** Of each worker on each port. */
  #listeners = 1;
  /** All have listened once: what is lost from now on is replaced. */
  #isUp = false;
  readonly #up = Promise.withResolvers<void>();
  /** Of the last delta. */
  #sequence = 0;
  #draining = false;
  #restarts = 0;
  /** Some worker listens, as was told. */
  #isServed = true;

  constructor(options: WorkerPoolOptions) {
    this.#options = options;
    this.#threads = [...options.threads ?? []];
    // A stuck worker keeps its place, and its connections count.
    this.#counts = ConnectionCounts.cellsFor(2 * options.count);
    this.#bodies = ConnectionCounts.cellsFor(2 * options.count);
    this.#calls = SelfProbes.cellsFor(2 * options.count);
  }

  /** Workers replaced since the start. */
  get restarts(): number {
    return this.#restarts;
  }

  apply(change: SnapshotDelta, whole: ServedSnapshot): Promise<void> {
    this.#whole = whole;
    if (hasUsers(change)) this.#passwords.prepare();
    const delta = packDelta(change);
    const sequence = ++this.#sequence;
    // One that dies meanwhile is replaced by one that begins with all that is in force.
    const applied = [...this.#members].map((member) => member.apply(delta, sequence));
    return Promise.all(applied).then(() => this.#isUp ? undefined : this.#up.promise);
  }

  get sockets(): SocketStates {
    // One that is asked to retire, and does not answer, is no measure of what is served.
    const serving = [...this.#members].filter(({ isRetired }) => !isRetired);
    return joinedStates(serving.map(({ sockets }) => sockets));
  }

  setZone(zone: string | null): void {
    this.#zone = zone;
    for (const member of this.#members) member.post({ kind: "zone", zone });
  }

  protect(address: Address): void {
    this.#protected.push(address);
  }

  async listen(addresses: Listening): Promise<Listening> {
    // With a shared port the system would let two proxies take turns: it must be free first.
    for (const address of addresses.http) assertFree(address, "--listen-http");
    for (const address of addresses.https) assertFree(address, "--listen-https");
    // The first worker learns which ports stand for 0; the others share them.
    this.#listening = addresses;
    this.#listening = await this.#start();
    const rest = Array.from({ length: this.#options.count - 1 }, () => this.#start());
    await Promise.all(rest);
    this.#isUp = true;
    this.#up.resolve();
    this.#watch = this.#startWatch();
    return this.#listening;
  }

  async drain(options: DrainOptions): Promise<void> {
    this.#draining = true;
    this.#watch?.close();
    // A worker that is stuck cannot drain: it gets the time that the others need.
    const members = [...this.#members];
    for (const member of members) if (member.isStuck) member.post({ kind: "drain", options });
    const others = members.filter(({ isStuck }) => !isStuck);
    await Promise.all(others.map((member) => member.drain(options)));
    this.close();
  }

  close(): void {
    this.#draining = true;
    this.#watch?.close();
    for (const member of this.#members) member.terminate();
    this.#members.clear();
    this.#passwords.close();
    this.#up.resolve();
  }

  /** A new worker, with all that is in force; settles when it listens. */
  async #start(): Promise<Listening> {
    const {
      hub,
      write,
      onObstacle,
      onSockets = () => {},
      module = new URL("./worker.ts", import.meta.url),
    } = this.#options;
    const settings = { ...this.#options.settings, protected: this.#protected };
    const taken = new Set([...this.#members].map(({ place }) => place));
    let place = 0;
    while (taken.has(place)) place++;
    // What the one before had counted went with it.
    ConnectionCounts.clear(this.#counts, place);
    ConnectionCounts.clear(this.#bodies, place);
    SelfProbes.clear(this.#calls, place);
    const member = new WorkerMember(
      this.#threads.shift() ?? startWorkerThread(module),
      place,
      hub,
      {
        write,
        onObstacle,
        onSockets,
        lost: (reason) => this.#lost(member, reason),
        verifyPassword: this.#passwords.verify,
      },
    );
    this.#members.add(member);
    // A new differ has seen nothing: its delta is the whole.
    const { snapshot, certificates } = this.#whole!;
    const delta = packDelta(new SnapshotDiffer().diff(snapshot, certificates));
    const cells = {
      counts: this.#counts,
      bodies: this.#bodies,
      calls: this.#calls,
      worker: place,
    };
    const listen = this.#listening;
    const listeners = this.#listeners;
    const zone = this.#zone;
    const listening = await member.start({ settings, listen, listeners, delta, zone, cells });
    this.#tellServed();
    return listening;
  }

  /** Load balancers stay away while nobody listens, as where each worker ends at what is in force. */
  #tellServed(): void {
    const isServed = [...this.#members].some(({ isListening, isRetired }) =>
      isListening && !isRetired
    );
    if (isServed === this.#isServed) return;
    this.#isServed = isServed;
    this.#options.onObstacle("workers", isServed ? null : "none of them listens");
  }

  #startWatch(): StallWatch<WorkerMember> {
    const { log, hub, stalls, onEnd } = this.#options;
    return new StallWatch({
      limits: { ...STALL_LIMITS, ...stalls },
      members: () => this.#members,
      onBeat: (silent) => SelfProbes.setSilent(this.#calls, silent),
      onStalled: ({ place }, silence) => {
        hub.workerStalled();
        log.warn("Worker stalled", { worker: place, silence });
      },
      onAnswer: ({ place }) => log.info("Worker responds again", { worker: place }),
      onStuck: (member, silence) => this.#replace(member, silence),
      onEnding: (reason) => log.error("Shutting down soon", { reason }),
      onRelief: () => log.info("Shutdown cancelled, all workers respond again"),
      onEnd,
    });
  }

  /** A worker is stuck: a spare serves in its place, and it ends if it ever answers. */
  async #replace(member: WorkerMember, silence: number): Promise<void> {
    const { log, retirement } = this.#options;
    const worker = member.place;
    log.error("Worker stuck", { worker, silence });
    this.#listeners = LISTENERS_BESIDE_STUCK;
    for (const other of this.#members) {
      if (other !== member) other.post({ kind: "listeners", count: this.#listeners });
    }
    // One that cannot start is lost, and tried again.
    this.#start().catch(() => {});
    const delay = Math.max(MIN_RETIREMENT_DELAY, retirement.delay);
    await member.retire({ ...retirement, delay });
    // It has died meanwhile, or all end.
    if (!this.#members.delete(member)) return;
    member.terminate();
    log.info("Worker retired", { worker });
  }

  /** A worker is no more, or no use: its connections are lost, the others go on. */
  #lost(member: WorkerMember, reason: string): void {
    if (!this.#members.delete(member)) return;
    member.terminate();
    this.#options.onSockets?.();
    // In place of one that was stuck there is a spare.
    if (this.#draining || !this.#isUp || member.isRetired) return;
    this.#tellServed();
    this.#restarts++;
    this.#options.hub.workerRestarted();
    this.#options.log.error("Worker replaced", { reason, restarts: this.#restarts });
    setTimeout(() => {
      if (this.#draining) return;
      // One that cannot start comes back here, and is tried again.
      this.#start().catch(() => {});
    }, member.age < SHORT_LIFE ? SHORT_LIFE : 0);
  }
}

function assertFree(address: Address, flag: string): void {
  if (address.port === 0) return;
  try {
    Deno.listen({ hostname: address.hostname, port: address.port }).close();
  } catch (error) {
    throw new Error(describeListenError(error, address, flag));
  }
}
