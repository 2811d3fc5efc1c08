/**
 * Catching up with other replicas. In: what is published, what proxies have in force, and how far each
 * kind has been seen here. Out: new lists of kinds that are behind, each of which is a change by
 * itself, and what may be believed of proxies.
 *
 * A proxy is believed no more than a list made since: nobody can raise versions beyond what there is.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "../shared/log.ts";
import type { SnapshotVersion } from "../shared/snapshot.ts";
import { Backoff } from "./kube/backoff.ts";
import { compareRevisions, isRevision, newestRevision } from "./kube/revision.ts";
import type { WatchedKind } from "./reconcile.ts";
import type { SeenKind } from "./version.ts";

/** Milliseconds between two lists of a kind that is behind, where they fail. */
const PAUSES = { first: 1_000, last: 30_000 };

/** The same where a proxy's word was wrong, or could not be looked into. */
const CLAIM_PAUSES = { first: 1_000, last: 60_000 };

/** Claims of one kind that wait to be looked into. */
const MAX_CLAIMS = 256;

/** Milliseconds that a watch may take to tell us what another replica has heard already. */
const WATCH_PATIENCE = 50;

export interface CatchUpOptions {
  readonly epoch: string;
  readonly kinds: readonly WatchedKind[];
  readonly log: Logger;
  /** Something has been listed anew, or is believed now. */
  readonly changed: () => void;
  /** In milliseconds; for tests. */
  readonly watchPatience?: number;
}

export class CatchUp {
  readonly #options: CatchUpOptions;
  /** By kind, what was published when it was last listed anew for being behind. */
  readonly #relisted = new Map<string, string>();
  readonly #relisting = new Set<string>();
  /** By kind, pauses between lists that fail. */
  readonly #pauses = new Map<string, Backoff>();
  /** By kind, what proxies have in force and a list has borne out. */
  readonly #claimed = new Map<string, string>();
  /** By kind, what is to be looked into: the highest may be a mistake, and others true. */
  readonly #claims = new Map<string, Set<string>>();
  readonly #claimPauses = new Map<string, Backoff>();
  readonly #checking = new Set<string>();
  readonly #stopping = new AbortController();

  constructor(options: CatchUpOptions) {
    this.#options = options;
  }

  get claimed(): ReadonlyMap<string, string> {
    return this.#claimed;
  }

  stop(): void {
    this.#stopping.abort();
  }

  seen(published: SnapshotVersion | null): SeenKind[] {
    return this.#options.kinds.map(({ kind, seen, revision }) => ({
      kind,
      seen,
      revision,
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

  /** A proxy has this in force, so a replica has seen as much: maybe more than this one. */
  claim({ epoch, seen }: SnapshotVersion): void {
    if (epoch !== this.#options.epoch || this.#stopping.signal.aborted) return;
    for (const kind of this.#options.kinds) {
      const claim = Object.hasOwn(seen, kind.kind) ? seen[kind.kind] : "0";
      const known = newestRevision([kind.seen, this.#claimed.get(kind.kind) ?? "0"]);
      if (!isRevision(claim) || compareRevisions(claim, known) <= 0) continue;
      const claims = this.#claims.get(kind.kind) ?? new Set();
      if (claims.size < MAX_CLAIMS) this.#claims.set(kind.kind, claims.add(claim));
      if (this.#checking.has(kind.kind)) continue;
      this.#checking.add(kind.kind);
      this.#check(kind).finally(() => this.#checking.delete(kind.kind));
    }
  }

  /** Looks into what is claimed of a kind, until nothing is. */
  async #check(kind: WatchedKind): Promise<void> {
    const { log, watchPatience = WATCH_PATIENCE } = this.#options;
    const backoff = this.#claimPauses.get(kind.kind) ?? new Backoff(CLAIM_PAUSES);
    this.#claimPauses.set(kind.kind, backoff);
    await this.#sleep(watchPatience);
    while (!this.#stopping.signal.aborted) {
      const claims = this.#claims.get(kind.kind);
      this.#claims.delete(kind.kind);
      const open = [...claims ?? []].filter((claim) => compareRevisions(claim, kind.seen) > 0);
      if (open.length === 0) return;
      const isKnown = compareRevisions(newestRevision(open), kind.revision) <= 0;
      const reached = isKnown ? kind.revision : await this.#reach(kind);
      const borneOut = open.filter((claim) => compareRevisions(claim, reached) <= 0);
      if (borneOut.length > 0) {
        this.#claimed.set(kind.kind, newestRevision(borneOut));
        this.#options.changed();
      }
      if (borneOut.length === open.length) backoff.reset();
      else if (backoff.failures === 0) {
        log.warn("A proxy has a version in force that no list bears out", { kind: kind.kind });
      }
      await this.#sleep(backoff.next(null));
    }
  }

  /** How far a list gets that is made now; "0" where there is none. */
  async #reach(kind: WatchedKind): Promise<string> {
    const { kinds, log } = this.#options;
    log.debug("Listing anew what another replica has told a proxy", { kind: kind.kind });
    // One counter counts for all kinds. Where Secrets are asked for one by one, they do not tell it.
    const counter = kinds.find(({ kind }) => kind === "IngressClass") ?? kind;
    const listed = await Promise.all([...new Set([kind, counter])].map((one) => one.relist()));
    if (!listed.every(({ ok }) => ok)) return "0";
    return newestRevision([kind, counter].flatMap(({ seen, revision }) => [seen, revision]));
  }

  /** Resolves when it is done, or when it may be tried again. */
  async #relistBehind(kind: WatchedKind, wanted: string): Promise<void> {
    const { log } = this.#options;
    const backoff = this.#pauses.get(kind.kind) ?? new Backoff(PAUSES);
    this.#pauses.set(kind.kind, backoff);
    const about = { kind: kind.kind };
    if (backoff.failures === 0) {
      log.info("Listing anew what another replica has seen further", about);
    }
    const listed = await kind.relist();
    if (listed.ok) {
      this.#relisted.set(kind.kind, wanted);
      backoff.reset();
      return;
    }
    const { message: reason, retryAfter } = listed.error;
    if (backoff.failures === 0) {
      log.warn("Cannot list anew, will be tried again", { ...about, reason });
    }
    await this.#sleep(backoff.next(retryAfter));
  }

  #sleep(milliseconds: number): Promise<void> {
    const { signal } = this.#stopping;
    return sleep(milliseconds, undefined, { signal }).catch(() => {});
  }
}
