/**
 * Catching up with other replicas. In: what is published, what proxies have in force, and how far each
 * kind has been seen here. Out: new lists of kinds that are behind, each of which is a change by
 * itself, and what may be believed of proxies.
 *
 * A proxy is believed no more than a list made since: nobody can raise versions beyond what there is.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "../../shared/log.ts";
import type { SnapshotVersion } from "../../shared/snapshot/types.ts";
import { Backoff } from "../kube/backoff.ts";
import type { RelistResult } from "../kube/informer.ts";
import { compareRevisions, isRevision, newestRevision } from "../kube/revision.ts";
import type { SeenKind } from "./version.ts";

/** One kind that is watched, as far as reconciling needs it. */
export interface WatchedKind {
  /** `Ingress`. */
  readonly kind: string;
  /** Whether it is listed, or is nothing that a translation waits for. */
  readonly isSynced: boolean;
  /** See `SeenKind`. */
  readonly seen: string;
  readonly revision: string;
  readonly isOfGateways?: boolean;
  /**
   * Lists everything anew, to be sure; what fails leaves all as it was. Of a kind that is not served, or
   * that may be missing and is refused, there is nothing more to know: that succeeds.
   */
  relist(): Promise<RelistResult>;
}

/** Milliseconds between two lists of a kind that is behind, where they fail. */
const PAUSES = { first: 1_000, last: 30_000 };

/** The same where a list was made for a proxy's word, which was wrong each time. */
const SUSPECT_PAUSES = { first: 1_000, last: 60_000 };

/** Proxies whose claims of one kind wait to be looked into, and whose word was wrong. */
const MAX_CLAIMANTS = 1024;

/** Milliseconds that a watch may take to tell us what another replica has heard already. */
const WATCH_PATIENCE = 50;

export interface ReplicaCatchUpOptions {
  readonly epoch: string;
  readonly kinds: readonly WatchedKind[];
  readonly log: Logger;
  /** Something has been listed anew, or is believed now. */
  readonly changed: () => void;
  /** In milliseconds; for tests. */
  readonly watchPatience?: number;
  /** Milliseconds that never go back. */
  readonly now?: () => number;
}

/** What proxies claim of one kind. */
interface KindClaims {
  /** By proxy, what is to be looked into: some may be mistakes, and others true. */
  readonly open: Map<string, string>;
  /** Proxies whose last word no list bore out. */
  readonly suspects: Set<string>;
  /** Pauses between lists for the sake of suspects, and when the one that goes on ends. */
  readonly suspectPauses: Backoff;
  suspectsUntil: number;
  /** Pauses between lists for the sake of others. */
  readonly pauses: Backoff;
  isChecking: boolean;
}

export class ReplicaCatchUp {
  readonly #options: ReplicaCatchUpOptions;
  /** By kind, what was published when it was last listed anew for being behind. */
  readonly #relisted = new Map<string, string>();
  readonly #relisting = new Set<string>();
  /** By kind, pauses between lists that fail. */
  readonly #pauses = new Map<string, Backoff>();
  /** By kind, what proxies have in force and a list has borne out. */
  readonly #claimed = new Map<string, string>();
  readonly #claims = new Map<string, KindClaims>();
  readonly #stopping = new AbortController();

  constructor(options: ReplicaCatchUpOptions) {
    this.#options = options;
  }

  get claimed(): ReadonlyMap<string, string> {
    return this.#claimed;
  }

  stop(): void {
    this.#stopping.abort();
  }

  seen(published: SnapshotVersion | null): SeenKind[] {
    return this.#options.kinds.map(({ kind, seen, revision, isOfGateways }) => ({
      ...{ kind, seen, revision, isOfGateways },
      isFresh: this.#relisted.get(kind) === published?.seen[kind],
    }));
  }

  /** Lists what is behind anew, without anybody waiting for it. */
  behind(behind: readonly string[], published: SnapshotVersion | null): void {
    for (const kind of this.#options.kinds) {
      const wanted = published?.seen[kind.kind];
      if (!behind.includes(kind.kind) || wanted === undefined) continue;
      if (this.#relisting.has(kind.kind)) continue;
      this.#relisting.add(kind.kind);
      this.#relistBehind(kind, wanted).finally(() => {
        this.#relisting.delete(kind.kind);
        this.#options.changed();
      });
    }
  }

  /**
   * A proxy has this in force, so a replica has seen as much: maybe more than this one. Whoever was
   * wrong before is looked into more and more seldom, and holds up nobody else.
   *
   * @param proxy Its name.
   */
  claim({ epoch, seen }: SnapshotVersion, proxy: string): void {
    const { changed, now = () => performance.now() } = this.#options;
    if (epoch !== this.#options.epoch || this.#stopping.signal.aborted) return;
    for (const kind of this.#options.kinds) {
      const claim = Object.hasOwn(seen, kind.kind) ? seen[kind.kind] : "0";
      if (!isRevision(claim) || !this.#isNews(kind, claim)) continue;
      if (compareRevisions(claim, kind.revision) <= 0) {
        this.#claimed.set(kind.kind, claim);
        changed();
        continue;
      }
      const claims = this.#claimsOf(kind.kind);
      if (claims.suspects.has(proxy) && now() < claims.suspectsUntil) continue;
      if (claims.open.has(proxy) || claims.open.size < MAX_CLAIMANTS) claims.open.set(proxy, claim);
      if (claims.isChecking) continue;
      claims.isChecking = true;
      this.#check(kind, claims).finally(() => claims.isChecking = false);
    }
  }

  #claimsOf(kind: string): KindClaims {
    const claims = this.#claims.get(kind) ?? {
      open: new Map(),
      suspects: new Set(),
      suspectPauses: new Backoff(SUSPECT_PAUSES),
      suspectsUntil: 0,
      pauses: new Backoff(PAUSES),
      isChecking: false,
    };
    this.#claims.set(kind, claims);
    return claims;
  }

  /** Whether it is beyond what is seen here, or is believed. */
  #isNews(kind: WatchedKind, claim: string): boolean {
    const known = newestRevision([kind.seen, this.#claimed.get(kind.kind) ?? "0"]);
    return compareRevisions(claim, known) > 0;
  }

  /** Looks into what is claimed of a kind, until nothing is. */
  async #check(kind: WatchedKind, claims: KindClaims): Promise<void> {
    const { watchPatience = WATCH_PATIENCE } = this.#options;
    await this.#sleep(watchPatience);
    while (!this.#stopping.signal.aborted) {
      const open = [...claims.open].filter(([, claim]) => this.#isNews(kind, claim));
      claims.open.clear();
      if (open.length === 0) return;
      const isKnown = open.every(([, claim]) => compareRevisions(claim, kind.revision) <= 0);
      const reached = isKnown ? kind.revision : await this.#reach(kind);
      if (reached !== null) this.#settle(kind, claims, open, reached);
      if (isKnown) continue;
      // A list that fails says nothing of any proxy.
      if (reached !== null) claims.pauses.reset();
      await this.#sleep(claims.pauses.next(null));
    }
  }

  /** @param open By proxy. @param reached How far there is anything. */
  #settle(
    { kind }: WatchedKind,
    claims: KindClaims,
    open: readonly (readonly [string, string])[],
    reached: string,
  ): void {
    const { log, changed, now = () => performance.now() } = this.#options;
    const { suspects, suspectPauses } = claims;
    const { true: borneOut = [], wrong = [] } = Object.groupBy(
      open,
      ([, claim]) => compareRevisions(claim, reached) <= 0 ? "true" : "wrong",
    );
    if (borneOut.length > 0) {
      this.#claimed.set(kind, newestRevision(borneOut.map(([, claim]) => claim)));
      changed();
    }
    for (const [proxy] of borneOut) suspects.delete(proxy);
    if (suspects.size === 0) suspectPauses.reset();
    if (wrong.length === 0) return;
    const fresh = wrong.find(([proxy]) => !suspects.has(proxy));
    if (fresh !== undefined) {
      const about = { kind, proxy: fresh[0], proxies: wrong.length };
      log.warn("A proxy serves a version that no list confirms", about);
    }
    for (const [proxy] of wrong) suspects.add(proxy);
    for (const proxy of suspects) {
      if (suspects.size <= MAX_CLAIMANTS) break;
      suspects.delete(proxy);
    }
    claims.suspectsUntil = now() + suspectPauses.next(null);
  }

  /** How far a list gets that is made now; null where there is none. */
  async #reach(kind: WatchedKind): Promise<string | null> {
    const { kinds, log } = this.#options;
    log.debug("Listing again, as another replica sent a proxy newer objects", { kind: kind.kind });
    // One counter counts for all kinds. Where Secrets are asked for one by one, they do not tell it.
    const counter = kinds.find(({ kind }) => kind === "IngressClass") ?? kind;
    const listed = await Promise.all([...new Set([kind, counter])].map((one) => one.relist()));
    if (!listed.every(({ ok }) => ok)) return null;
    return newestRevision([kind, counter].flatMap(({ seen, revision }) => [seen, revision]));
  }

  /** Resolves when it is done, or when it may be tried again. */
  async #relistBehind(kind: WatchedKind, wanted: string): Promise<void> {
    const { log } = this.#options;
    const backoff = this.#pauses.get(kind.kind) ?? new Backoff(PAUSES);
    this.#pauses.set(kind.kind, backoff);
    const about = { kind: kind.kind };
    if (backoff.failures === 0) {
      log.info("Listing again to catch up with another replica", about);
    }
    const listed = await kind.relist();
    if (listed.ok) {
      this.#relisted.set(kind.kind, wanted);
      backoff.reset();
      return;
    }
    const { message: reason, retryAfter } = listed.error;
    if (backoff.failures === 0) {
      log.warn("Cannot list again, will retry", { ...about, reason });
    }
    await this.#sleep(backoff.next(retryAfter));
  }

  #sleep(milliseconds: number): Promise<void> {
    const { signal } = this.#stopping;
    return sleep(milliseconds, undefined, { signal }).catch(() => {});
  }
}
