/**
 * What differs between two snapshots. In: the one in force and the next, with their certificates.
 * Out: the hosts, upstreams and certificates that changed, and no others, so that a worker compiles
 * only those: taking in 10,000 routes at once would stall it for 16 to 31 ms.
 *
 * The pieces are compared by their JSON, which is what made them. A delta is plain data that can be
 * posted to a worker, but for the keys of certificates, which `worker_protocol.ts` wraps and unwraps.
 */
import type { Action, Route, Snapshot, SnapshotVersion, Upstream } from "../shared/snapshot.ts";
import { type CertificateDelta, CertificateDiffer } from "./certificate_delta.ts";
import type { ServerCertificate } from "./certificates.ts";
import { answerUnspoken } from "./unspoken_protocols.ts";

export interface SnapshotDelta {
  readonly version: SnapshotVersion;
  /** Hosts whose routes changed, with all of their routes now, in order; none for a removed host. */
  readonly hosts: readonly HostRoutes[];
  readonly defaultAction: Action | null;
  /** New and changed ones. */
  readonly upstreams: readonly Upstream[];
  /** Ids. */
  readonly removedUpstreams: readonly string[];
  readonly certificates: CertificateDelta;
  readonly defaultCertificate: string | null;
}

export interface HostRoutes {
  readonly host: string;
  readonly routes: readonly Route[];
}

/** Compares each snapshot with the one before. */
export class SnapshotDiffer {
  /** The routes of each host, and each upstream, as JSON. */
  #hosts = new Map<string, string>();
  #upstreams = new Map<string, string>();
  readonly #certificates = new CertificateDiffer();

  /** What changed since the last call; everything at the first. */
  diff(next: Snapshot, certificates: readonly ServerCertificate[]): SnapshotDelta {
    const { snapshot } = answerUnspoken(next);
    const grouped = Map.groupBy(snapshot.routes, (route) => route.host);
    const hosts = new Map<string, string>();
    const changedHosts: HostRoutes[] = [];
    for (const [host, routes] of grouped) {
      const json = JSON.stringify(routes);
      hosts.set(host, json);
      if (this.#hosts.get(host) !== json) changedHosts.push({ host, routes });
    }
    for (const host of this.#hosts.keys()) {
      if (!hosts.has(host)) changedHosts.push({ host, routes: [] });
    }
    const upstreams = new Map<string, string>();
    const changedUpstreams: Upstream[] = [];
    for (const upstream of snapshot.upstreams) {
      const json = JSON.stringify(upstream);
      upstreams.set(upstream.id, json);
      if (this.#upstreams.get(upstream.id) !== json) changedUpstreams.push(upstream);
    }
    const removedUpstreams = [...this.#upstreams.keys()].filter((id) => !upstreams.has(id));
    this.#hosts = hosts;
    this.#upstreams = upstreams;
    return {
      version: snapshot.version,
      hosts: changedHosts,
      defaultAction: snapshot.defaultAction,
      upstreams: changedUpstreams,
      removedUpstreams,
      certificates: this.#certificates.diff(certificates),
      defaultCertificate: snapshot.defaultCertificate,
    };
  }
}
