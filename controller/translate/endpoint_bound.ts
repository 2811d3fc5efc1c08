/**
 * How many endpoints one namespace may have served. In: upstreams, with all of their endpoints. Out:
 * the same, but those of a namespace over the bound have fewer, the largest first: an upstream that
 * takes half of a Service's pods still serves.
 *
 * Each port of a Service that Ingresses name is an upstream with all pods of the Service, so that a few
 * EndpointSlices may make millions of endpoints.
 */
import type { Upstream } from "../../shared/snapshot.ts";
import type { ProblemList } from "./problems.ts";

/** Some 45 MiB of a proxy of four workers. A cluster may have 5,000 nodes, and 150,000 pods. */
export const DEFAULT_NAMESPACE_ENDPOINTS = 20_000;

/** The very same list where no namespace is over the bound, and the same upstreams in it otherwise. */
export function withinEndpoints(
  upstreams: readonly Upstream[],
  bound: number,
  problems: ProblemList,
): readonly Upstream[] {
  const counts = new Map<string, number>();
  for (const upstream of upstreams) {
    const { namespace } = serviceOf(upstream);
    counts.set(namespace, (counts.get(namespace) ?? 0) + endpointsOf(upstream));
  }
  const levels = new Map<string, number>();
  for (const [namespace, count] of counts) {
    if (count <= bound) continue;
    const own = upstreams.filter((upstream) => serviceOf(upstream).namespace === namespace);
    levels.set(namespace, levelOf(own.map(endpointsOf), bound));
  }
  if (levels.size === 0) return upstreams;
  const reported = new Set<string>();
  return upstreams.map((upstream) => {
    const { namespace, service } = serviceOf(upstream);
    const level = levels.get(namespace);
    if (level === undefined || endpointsOf(upstream) <= level) return upstream;
    const key = `${namespace}/${service}`;
    if (!reported.has(key)) report(namespace, service, bound, problems);
    reported.add(key);
    return shortened(upstream, level);
  });
}

/** The number that each may have, so that all have no more than `bound` together. */
function levelOf(counts: readonly number[], bound: number): number {
  let left = bound;
  const sorted = counts.toSorted((a, b) => a - b);
  for (const [i, count] of sorted.entries()) {
    const share = Math.floor(left / (sorted.length - i));
    // One at least: they still serve then, and there are no more of them than routes.
    if (count > share) return Math.max(1, share);
    left -= count;
  }
  return bound;
}

const known = new WeakMap<Upstream, { readonly level: number; readonly upstream: Upstream }>();

/** Always the first by address: another choice would move connections with each pod that comes. */
function shortened(upstream: Upstream, level: number): Upstream {
  const before = known.get(upstream);
  if (before?.level === level) return before.upstream;
  const { addresses } = upstream;
  if (addresses.kind !== "endpoints") return upstream;
  const endpoints = addresses.endpoints.slice(0, level);
  const made = { ...upstream, addresses: { ...addresses, endpoints } };
  known.set(upstream, { level, upstream: made });
  return made;
}

function endpointsOf({ addresses }: Upstream): number {
  return addresses.kind === "endpoints" ? addresses.endpoints.length : 0;
}

/** See `Upstream.id`. */
function serviceOf({ id }: Upstream): { readonly namespace: string; readonly service: string } {
  const slash = id.indexOf("/");
  return { namespace: id.slice(0, slash), service: id.slice(slash + 1, id.indexOf(":", slash)) };
}

function report(namespace: string, service: string, bound: number, problems: ProblemList): void {
  problems.about({ kind: "Service", namespace, name: service }).error("", {
    reason: "EndpointsLeftOut",
    message:
      `the backends of namespace ${namespace} have more than ${bound} endpoints together, so ` +
      "some of this Service get no requests",
    remedy: "Name fewer ports of the Service in Ingresses, or raise --max-namespace-endpoints of " +
      "the controller",
  });
}
