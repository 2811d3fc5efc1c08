/**
 * What differs between two snapshots. In: the one in force and the next, with their certificates.
 * Out: the hosts, upstreams and certificates that changed, and no others, so that a worker compiles
 * only those: taking in 10,000 routes at once would stall it for 16 to 31 ms.
 *
 * The pieces are compared by identity, then by their JSON, which is what made them. A delta is plain
 * data that can be posted to a worker, but for the keys of certificates, which `worker_protocol.ts`
 * wraps and unwraps.
 */
import { isSamePart } from "../../shared/snapshot/equality.ts";
import type {
  Action,
  Listener,
  Route,
  Snapshot,
  SnapshotVersion,
  Upstream,
} from "../../shared/snapshot/types.ts";
import { CertificateDiffer } from "../certificates/diff.ts";
import type { CertificateDelta } from "../certificates/store.ts";
import type { ServerCertificate } from "../certificates/store.ts";
import { RouteDiffer } from "./route_diff.ts";

export interface SnapshotDelta {
  readonly version: SnapshotVersion;
  /** All of them. */
  readonly listeners: readonly Listener[];
  /** Hosts whose routes changed, with all of their routes now, in order; none for a removed host. */
  readonly hosts: readonly HostRoutes[];
  readonly defaultAction: Action | null;
  /** New and changed ones. */
  readonly upstreams: readonly Upstream[];
  /** Ids. */
  readonly removedUpstreams: readonly string[];
  readonly certificates: CertificateDelta;
  readonly defaultCertificate: string | null;
  /** The published one; null for none. */
  readonly loopMark: string | null;
  /** Addresses and networks that no name may stand for. */
  readonly denied: readonly string[];
}

export interface HostRoutes {
  readonly host: string;
  readonly routes: readonly Route[];
}

const NO_LISTENERS: readonly Listener[] = [];
const NONE_DENIED: readonly string[] = [];

/** Compares each snapshot with the one before. */
export class SnapshotDiffer {
  readonly #routes = new RouteDiffer();
  #upstreams: readonly Upstream[] = [];
  #byId = new Map<string, Upstream>();
  readonly #certificates = new CertificateDiffer();

  /** What changed since the last call; everything at the first. */
  diff(snapshot: Snapshot, certificates: readonly ServerCertificate[]): SnapshotDelta {
    return {
      version: snapshot.version,
      listeners: snapshot.listeners ?? NO_LISTENERS,
      hosts: this.#routes.update(snapshot.routes).map(({ host, routes }) => ({ host, routes })),
      defaultAction: snapshot.defaultAction,
      ...this.#diffUpstreams(snapshot.upstreams),
      certificates: this.#certificates.diff(certificates),
      defaultCertificate: snapshot.defaultCertificate,
      loopMark: snapshot.loopMark ?? null,
      denied: snapshot.denied ?? NONE_DENIED,
    };
  }

  #diffUpstreams(
    upstreams: readonly Upstream[],
  ): Pick<SnapshotDelta, "upstreams" | "removedUpstreams"> {
    if (upstreams === this.#upstreams) return { upstreams: [], removedUpstreams: [] };
    const byId = new Map(upstreams.map((upstream) => [upstream.id, upstream]));
    // What came by a stream is the very same where it did not change; a file is read anew.
    const changed = upstreams.filter((one) => !isSamePart(this.#byId.get(one.id), one));
    const removed = [...this.#byId.keys()].filter((id) => !byId.has(id));
    this.#upstreams = upstreams;
    this.#byId = byId;
    return { upstreams: changed, removedUpstreams: removed };
  }
}
