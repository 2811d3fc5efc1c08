/**
 * When the configuration is published. In: what all objects come to, and what stands in the API
 * server. Out: calls of the publisher for what differs, at the right moment: a change of endpoints
 * alone waits for its turn.
 */
import { isSamePart } from "../../../shared/snapshot/equality.ts";
import { formatObject, type ObjectRef, type Problem } from "../../../shared/problem.ts";
import type { Snapshot, Upstream } from "../../../shared/snapshot/types.ts";
import { compareVersions } from "../../../shared/snapshot/version_order.ts";
import { isMissingPermission } from "../../kube/refusals.ts";
import type { ApiError } from "../../kube/types.ts";
import { DONE, type JobOutcome } from "../write/job.ts";
import { type Publisher, type PublishResult } from "./publisher.ts";
import { sameButEndpoints } from "./content.ts";
import type { PublishedState, Reconciliation } from "../../reconcile/reconciler.ts";
import { isSameList } from "../../base/memo.ts";

export interface PublicationOptions {
  readonly publisher: Pick<Publisher, "sync" | "remove" | "reset"> & {
    published(): PublishedState;
  };
  /** Milliseconds between two writes of nothing but endpoints. */
  readonly endpointInterval: number;
  /** A result is older than what another replica has published since: all is to be translated anew. */
  readonly onStale: () => void;
  /** Milliseconds that never go back. */
  readonly now: () => number;
}

export class Publication {
  readonly #options: PublicationOptions;
  /** What was written last, while we lead. */
  #written: Snapshot | null = null;
  /** Of what was written: somebody may have put another in its place. */
  #writtenDigest: string | null = null;
  #writtenAt = -Infinity;
  #publishedAt: number | null = null;
  #problems: readonly Problem[] = [];
  #isDenied = false;
  #bytes: Readonly<Record<"ConfigMap" | "Secret", number>> = { ConfigMap: 0, Secret: 0 };

  constructor(options: PublicationOptions) {
    this.#options = options;
  }

  /** That it does not fit, or soon will not, or that a permission is missing. */
  get problems(): readonly Problem[] {
    return this.#problems;
  }

  /** Whether RBAC denied a write since the last one that succeeded. */
  get isDenied(): boolean {
    return this.#isDenied;
  }

  /** Of what was published last, by kind. */
  get bytes(): Readonly<Record<"ConfigMap" | "Secret", number>> {
    return this.#bytes;
  }

  /** When another content was published, in ms since the epoch; null before. */
  get publishedAt(): number | null {
    return this.#publishedAt;
  }

  published(): PublishedState {
    return this.#options.publisher.published();
  }

  /** Another one may have written since. */
  forget(): void {
    this.#written = null;
    this.#writtenAt = -Infinity;
    this.#problems = [];
    this.#isDenied = false;
    this.#options.publisher.reset();
  }

  /** To be run by whoever may write. */
  async run(result: Reconciliation | null): Promise<JobOutcome> {
    if (result === null || result.behind.length > 0) return DONE;
    const { publisher, endpointInterval, now } = this.#options;
    const before = publisher.published();
    // Where no Ingress was ever served, nothing is to be made for none.
    if (result.served === 0 && before.version === null) return DONE;
    if (isStale(result.snapshot, before)) {
      this.#options.onStale();
      return DONE;
    }
    const wait = this.#writtenAt + endpointInterval - now();
    if (wait > 0 && before.digest !== null && this.#isEndpointsOnly(before, result.snapshot)) {
      return { kind: "again", after: wait };
    }
    const published = await publisher.sync(result.snapshot);
    // What was put back, proxies may have had all along.
    const known = [before.digest, this.#writtenDigest];
    if (published.ok && published.written.length > 0 && !known.includes(published.digest)) {
      this.#publishedAt = Date.now();
    }
    return this.#outcome(published, result.snapshot);
  }

  /** Takes it away; null, or why that failed. */
  async remove(): Promise<string | null> {
    this.forget();
    const result = await this.#options.publisher.remove();
    if (result.ok || result.kind === "stopped") return null;
    return result.kind === "too-large" ? result.problem.message : result.error.message;
  }

  /** Neither routes nor certificates differ from what stands there. */
  #isEndpointsOnly(before: PublishedState, next: Snapshot): boolean {
    const written = this.#written;
    if (written !== null && before.digest === this.#writtenDigest) {
      return isAlikeButEndpoints(written, next);
    }
    return before.snapshot !== null && sameButEndpoints(before.snapshot, next);
  }

  #outcome(result: PublishResult, snapshot: Snapshot): JobOutcome {
    if (!result.ok) {
      if (result.kind === "stopped") return DONE;
      if (result.kind === "too-large") {
        this.#problems = [result.problem];
        return { kind: "failed", reason: result.problem.message };
      }
      const { object, error } = result;
      const reason = `${formatObject(object)}: ${error.message}`;
      if (isMissingPermission(error)) {
        this.#isDenied = true;
        this.#problems = [deniedProblem(object, error)];
      }
      return { kind: "failed", reason, retryAfter: error.retryAfter };
    }
    this.#problems = result.warnings;
    this.#isDenied = false;
    this.#written = snapshot;
    this.#writtenDigest = result.digest;
    if (result.written.length > 0) this.#writtenAt = this.#options.now();
    const sum = (wanted: string) =>
      result.sizes.reduce((total, { kind, bytes }) => total + (kind === wanted ? bytes : 0), 0);
    this.#bytes = { ConfigMap: sum("ConfigMap"), Secret: sum("Secret") };
    return result.again === null ? DONE : { kind: "again", after: result.again };
  }
}

/** After an upgrade of the controller alone: a version may publish in objects with other names. */
function deniedProblem(object: ObjectRef, error: ApiError): Problem {
  return {
    object: null,
    field: "",
    reason: "ConfigurationNotPublished",
    message:
      `the configuration cannot be published in ${formatObject(object)} (${error.message}), ` +
      "so the last published configuration stays active, and a proxy that starts without the stream uses that",
    remedy: "Apply the manifests of this version, which grant create, patch and delete on it",
    severity: "error",
  };
}

/**
 * Translated before what is published was seen here: by a leader that was one before, or was frozen.
 * A translation keeps a published mark, so that another one says the same under any version.
 */
function isStale(next: Snapshot, { version, snapshot }: PublishedState): boolean {
  if (version === null) return false;
  const order = compareVersions(next.version, version);
  const mark = snapshot?.loopMark;
  return order === "older" || order === "mixed" || (mark !== undefined && mark !== next.loopMark);
}

/**
 * By identity, which `translate` keeps for what has not changed: false may mean only that it cannot
 * be told cheaply, and then it is written at once.
 */
function isAlikeButEndpoints(a: Snapshot, b: Snapshot): boolean {
  return isSameList(a.routes, b.routes) && isSameList(a.certificates, b.certificates) &&
    isSameList(a.listeners ?? [], b.listeners ?? []) &&
    isSameList(a.hostSettings ?? [], b.hostSettings ?? []) &&
    isSameList(a.filterSets ?? [], b.filterSets ?? []) &&
    isSameList(a.policies ?? [], b.policies ?? []) &&
    isSameList(a.credentials ?? [], b.credentials ?? []) &&
    a.defaultCertificate === b.defaultCertificate && a.loopMark === b.loopMark &&
    isSameList(a.denied ?? [], b.denied ?? []) &&
    isSameList(a.trustedProxies ?? [], b.trustedProxies ?? []) &&
    isSamePart(a.blockedClients, b.blockedClients) &&
    isSamePart(a.globalConfig, b.globalConfig) &&
    isSamePart(a.defaultAction, b.defaultAction) &&
    a.upstreams.length === b.upstreams.length &&
    a.upstreams.every((upstream, index) => isAlike(upstream, b.upstreams[index]));
}

function isAlike(a: Upstream, b: Upstream): boolean {
  if (a === b) return true;
  if (a.addresses.kind !== "endpoints" || b.addresses.kind !== "endpoints") return false;
  return isSamePart({ ...a, addresses: b.addresses }, b);
}
