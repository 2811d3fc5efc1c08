/**
 * From objects to a configuration. In: what informers know, at every change. Out: one translation of
 * it all, with its version and problems, for those who write it somewhere.
 *
 * Level-triggered: each run looks at everything there is. Nothing is translated before every kind has
 * been listed whole, since what is missing yet would look as if it had been deleted; and where much
 * would go at once, nobody hears of it before lists made for the purpose say so too.
 */
import type { Logger } from "../../shared/log.ts";
import type { Problem } from "../../shared/problem.ts";
import { gatewayOf } from "../../shared/snapshot/listener_id.ts";
import type { Snapshot, SnapshotVersion } from "../../shared/snapshot/types.ts";
import { ReplicaCatchUp, type WatchedKind } from "./replica_catch_up.ts";
import { Debounce } from "./debounce.ts";
import { type NamedReferences, ReferencedObjects } from "./referenced_objects.ts";
import { DONE, Job, type JobOutcome } from "../outputs/write/job.ts";
import { largeLoss } from "./mass_deletion_guard.ts";
import { type Translate, translateOrQuarantine } from "./quarantine.ts";
import type { Resources } from "../kube/resources.ts";
import type {
  Clock,
  GatewayTranslation,
  HostClaims,
  IngressStatus,
  TranslateOptions,
} from "../translate/translator.ts";
import { isSameList } from "../base/memo.ts";
import { nextVersion } from "./version.ts";

/** What is published, as the API server has it. */
export interface PublishedState {
  readonly snapshot: Snapshot | null;
  readonly version: SnapshotVersion | null;
  /** Equal for snapshots that differ in nothing but their version; null for none that is whole. */
  readonly digest: string | null;
  /** Recorded claims to hosts; missing or null where none are known. */
  readonly claims?: HostClaims | null;
}

export interface ReconcilerOptions {
  /** UID of the namespace kube-system. */
  readonly epoch: string;
  readonly kinds: readonly WatchedKind[];
  /** The Secrets that accepted Ingresses and Gateways name. */
  readonly secrets: NamedReferences & { readonly objects: WatchedKind };
  /** The ConfigMaps that Gateways and their classes name; null where Gateway API is not read. */
  readonly parameters: NamedReferences | null;
  /** Whether what is published, and everything else beside `kinds`, is known. */
  readonly isSynced: () => boolean;
  readonly resources: () => Resources;
  readonly published: () => PublishedState;
  readonly translate: Translate;
  readonly translateOptions: Omit<TranslateOptions, "version" | "claims">;
  readonly clock: Clock;
  /** Milliseconds; see `Debounce`. */
  readonly gatherTime: number;
  readonly gatherLimit: number;
  /** Milliseconds from one run to the next where nothing changes; ten minutes without it. */
  readonly reviewInterval?: number;
  readonly log: Logger;
  /** Called with each result, also one that is equal to the one before. */
  readonly onResult: (result: Reconciliation) => void;
  readonly onRun?: (result: "changed" | "same" | "failed", milliseconds: number) => void;
}

/** What all objects come to at one moment. */
export interface Reconciliation {
  readonly snapshot: Snapshot;
  readonly problems: readonly Problem[];
  readonly statuses: readonly IngressStatus[];
  /** Null where Gateway API is not translated, or its objects are not known yet. */
  readonly gateway: GatewayTranslation | null;
  /** How many Ingresses and Gateways are served. */
  readonly served: number;
  /** How many of these are Gateways. */
  readonly servedGateways: number;
  /** Claims to hosts to be recorded; null where hosts are shared by all. */
  readonly claims: HostClaims | null;
  /** Kinds that have not seen what another replica published; with one, nothing may be published. */
  readonly behind: readonly string[];
}

/** For what only the clock changes: a certificate's time may be over while no object changes. */
const REVIEW_INTERVAL = 10 * 60_000;

/** Milliseconds from a list of Gateway API that failed, and was to confirm a loss, to the next. */
const GATEWAY_RETRY = 5_000;

/** Milliseconds that the Secrets of the first translation are waited for. */
const FIRST_SECRET_PATIENCE = 30_000;

export class Reconciler {
  readonly #options: ReconcilerOptions;
  readonly #gatherer: Debounce;
  readonly #job: Job;
  #latest: Reconciliation | null = null;
  /** What is read by name before each translation. */
  readonly #referenced: readonly ReferencedObjects[];
  readonly #catchUp: ReplicaCatchUp;
  readonly #stopping = new AbortController();

  constructor(options: ReconcilerOptions) {
    this.#options = options;
    const { secrets, parameters } = options;
    this.#referenced = [
      new ReferencedObjects(secrets, FIRST_SECRET_PATIENCE),
      // Ingresses do not wait for what Gateways need.
      ...(parameters === null ? [] : [new ReferencedObjects(parameters)]),
    ];
    this.#gatherer = new Debounce({
      time: options.gatherTime,
      limit: options.gatherLimit,
      onGathered: () => this.#job.poke(),
    });
    this.#catchUp = new ReplicaCatchUp({
      epoch: options.epoch,
      kinds: [...options.kinds, options.secrets.objects],
      log: options.log,
      changed: () => this.changed(),
    });
    this.#job = new Job({ name: "reconcile", log: options.log, run: () => this.#run() });
  }

  /** The last result; null before the first. */
  get latest(): Reconciliation | null {
    return this.#latest;
  }

  /** Milliseconds since the first change that is not translated yet; 0 without one. */
  get waiting(): number {
    return this.#gatherer.waiting ?? 0;
  }

  get isSynced(): boolean {
    const { kinds, secrets, isSynced } = this.#options;
    return isSynced() && secrets.objects.isSynced && kinds.every((kind) => kind.isSynced);
  }

  /** Something may have changed. @param isUrgent As `Debounce.changed`. */
  changed(isUrgent = false): void {
    this.#gatherer.changed(isUrgent);
  }

  /** A proxy has this version in force; see `ReplicaCatchUp`. */
  claim(version: SnapshotVersion, proxy: string): void {
    this.#catchUp.claim(version, proxy);
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#catchUp.stop();
    this.#gatherer.stop();
    await this.#job.stop();
  }

  /**
   * Lists everything anew and translates that: for those who are about to take away what proxies live
   * on. Null where a list failed.
   */
  async confirm(): Promise<Reconciliation | null> {
    return (await this.#confirm())?.result ?? null;
  }

  async #run(): Promise<JobOutcome> {
    if (!this.isSynced) return DONE;
    const done: JobOutcome = {
      kind: "again",
      after: this.#options.reviewInterval ?? REVIEW_INTERVAL,
    };
    const result = await this.#reconcile();
    if (result === null) return { kind: "failed", reason: "nothing could be translated" };
    const before = this.#latest?.snapshot ?? this.#options.published().snapshot;
    const loss = before === null ? null : largeLoss(before, result.snapshot);
    if (loss === null) {
      this.#take(result);
      return done;
    }
    const { log } = this.#options;
    log.warn("Many objects are gone at once, listing everything again first", { loss });
    const confirmed = await this.#confirm();
    if (confirmed === null) {
      return { kind: "failed", reason: `${loss} would go, and new lists cannot be had` };
    }
    if (!confirmed.areGatewaysListed) {
      log.warn("Gateway API cannot be listed again, its published routes stay", { loss });
      return { kind: "again", after: GATEWAY_RETRY };
    }
    const isReal = largeLoss(before!, confirmed.result.snapshot) !== null;
    log.warn(
      isReal ? "New lists confirm the deletions" : "New lists do not confirm the deletions",
      { loss },
    );
    return done;
  }

  /** Null where a list failed; one of Gateway API leaves Gateways as they are published, and no more. */
  async #confirm(): Promise<{ result: Reconciliation; areGatewaysListed: boolean } | null> {
    const { kinds, secrets } = this.#options;
    const relist = async (some: readonly WatchedKind[]) => {
      const listed = await Promise.all(some.map((kind) => kind.relist()));
      return listed.every(({ ok }) => ok);
    };
    const { gateways = [], others = [] } = Object.groupBy(
      kinds,
      ({ isOfGateways = false }) => isOfGateways ? "gateways" : "others",
    );
    const [ofSecrets, areOthersListed, areGatewaysListed] = await Promise.all([
      secrets.objects.relist(),
      relist(others),
      relist(gateways),
    ]);
    // A Secret that cannot be read stays as it was, so nothing is lost by it.
    const isUnread = !ofSecrets.ok && ofSecrets.error.reason === "Deadline";
    if (!(ofSecrets.ok || isUnread) || !areOthersListed) return null;
    const result = await this.#reconcile(areGatewaysListed);
    return result === null ? null : { result: this.#take(result), areGatewaysListed };
  }

  #take(result: Reconciliation): Reconciliation {
    this.#latest = result;
    this.#options.onResult(result);
    return result;
  }

  /** @param areGatewaysListed Else what is published of Gateways stays. */
  async #reconcile(areGatewaysListed = true): Promise<Reconciliation | null> {
    const started = performance.now();
    const { published, translate, translateOptions, clock, log, onRun } = this.#options;
    const named = this.#options.resources();
    await Promise.all(this.#referenced.map((objects) => objects.read(named)));
    // What was not waited for to the end would be missing in it.
    if (this.#stopping.signal.aborted) return null;
    const resources = this.#options.resources();
    const before = published();
    const { version, behind, blocking, keepsGateways } = nextVersion(
      this.#options.epoch,
      this.#catchUp.seen(before.version),
      before.version,
      {
        claimed: this.#catchUp.claimed,
        isGatewayPending: resources.gatewayIsPending === true || !areGatewaysListed,
        canKeep: before.snapshot !== null,
      },
    );
    this.#catchUp.behind(behind, before.version);
    const translation = translateOrQuarantine(
      translate,
      { ...resources, gatewayIsPending: keepsGateways },
      before.snapshot,
      { ...translateOptions, version, claims: before.claims ?? null },
      clock,
    );
    const milliseconds = performance.now() - started;
    if (translation === null) {
      log.error("Translation failed, keeping the published configuration");
      onRun?.("failed", milliseconds);
      return null;
    }
    const { snapshot, problems, statuses, gateway, claims } = translation;
    const isSame = this.#latest !== null && isSameTable(this.#latest.snapshot, snapshot);
    onRun?.(isSame ? "same" : "changed", milliseconds);
    const servedGateways = gatewaysOf(snapshot);
    return {
      ...{ snapshot, problems, statuses, gateway, claims, servedGateways },
      behind: blocking,
      served: statuses.length + servedGateways,
    };
  }
}

/** How many Gateways have a listener that is served. */
function gatewaysOf({ listeners }: Snapshot): number {
  return new Set(listeners?.map(({ id }) => gatewayOf(id))).size;
}

/** Whether they are alike as far as the cheapest look tells; for counting only. */
function isSameTable(a: Snapshot, b: Snapshot): boolean {
  return isSameList(a.routes, b.routes) && isSameList(a.upstreams, b.upstreams) &&
    isSameList(a.certificates, b.certificates);
}
