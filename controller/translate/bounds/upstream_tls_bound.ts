/**
 * How much the authorities and client certificates of TLS to backends may take. In: what would be published, and what
 * was. Out: the same, with no more of them than all the rest leaves room for, or than their share: the largest
 * namespaces add nothing. Where they add, what was published stays, and an upstream without that gets no requests.
 *
 * Each upstream has its authorities in full: a namespace of ten thousand Services with one Secret of 256 KiB could
 * otherwise keep everything from being published, for all namespaces.
 */
import { clauseOf } from "../../../shared/problem.ts";
import type { Certificate, Snapshot, Upstream } from "../../../shared/snapshot/types.ts";
import { LastResult } from "../../base/memo.ts";
import { type ObjectProblem, ProblemList } from "../../base/problems.ts";
import { compareText } from "../../base/text_order.ts";
import { UPSTREAM_TLS } from "../annotations/own_annotation_names.ts";
import { describeFull } from "./cluster_bound.ts";
import {
  type ClusterBounds,
  fullOf,
  plus,
  type Resource,
  RESOURCES,
  Scale,
  type Size,
} from "./cluster_sizes.ts";
import { publishedGatewayParts } from "./gateway_tally.ts";
import { publishedParts } from "./namespace_parts.ts";
import {
  isLarge,
  namespaceOf,
  shownPairs,
  upstreamTlsParts,
  upstreamTlsSize,
} from "./upstream_tls_sizes.ts";

/** Of each limit, what they may take whatever else there is: the authorities of some fifty namespaces. */
const SHARE = 1 / 32;

interface Inputs {
  readonly snapshot: Snapshot;
  readonly published: Snapshot | null;
  readonly bounds: ClusterBounds;
}

interface Bounded extends Pick<Snapshot, "upstreams" | "certificates"> {
  readonly problems: readonly ObjectProblem[];
}

export class UpstreamTlsBound {
  readonly #last = new LastResult<Inputs, Bounded>();

  /** The very same snapshot where all of it fits. */
  apply(
    snapshot: Snapshot,
    published: Snapshot | null,
    bounds: ClusterBounds,
    problems: ProblemList,
  ): Snapshot {
    // Most clusters have none, and a scale counts all endpoints.
    if (!snapshot.upstreams.some(isLarge)) return snapshot;
    const scale = new Scale(snapshot, bounds);
    if (fullOf(scale.tls, times(scale.limits, SHARE)) === null) return snapshot;
    const bounded =
      this.#last.recall((last) =>
        last.published === published && last.bounds === bounds && isSame(last.snapshot, snapshot)
      ) ??
        this.#last.keep({ snapshot, published, bounds }, bound(snapshot, published, bounds, scale));
    problems.addAll(bounded.problems);
    const { upstreams, certificates } = bounded;
    return upstreams === snapshot.upstreams ? snapshot : { ...snapshot, upstreams, certificates };
  }
}

/** In what the room depends on. */
function isSame(a: Snapshot, b: Snapshot): boolean {
  return a.upstreams === b.upstreams && a.certificates === b.certificates &&
    a.routes === b.routes && a.listeners === b.listeners && a.filterSets === b.filterSets &&
    a.policies === b.policies;
}

function bound(
  snapshot: Snapshot,
  published: Snapshot | null,
  bounds: ClusterBounds,
  scale: Scale,
): Bounded {
  const problems = new ProblemList();
  const rest = [publishedParts(snapshot), publishedGatewayParts(snapshot)].reduce(
    (sum, parts) => plus(sum, scale.totalOf(parts), 1),
    scale.endpoints,
  );
  const limits = atLeast(plus(scale.limits, rest, -1), times(scale.limits, SHARE));
  const full = fullOf(scale.tls, limits);
  if (full === null) return { ...snapshot, problems: [] };
  const secured = Map.groupBy(snapshot.upstreams.filter(isLarge), namespaceOf);
  const ranked = Array.from(
    upstreamTlsParts(snapshot),
    ([namespace, parts]) => ({ namespace, size: scale.sizeOf(parts) }),
  ).sort((a, b) => b.size[full] - a.size[full] || compareText(a.namespace, b.namespace));
  const before = new PublishedUpstreams(published);
  const pairs = shownPairs(snapshot);
  const changed = new Map<string, Upstream>();
  let total = scale.tls;
  for (const { namespace, size } of ranked) {
    if (fullOf(total, limits) === null) break;
    const own = secured.get(namespace)!;
    const kept = own.map((each) =>
      upstreamTlsSize(each, pairs) <= before.sizeOf(each.id) ? each : before.withoutGrowth(each)
    );
    if (kept.every((each, i) => each === own[i])) continue;
    for (const [i, each] of kept.entries()) {
      if (each === own[i]) continue;
      changed.set(each.id, each);
      report(each, full, bounds, problems);
    }
    const certificates = [...snapshot.certificates, ...before.pairs.values()];
    const parts = upstreamTlsParts({ upstreams: kept, certificates }).get(namespace);
    total = plus(total, size, -1);
    if (parts !== undefined) total = plus(total, scale.sizeOf(parts), 1);
  }
  const upstreams = snapshot.upstreams.map((each) => changed.get(each.id) ?? each);
  return {
    upstreams,
    certificates: certificatesFor(upstreams, snapshot, before),
    problems: problems.inOrder(),
  };
}

class PublishedUpstreams {
  readonly #byId: ReadonlyMap<string, Upstream>;
  /** Certificates that they show, by id. */
  readonly pairs: ReturnType<typeof shownPairs>;

  constructor(published: Snapshot | null) {
    const secured = (published?.upstreams ?? []).filter(isLarge);
    this.#byId = new Map(secured.map((each) => [each.id, each]));
    const shown = published?.certificates ?? [];
    // One that had a host until now is shown all the same.
    const certificates = shown.map(({ plain: _, ...each }) => ({ ...each, hosts: [] }));
    this.pairs = shownPairs({ upstreams: secured, certificates });
  }

  sizeOf(id: string): number {
    const upstream = this.#byId.get(id);
    return upstream === undefined ? 0 : upstreamTlsSize(upstream, this.pairs);
  }

  /** With what was published in place of its own; without endpoints where there is nothing in its place. */
  withoutGrowth({ tls, ...upstream }: Upstream): Upstream {
    const { ca, clientCertificate, ...settings } = tls!;
    const before = this.#byId.get(upstream.id)?.tls;
    const isKept = (ca === undefined || before?.ca !== undefined) &&
      (clientCertificate === undefined || this.pairs.has(before?.clientCertificate ?? ""));
    if (!isKept) {
      return { ...upstream, tls: settings, addresses: { kind: "endpoints", endpoints: [] } };
    }
    return {
      ...upstream,
      tls: {
        ...settings,
        ...(ca === undefined ? {} : { ca: before?.ca }),
        ...(clientCertificate === undefined
          ? {}
          : { clientCertificate: before?.clientCertificate }),
      },
    };
  }
}

/** Those of the snapshot that are still of use, and those that stay. */
function certificatesFor(
  upstreams: readonly Upstream[],
  { upstreams: before, certificates, listeners = [], defaultCertificate }: Snapshot,
  { pairs }: PublishedUpstreams,
): readonly Certificate[] {
  const idsOf = (list: readonly Upstream[]) =>
    new Set(list.flatMap(({ tls }) => tls?.clientCertificate ?? []));
  const shown = idsOf(upstreams);
  const others = new Set(listeners.flatMap((each) => each.certificates ?? []));
  if (defaultCertificate !== null) others.add(defaultCertificate);
  const unused = idsOf(before).difference(shown).difference(others);
  const own = certificates.filter(({ id, hosts }) => hosts.length > 0 || !unused.has(id));
  const known = new Set(own.map(({ id }) => id));
  const kept = [...shown].filter((id) => !known.has(id)).flatMap((id) => pairs.get(id) ?? []);
  return [...own, ...kept].sort((a, b) => compareText(a.id, b.id));
}

function report(
  { id, tls, addresses }: Upstream,
  full: Resource,
  bounds: ClusterBounds,
  problems: ProblemList,
): void {
  const [what, remedy] = describeFull(full, bounds);
  const [, namespace, name] = /^([^/]+)\/([^:]+)/.exec(id) ?? [];
  if (name === undefined) return;
  const isClosed = !isLarge({ id, tls, addresses, protocol: "https" });
  // An Ingress may name them, too.
  const field = id.includes("+") ? "" : `metadata.annotations[${JSON.stringify(UPSTREAM_TLS.ca)}]`;
  problems.about({ kind: "Service", namespace, name }).error(field, {
    reason: "ClusterLimitExceeded",
    message:
      `with the CA and client certificate for upstream ${id} the configuration would take more than ` +
      `${what}, and the largest namespaces add nothing to that, so ` +
      (isClosed ? "requests get 503" : "the published ones stay in use"),
    remedy: "Write only the CA that issues the certificates of the backend into ca.crt, or " +
      clauseOf(remedy),
  });
}

function times(size: Size, factor: number): Size {
  return sizeBy((resource) => size[resource] * factor);
}

function atLeast(a: Size, b: Size): Size {
  return sizeBy((resource) => Math.max(a[resource], b[resource]));
}

function sizeBy(read: (resource: Resource) => number): Size {
  return Object.fromEntries(RESOURCES.map((each) => [each, read(each)])) as unknown as Size;
}
