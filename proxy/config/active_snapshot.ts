/**
 * What the proxy serves by, whichever way it came. In: snapshots of files and of the controller's
 * stream. Out: each one that is taken, once, to be applied; what became of it; and version and hash
 * of what is in force.
 *
 *     files ──▶ guard ──▶ apply ──▶ in force
 *     stream ─────┘
 */
import type { Snapshot, SnapshotChange, SnapshotVersion } from "../../shared/snapshot/types.ts";
import { compareVersions } from "../../shared/snapshot/version_order.ts";
import type { RefusalCode } from "../../shared/stream/messages.ts";
import { Content } from "../../shared/stream/content.ts";
import {
  type GuardRules,
  type Objection,
  objectionTo,
  type Origin,
  type SnapshotOffer,
} from "./guard.ts";

/** A configuration that has been taken. */
export interface InForce {
  readonly snapshot: Snapshot;
  readonly origin: Origin;
  /** When it was taken, in ms of the options' clock. */
  readonly since: number;
}

/** One that is being put into force, or is there. */
interface Held extends InForce {
  /** As the controller told it, which may know more fields; null where a file said it. */
  readonly told: string | null;
  /** Settles when every worker serves by it. */
  readonly applied: Promise<void>;
}

export type Verdict =
  | {
    readonly kind: "taken";
    /** Settles when every worker serves by it. Never rejects. */
    readonly applied: Promise<void>;
  }
  | { readonly kind: "refused"; readonly code: RefusalCode; readonly reason: string };

export interface ActiveSnapshotOptions extends GuardRules {
  /**
   * Puts a snapshot in force; settles when every worker serves by it. What it throws leaves the one
   * before in force.
   *
   * @param change What it differs in, and from which, where that is known.
   */
  readonly apply: (snapshot: Snapshot, change: SnapshotChange | null) => Promise<void>;
  /** Monotonic, in ms. */
  readonly now?: () => number;
}

export class ActiveSnapshot {
  readonly #options: ActiveSnapshotOptions;
  readonly #now: () => number;
  readonly #first = Promise.withResolvers<void>();
  /** What was taken last. */
  #current: Held | null = null;
  /** What every worker serves by, at least. */
  #applied: Held | null = null;
  /** How many were taken, and the how manyth of them `#applied` is. */
  #taken = 0;
  #appliedAs = 0;
  /** Of the last that it was asked of, since a file's takes a while. */
  #content: Content | null = null;

  constructor(options: ActiveSnapshotOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
  }

  /** Resolves once there is one. */
  get first(): Promise<void> {
    return this.#first.promise;
  }

  /** What was taken last, though a worker may not have it yet; null before the first. */
  get current(): InForce | null {
    return this.#current;
  }

  /** What every worker serves by; null before the first. Of it are those below. */
  get applied(): InForce | null {
    return this.#applied;
  }

  /** How long it has been in force, in ms; null before the first. */
  get age(): number | null {
    return this.#applied === null ? null : this.#now() - this.#applied.since;
  }

  get version(): SnapshotVersion | null {
    return this.#applied?.snapshot.version ?? null;
  }

  /** Content hash; null where nothing is in force, or what is has none. */
  get hash(): string | null {
    return this.#hashOf(this.#applied);
  }

  /** Null where nothing is in force, or it has parts of one name. */
  get content(): Content | null {
    return this.#contentOf(this.#applied);
  }

  /** What speaks against a file's snapshot now; null for nothing. */
  objectionToFile(snapshot: Snapshot): Objection | null {
    return this.#objectionTo({ snapshot, origin: "file", isWhole: true });
  }

  /**
   * Takes a snapshot of files that `objectionToFile` let pass: again when a file of its certificates
   * has changed, and not at all when the stream has brought something later meanwhile. Throws what
   * `apply` throws.
   */
  takeFile(snapshot: Snapshot): void {
    if (this.objectionToFile(snapshot) !== null) return;
    this.#apply(snapshot, null, "file", null);
  }

  /**
   * @param hash as the controller tells it.
   * @param change What it differs in from another that has come, in force or not; null where that is
   *   not known.
   */
  takeStream(
    snapshot: Snapshot,
    hash: string,
    isWhole: boolean,
    change: SnapshotChange | null = null,
  ): Verdict {
    const objection = this.#objectionTo({ snapshot, change, origin: "stream", isWhole });
    if (objection !== null) {
      return { kind: "refused", code: objection.code, reason: objection.problem.message };
    }
    if (this.#isInForce(this.#current, snapshot, hash)) {
      return { kind: "taken", applied: this.#current.applied };
    }
    try {
      return { kind: "taken", applied: this.#apply(snapshot, change, "stream", hash) };
    } catch (error) {
      const reason = `it could not be applied: ${error instanceof Error ? error.message : error}`;
      return { kind: "refused", code: "failed", reason };
    }
  }

  /** The same content under the same version: nothing would change. */
  #isInForce(current: Held | null, { version }: Snapshot, hash: string): current is Held {
    if (current === null || this.#hashOf(current) !== hash) return false;
    return compareVersions(version, current.snapshot.version) === "same";
  }

  #hashOf(held: Held | null): string | null {
    return held?.told ?? this.#contentOf(held)?.hash ?? null;
  }

  #contentOf(held: Held | null): Content | null {
    if (held === null) return null;
    if (this.#content?.snapshot === held.snapshot) return this.#content;
    try {
      this.#content = Content.of(held.snapshot, this.#content ?? undefined);
    } catch {
      return null;
    }
    return this.#content;
  }

  #objectionTo(offer: SnapshotOffer): Objection | null {
    return objectionTo(offer, this.#current, this.#options);
  }

  #apply(
    snapshot: Snapshot,
    change: SnapshotChange | null,
    origin: Origin,
    told: string | null,
  ): Promise<void> {
    const taken = ++this.#taken;
    const applied = this.#options.apply(snapshot, change).then(() => {
      // Whoever is slow with one may have had the next one meanwhile.
      if (taken > this.#appliedAs) this.#applied = held;
      this.#appliedAs = Math.max(taken, this.#appliedAs);
    });
    const held: Held = { snapshot, origin, since: this.#now(), told, applied };
    this.#current = held;
    this.#first.resolve();
    return applied;
  }
}
