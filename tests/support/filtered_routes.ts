/**
 * Snapshots whose routes have filters and policies, for tests. In: routes by their first segment.
 * Out: a snapshot for any host.
 */
import type {
  Action,
  FilterSet,
  FilterSpec,
  Policy,
  Route,
  Snapshot,
  Upstream,
} from "../../shared/snapshot/types.ts";

export interface RouteSpec {
  readonly filters?: readonly FilterSpec[];
  readonly policy?: Omit<Policy, "id">;
  readonly action?: Action;
}

/** The upstream of routes that name no other. */
export const WEB = "test/web:80";

export function upstreamTo(
  id: string,
  ports: readonly number[],
  protocol: Upstream["protocol"] = "http",
): Upstream {
  const endpoints = ports.map((port) => ({ address: "127.0.0.1", port }));
  return { id, protocol, addresses: { kind: "endpoints", endpoints } };
}

/** Each route has the paths below `/NAME`; `sets` are filter sets for backends. */
export function filteredSnapshot(
  routes: Readonly<Record<string, RouteSpec>>,
  upstreams: readonly Upstream[],
  sets: readonly FilterSet[] = [],
): Snapshot {
  const filterSets: FilterSet[] = [...sets];
  const policies: Policy[] = [];
  const made = Object.entries(routes).map(([name, { filters, policy, action }]): Route => {
    if (filters !== undefined) filterSets.push({ id: `filters of ${name}`, filters });
    if (policy !== undefined) policies.push({ id: `policy of ${name}`, ...policy });
    return {
      id: `* Prefix /${name}`,
      host: "*",
      match: { path: { type: "Prefix", value: `/${name}` } },
      action: action ?? { kind: "forward", backends: [{ upstream: WEB }] },
      ...(filters === undefined ? {} : { filterSet: `filters of ${name}` }),
      ...(policy === undefined ? {} : { policy: `policy of ${name}` }),
      origin: { kind: "Ingress", namespace: "test", name, field: "spec" },
    };
  });
  return {
    format: 2,
    version: { epoch: "test", seen: {} },
    routes: made,
    defaultAction: null,
    filterSets,
    policies,
    upstreams,
    certificates: [],
    defaultCertificate: null,
  };
}
