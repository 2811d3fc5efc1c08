/**
 * How much the authorities and client certificates of TLS to backends may take. In: what would be published, and what
 * was. Out: the same, with no more of them than all the rest leaves room for, or than their share: the largest
 * namespaces add nothing, nor does one with more than its share. Where they add, what was published stays
 * (`held_upstream_tls.ts`), and an upstream without that gets no requests.
 *
 * Each upstream has its authorities in full: a namespace of ten thousand Services with one Secret of 256 KiB could
 * otherwise keep everything from being published, for all namespaces.
 */
import { clauseOf } from "../../../shared/problem.ts";
import type { Certificate, Snapshot, Upstream } from "../../../shared/snapshot/types.ts";
import { LastResult } from "../../base/memo.ts";
import { type ObjectProblem, ProblemList } from "../../base/problems.ts";
import { compareText } from "../../base/text_order.ts";
import { fieldOfOwnAnnotation, UPSTREAM_TLS } from "../annotations/own_annotation_names.ts";
import { describeFull } from "./cluster_bound.ts";
import {
  type ClusterBounds,
  fullOf,
  NO_SIZE,
  plus,
  type Resource,
  RESOURCES,
  Scale,
  type Size,
} from "./cluster_sizes.ts";
import { publishedGatewayParts } from "./gateway_tally.ts";
import { publishedParts } from "./namespace_parts.ts";
import { CommonAuthorities } from "./common_authorities.ts";
import {
  type Held,
  type HeldUpstream,
  PublishedUpstreamTls,
  withPublished,
} from "./held_upstream_tls.ts";
import { isLarge, namespaceOf, upstreamTlsParts } from "./upstream_tls_sizes.ts";

/** Of each limit, what they may take whatever else there is: the authorities of some fifty namespaces. */
const SHARE = 1 / 32;

/**
 * Of each limit, what one namespace may take however much room there is. By thirty Services that name a Secret of
 * 256 KiB, one namespace could otherwise have all of it, and Ingresses of others could add nothing.
 */
const NAMESPACE_SHARE = 1 / 2;

/**
 * Of each limit, from where on nothing can be published for anybody: limits are some 15 % below what there is. Past
 * that, what has been published is no reason to stay for what takes more than it did.
 */
const CAPACITY = 1.15;

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
  readonly #authorities = new CommonAuthorities();

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
        this.#last.keep(
          { snapshot, published, bounds },
          bound({ snapshot, published, bounds }, scale, this.#authorities),
        );
    problems.addAll(bounded.problems);
    const { upstreams, certificates } = bounded;
    return upstreams === snapshot.upstreams ? snapshot : { ...snapshot, upstreams, certificates };
  }
}

/** In what the room depends on. */
function isSame(a: Snapshot, b: Snapshot): boolean {
  return a.upstreams === b.upstreams && a.certificates === b.certificates &&
    a.routes === b.routes && a.listeners === b.listeners && a.filterSets === b.filterSets &&
    a.policies === b.policies && a.defaultCertificate === b.defaultCertificate;
}

function bound(
  { snapshot, published, bounds }: Inputs,
  scale: Scale,
  authorities: CommonAuthorities,
): Bounded {
  const problems = new ProblemList();
  const rest = [publishedParts(snapshot), publishedGatewayParts(snapshot)].reduce(
    (sum, parts) => plus(sum, scale.totalOf(parts), 1),
    scale.endpoints,
  );
  const limits = atLeast(plus(scale.limits, rest, -1), times(scale.limits, SHARE));
  const ofNamespace = times(scale.limits, NAMESPACE_SHARE);
  const full = fullOf(scale.tls, limits);
  const sizes = Array.from(
    upstreamTlsParts(snapshot),
    ([namespace, parts]) => ({ namespace, size: scale.sizeOf(parts) }),
  );
  if (full === null && sizes.every(({ size }) => fullOf(size, ofNamespace) === null)) {
    return { ...snapshot, problems: [] };
  }
  const byNamespace = Map.groupBy(snapshot.upstreams, namespaceOf);
  const ranked = sizes.sort((a, b) =>
    (full === null ? 0 : b.size[full] - a.size[full]) || compareText(a.namespace, b.namespace)
  );
  const before = new PublishedUpstreamTls(published, authorities);
  const certificates = withPublished(snapshot.certificates, before);
  const changed = new Map<string, { readonly held: HeldUpstream; readonly excess: Excess }>();
  let total = scale.tls;
  const replace = (size: Size, own: readonly HeldUpstream[], excess: Excess) => {
    for (const held of own) {
      if (held.held.length > 0) changed.set(held.upstream.id, { held, excess });
    }
    const [parts] = upstreamTlsParts({ upstreams: own.map(upstreamOf), certificates }).values();
    const now = parts === undefined ? NO_SIZE : scale.sizeOf(parts);
    total = plus(plus(total, size, -1), now, 1);
    return now;
  };
  const crowded = ranked.flatMap(({ namespace, size }) => {
    const ofAll = fullOf(total, limits);
    const resource = ofAll ?? fullOf(size, ofNamespace);
    if (resource === null) return [];
    const own = before.withoutGrowth(byNamespace.get(namespace)!, snapshot.certificates);
    const excess = { resource, isShare: ofAll === null };
    return [{ own, size: replace(size, own, excess), excess }];
  });
  const capacity = atLeast(
    plus(times(scale.limits, CAPACITY), rest, -1),
    times(scale.limits, SHARE),
  );
  for (const { own, size, excess } of crowded) {
    if (fullOf(total, capacity) === null) break;
    replace(size, before.withinPublished(own, snapshot.certificates), excess);
  }
  for (const { held, excess } of changed.values()) report(held, excess, bounds, problems);
  const upstreams = snapshot.upstreams.map((each) => changed.get(each.id)?.held.upstream ?? each);
  return {
    upstreams,
    certificates: certificatesFor(upstreams, snapshot, before),
    problems: problems.inOrder(),
  };
}

/** What there is not enough of. */
interface Excess {
  readonly resource: Resource;
  /** For one namespace, and not for all. */
  readonly isShare: boolean;
}

function upstreamOf({ upstream }: HeldUpstream): Upstream {
  return upstream;
}

/** Those of the snapshot that are still of use, and those that stay. */
function certificatesFor(
  upstreams: readonly Upstream[],
  { upstreams: before, certificates, listeners = [], defaultCertificate }: Snapshot,
  { pairs }: PublishedUpstreamTls,
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
  { upstream, held }: HeldUpstream,
  { resource, isShare }: Excess,
  bounds: ClusterBounds,
  problems: ProblemList,
): void {
  const { id } = upstream;
  const [what, remedy] = describeFull(resource, bounds);
  const [, namespace, name] = /^([^/]+)\/([^:]+)/.exec(id) ?? [];
  if (name === undefined) return;
  const [first] = held;
  // An Ingress may name them, too.
  const field = id.includes("+") ? "" : fieldOfOwnAnnotation(UPSTREAM_TLS[first]);
  const excess = isShare
    ? `namespace ${namespace} would take more than half of what ${what}`
    : `the configuration would take more than ${what}, and the largest namespaces add nothing to that`;
  const names = held.map((each) => NAMES[each]).join(" and ");
  const consequence = isLarge(upstream) ? "the published ones stay in use" : "requests get 503";
  problems.about({ kind: "Service", namespace, name }).error(field, {
    reason: "ClusterLimitExceeded",
    message: `with the ${names} for upstream ${id} ${excess}, so ${consequence}`,
    remedy: `${REMEDIES[first]}, or ${clauseOf(remedy)}`,
  });
}

const NAMES: Readonly<Record<Held, string>> = {
  ca: "CA",
  clientCertificate: "client certificate",
};

const REMEDIES: Readonly<Record<Held, string>> = {
  ca: "Write only the CA that issues the certificates of the backend into ca.crt",
  clientCertificate: "Write only the certificates that the backend needs into tls.crt",
};

function times(size: Size, factor: number): Size {
  return sizeBy((resource) => size[resource] * factor);
}

function atLeast(a: Size, b: Size): Size {
  return sizeBy((resource) => Math.max(a[resource], b[resource]));
}

function sizeBy(read: (resource: Resource) => number): Size {
  return Object.fromEntries(RESOURCES.map((each) => [each, read(each)])) as unknown as Size;
}
