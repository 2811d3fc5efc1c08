/**
 * How many endpoints one namespace may have served, and all of them. In: the upstreams that Ingresses
 * and HTTPRoutes name, and which endpoints each would have. Out: how many each may have, where they are too many:
 * the largest namespaces get fewer, and in them the largest upstreams, since an upstream of half of a
 * Service's pods still serves. Before that they lose the zones of their endpoints.
 *
 * Numbers are of ordinary endpoints: one with an IPv6 address or many long names of zones is several of them.
 *
 * Each port of a Service that these name is an upstream with all pods of the Service, so that a few
 * EndpointSlices may make millions of endpoints, in proxies and before that in the controller.
 */
import type { ProblemList } from "../../base/problems.ts";
import {
  differentCharacters,
  type EndpointTally,
  RANDOM,
  USUAL_ENDPOINT,
} from "../model/endpoint_sizes.ts";
import type { ServiceModel } from "./service.ts";

export interface EndpointBound {
  /** Ids of upstreams, by namespace. */
  readonly upstreams: ReadonlyMap<string, ReadonlySet<string>>;
  /** Of all upstreams of a namespace. */
  readonly endpoints: number;
  /** Of all namespaces together. */
  readonly cluster: number;
}

/** With the upstreams of each namespace for these Services, by `namespace/name`. */
export interface NamedBound extends Omit<EndpointBound, "upstreams"> {
  upstreams(services: ReadonlyMap<string, ServiceModel>): EndpointBound["upstreams"];
}

/** Some 45 MiB of a proxy of four workers. A cluster may have 5,000 nodes, and 150,000 pods. */
export const DEFAULT_NAMESPACE_ENDPOINTS = 20_000;

interface KnownDemand {
  /** What it was counted of. */
  readonly ids: ReadonlySet<string>;
  readonly demand: Demand;
}

/** Remembers what each namespace has from one translation to the next. */
export class EndpointLimiter {
  /** By namespace. */
  readonly #known = new Map<string, KnownDemand>();

  /**
   * Endpoints that each upstream may have, of the namespaces that are over the bound; those have no zones.
   *
   * @param endpointsOf Of the Service with this key.
   * @param changed Keys of the Services of which the number may differ from last time; null for all.
   */
  limits(
    bound: EndpointBound,
    endpointsOf: (service: string) => EndpointTally,
    changed: ReadonlySet<string> | null,
    problems: ProblemList,
  ): ReadonlyMap<string, number> {
    if (changed === null) this.#known.clear();
    for (const service of changed ?? []) {
      this.#known.delete(service.slice(0, service.indexOf("/")));
    }
    const demands = Array.from(bound.upstreams, ([namespace, ids]) => {
      let known = this.#known.get(namespace);
      if (known === undefined || known.ids !== ids) {
        known = { ids, demand: demandOf(namespace, ids, endpointsOf) };
        this.#known.set(namespace, known);
      }
      return known.demand;
    });
    for (const namespace of this.#known.size > demands.length ? this.#known.keys() : []) {
      if (!bound.upstreams.has(namespace)) this.#known.delete(namespace);
    }
    return limitsOf(demands, bound, problems);
  }
}

function limitsOf(
  demands: readonly Demand[],
  { endpoints, cluster }: EndpointBound,
  problems: ProblemList,
): ReadonlyMap<string, number> {
  const limits = new Map<string, number>();
  const wanted = demands.map(({ total }) => Math.min(total, endpoints));
  const isFull = wanted.reduce((sum, count) => sum + count, 0) > cluster;
  const share = isFull ? coarse(limitOf(wanted, cluster)) : endpoints;
  const bound = Math.min(share, endpoints);
  for (const { namespace, counts, total } of demands) {
    if (total <= bound) continue;
    const limit = limitOf(
      counts.flatMap(({ count, times }) => Array<number>(times).fill(count)),
      bound,
    );
    limits.set(namespace, limit);
    const most = share < endpoints ? null : endpoints;
    for (const { service, count, hasZones } of counts) {
      if (count > limit) report(namespace, service, most, "some", problems);
      else if (hasZones) report(namespace, service, most, "zones", problems);
    }
  }
  return limits;
}

/** What the upstreams of one namespace would have. */
interface Demand {
  readonly namespace: string;
  /** `times` is the number of its ports that are named. */
  readonly counts: readonly {
    readonly service: string;
    readonly times: number;
    /** Without zones. */
    readonly count: number;
    readonly hasZones: boolean;
  }[];
  /** With zones. */
  readonly total: number;
}

function demandOf(
  namespace: string,
  ids: ReadonlySet<string>,
  endpointsOf: (service: string) => EndpointTally,
): Demand {
  const ports = new Map<string, number>();
  for (const id of ids) {
    const service = id.slice(0, id.lastIndexOf(":"));
    ports.set(service, (ports.get(service) ?? 0) + 1);
  }
  const names = new Set<string>();
  const tallies = Array.from(ports, ([service, times]) => {
    const tally = endpointsOf(service);
    for (const name of tally.names) names.add(name);
    return { service, times, tally };
  });
  const different = differentCharacters(names);
  let total = Math.ceil(different * RANDOM / USUAL_ENDPOINT.packed);
  const counts = tallies.map(({ service, times, tally }) => {
    total += tally.units(different) * times;
    return { service, times, count: tally.plain, hasZones: tally.names.size > 0 };
  });
  return { namespace, counts, total };
}

/**
 * At most an eighth less: or one pod of a small namespace would change the backends of all large ones.
 */
function coarse(level: number): number {
  const step = 2 ** Math.max(0, Math.floor(Math.log2(level)) - 3);
  return Math.floor(level / step) * step;
}

/** The number that each may have, so that all have no more than `bound` together. */
function limitOf(counts: readonly number[], bound: number): number {
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

/**
 * @param bound Of the namespace; null where it is that of all of them.
 * @param lost What of the Service is not published: some of its endpoints, or their zones.
 */
function report(
  namespace: string,
  service: string,
  bound: number | null,
  lost: "some" | "zones",
  problems: ProblemList,
): void {
  const name = service.slice(namespace.length + 1);
  const [message, remedy] = bound === null
    ? [
      "all namespaces together have more endpoints than the memory of the proxies or the " +
      `configuration holds, and namespace ${namespace} is among those with the most`,
      "raise the memory limit of the proxies (--proxy-pod-template)",
    ]
    : [
      `the backends of namespace ${namespace} have more than ${bound} endpoints together`,
      "raise --max-namespace-endpoints of the controller",
    ];
  const about = problems.about({ kind: "Service", namespace, name });
  const add = lost === "some" ? about.error : about.warning;
  add("", {
    reason: "EndpointLimitExceeded",
    message: lost === "some"
      ? `${message}, so some of this Service get no requests`
      : `${message}, so those of this Service are used by proxies of all zones`,
    remedy: `Name fewer ports of the Service in Ingresses and HTTPRoutes, or ${remedy}`,
  });
}
