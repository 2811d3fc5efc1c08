/**
 * Workers that share the ports, and their supervisor. In: snapshots. Out: deltas to every worker, a
 * new worker in place of one that dies, and word of one that is stuck.
 *
 * The kernel spreads connections over the workers (SO_REUSEPORT). The main thread carries none: it
 * stays free to see that a worker is stuck. Such a one cannot be replaced: `terminate()` does not
 * end a running loop in Deno 2.9 (measured: still at 100 % CPU, its port still bound, six seconds
 * later), and the kernel goes on giving it its share of connections. Only the end of the process
 * helps.
 */
import { type Address, describeListenError } from "../shared/address.ts";
import type { Logger } from "../shared/log.ts";
import type { Snapshot } from "../shared/snapshot.ts";
import type { ServerCertificate } from "./certificates.ts";
import { ConnectionCounts } from "./connection_counts.ts";
import type { DataPlane } from "./data_plane.ts";
import { OwnCalls } from "./own_calls.ts";
import { WORKER_RIGHTS } from "./rights.ts";
import type { DrainOptions } from "./server.ts";
import { SnapshotDiffer } from "./snapshot_delta.ts";
import type { TelemetryHub, WorkerTelemetry } from "./telemetry/hub.ts";
import {
  type FromWorker,
  type Listening,
  packDelta,
  type PostedDelta,
  type ToWorker,
  type WorkerSettings,
} from "./worker_protocol.ts";

export interface WorkerFleetOptions {
  /** How many, at least one. */
  readonly count: number;
  readonly settings: Omit<WorkerSettings, "protected">;
  readonly log: Logger;
  /** What counts over all workers. */
  readonly hub: TelemetryHub;
  /** Takes whole lines for standard output. */
  readonly write: (lines: string) => void;
  /** Told once of a worker that is silent for longer than `patience`: the process should end. */
  readonly onStuck: (reason: string) => void;
  /** Why traffic should not come, by a name of the reason and its worker; null once it may again. */
  readonly onObstacle: (name: string, reason: string | null) => void;
  /** The worker's code; `worker.ts` but in tests of faults. */
  readonly module?: URL;
  /** Between two pings, in ms; default 1 s. */
  readonly heartbeat?: number;
  /** Silence after which a worker is taken for stuck, in ms; default 10 s. */
  readonly patience?: number;
}

/** A worker that dies sooner than this (ms) after its start is not replaced at once. */
const SHORT_LIFE = 1_000;

/** How much later than a drain's own end (ms) a worker may say that it has drained. */
const DRAIN_GRACE = 2_000;

export class WorkerFleet implements DataPlane {
  readonly #options: WorkerFleetOptions;
  readonly #members = new Set<Member>();
  readonly #differ = new SnapshotDiffer();
  #snapshot: Snapshot | null = null;
  #certificates: readonly ServerCertificate[] = [];
  #zone: string | null = null;
  #listening: Listening = { http: [], https: [] };
  readonly #protected: Address[] = [];
  /** Limits count over the process. */
  readonly #counts: Int32Array<SharedArrayBuffer>;
  /** So do calls to see whether ports answer. */
  readonly #calls: Int32Array<SharedArrayBuffer>;
  #heartbeat: ReturnType<typeof setInterval> | undefined;
  /** All have listened once: what is lost from now on is replaced. */
  #isUp = false;
  readonly #up = Promise.withResolvers<void>();
  /** Of the last delta. */
  #sequence = 0;
  #draining = false;
  #restarts = 0;

  constructor(options: WorkerFleetOptions) {
    this.#options = options;
    this.#counts = ConnectionCounts.cellsFor(options.count);
    this.#calls = OwnCalls.cellsFor(options.count);
  }

  /** Workers replaced since the start. */
  get restarts(): number {
    return this.#restarts;
  }

  apply(snapshot: Snapshot, certificates: readonly ServerCertificate[]): Promise<void> {
    this.#snapshot = snapshot;
    this.#certificates = certificates;
    const delta = packDelta(this.#differ.diff(snapshot, certificates));
    const sequence = ++this.#sequence;
    // One that dies meanwhile is replaced by one that begins with all that is in force.
    const applied = [...this.#members].map((member) => member.apply(delta, sequence));
    return Promise.all(applied).then(() => this.#isUp ? undefined : this.#up.promise);
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
    this.#heartbeat = setInterval(() => this.#check(), this.#options.heartbeat ?? 1_000);
    return this.#listening;
  }

  async drain(options: DrainOptions): Promise<void> {
    this.#draining = true;
    clearInterval(this.#heartbeat);
    await Promise.all([...this.#members].map((member) => member.drain(options)));
    this.close();
  }

  close(): void {
    this.#draining = true;
    clearInterval(this.#heartbeat);
    for (const member of this.#members) member.terminate();
    this.#members.clear();
    this.#up.resolve();
  }

  /** A new worker, with all that is in force; settles when it listens. */
  #start(): Promise<Listening> {
    const { hub, write, onObstacle, module = new URL("./worker.ts", import.meta.url) } =
      this.#options;
    const settings = { ...this.#options.settings, protected: this.#protected };
    const taken = new Set([...this.#members].map(({ place }) => place));
    let place = 0;
    while (taken.has(place)) place++;
    // What the one before had counted went with it.
    ConnectionCounts.clear(this.#counts, place);
    OwnCalls.clear(this.#calls, place);
    const member = new Member(
      module,
      place,
      hub,
      { write, onObstacle, lost: (reason) => this.#lost(member, reason) },
    );
    this.#members.add(member);
    // A new differ has seen nothing: its delta is the whole.
    const delta = packDelta(new SnapshotDiffer().diff(this.#snapshot!, this.#certificates));
    const cells = { counts: this.#counts, calls: this.#calls, worker: place };
    return member.start({ settings, listen: this.#listening, delta, zone: this.#zone, cells });
  }

  /**
   * Silence is counted in pings: a pause of this thread, or of the whole process, is not taken for
   * a worker's.
   */
  #check(): void {
    const { heartbeat = 1_000, patience = 10_000 } = this.#options;
    for (const member of this.#members) {
      const silence = member.pingsUnheard * heartbeat;
      if (silence > patience) {
        this.#members.delete(member);
        this.#options.onStuck(`a worker has been silent for ${silence} ms`);
      } else {
        member.ping();
      }
    }
  }

  /** A worker is no more, or no use: its connections are lost, the others go on. */
  #lost(member: Member, reason: string): void {
    if (!this.#members.delete(member)) return;
    member.terminate();
    if (this.#draining || !this.#isUp) return;
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

/** Who is told what a worker says. */
interface MemberEvents extends Pick<WorkerFleetOptions, "write" | "onObstacle"> {
  /** It is no more, or no use. */
  readonly lost: (reason: string) => void;
}

/** One worker, from here. */
class Member {
  /** Pings since it last said anything. */
  pingsUnheard = 0;
  /** Which of the workers it is: 0 to count - 1. */
  readonly place: number;
  readonly #worker: Worker;
  readonly #events: MemberEvents;
  readonly #obstacles = new Set<string>();
  readonly #telemetry: WorkerTelemetry;
  readonly #born = performance.now();
  #listening = Promise.withResolvers<Listening>();
  #drained = Promise.withResolvers<void>();
  /** Deltas that it has not said to have applied, by their sequence. */
  readonly #unapplied = new Map<number, () => void>();

  constructor(
    module: URL,
    place: number,
    hub: TelemetryHub,
    events: MemberEvents,
  ) {
    this.place = place;
    this.#events = events;
    this.#worker = new Worker(module, {
      type: "module",
      deno: { permissions: WORKER_RIGHTS },
    });
    this.#telemetry = hub.attach((message) => this.post({ kind: "telemetry", message }));
    this.#worker.onmessage = ({ data }: MessageEvent<FromWorker>) => this.#take(data);
    this.#worker.onerror = (event) => {
      event.preventDefault();
      this.#gone(event.message);
    };
  }

  /** In ms. */
  get age(): number {
    return performance.now() - this.#born;
  }

  post(message: ToWorker): void {
    this.#worker.postMessage(message);
  }

  start(
    message: Omit<Extract<ToWorker, { kind: "start" }>, "kind" | "telemetry">,
  ): Promise<Listening> {
    this.post({ kind: "start", telemetry: this.#telemetry.setup, ...message });
    return this.#listening.promise;
  }

  /** Settles when it has applied this, or is no more. */
  apply(delta: PostedDelta, sequence: number): Promise<void> {
    this.post({ kind: "delta", delta, sequence });
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

  terminate(): void {
    this.#worker.onmessage = null;
    this.#worker.terminate();
    this.#telemetry.detach();
    for (const name of this.#obstacles) this.#setObstacle(name, null);
    this.#drained.resolve();
    this.#applied(Infinity);
  }

  #take(message: FromWorker): void {
    this.pingsUnheard = 0;
    switch (message.kind) {
      case "listening":
        this.#listening.resolve(message.listening);
        break;
      case "refused":
        this.#gone(message.message);
        break;
      case "applied":
        this.#applied(message.sequence);
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

function assertFree(address: Address, flag: string): void {
  if (address.port === 0) return;
  try {
    Deno.listen({ hostname: address.hostname, port: address.port }).close();
  } catch (error) {
    throw new Error(describeListenError(error, address, flag));
  }
}
