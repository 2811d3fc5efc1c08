/**
 * Published routes of Ingresses that cannot be translated. In: the configuration without them, and what was
 * published. Out: the configuration with their published routes, and with what these need. Pure.
 */
import { requiredUsersOf } from "../../shared/credentials/credentials.ts";
import { upstreamsOf } from "../../shared/snapshot/forward_action.ts";
import type { ObjectRef } from "../../shared/problem.ts";
import type { FilterSet, Route, Snapshot } from "../../shared/snapshot/types.ts";
import { keyOf } from "../base/identity.ts";
import { compareText } from "../base/text_order.ts";
import { compareRoutes, mergeRoutes } from "../translate/routes/route_order.ts";
import { blockedClientsOf } from "../translate/routes/used_settings.ts";

/** @param ingresses Of the kept routes. */
export function withPublishedRoutes(
  snapshot: Snapshot,
  published: Snapshot | null,
  ingresses: readonly ObjectRef[],
): Snapshot {
  const names = new Set(ingresses.map(keyOf));
  const taken = new Set(snapshot.routes.map(({ id }) => id));
  const routes = (published?.routes ?? []).filter(({ id, origin }) =>
    origin.kind === "Ingress" && names.has(keyOf(origin)) && !taken.has(id)
  );
  return keep(snapshot, published, routes);
}

/** With routes that were published, and with what these need. */
function keep(snapshot: Snapshot, published: Snapshot | null, routes: readonly Route[]): Snapshot {
  if (published === null || routes.length === 0) return snapshot;
  const upstreams = new Map(snapshot.upstreams.map((upstream) => [upstream.id, upstream]));
  const before = new Map(published.upstreams.map((upstream) => [upstream.id, upstream]));
  const parts = keepSettings(snapshot, published, routes);
  const used = [
    ...routes.flatMap(({ action }) => upstreamsOf(action)),
    ...(parts.filterSets ?? []).flatMap(authenticatorsOf),
  ];
  for (const id of used) {
    const upstream = before.get(id);
    if (upstream !== undefined && !upstreams.has(id)) upstreams.set(id, upstream);
  }
  const hosts = new Set(routes.map(({ host }) => host));
  const covered = new Set(snapshot.certificates.flatMap((certificate) => certificate.hosts));
  const needed = new Set([...upstreams.values()].map(({ tls }) => tls?.clientCertificate));
  const ids = new Set(snapshot.certificates.map(({ id }) => id));
  const certificates = published.certificates.flatMap((certificate) => {
    if (ids.has(certificate.id)) return [];
    const kept = certificate.hosts.filter((host) => hosts.has(host) && !covered.has(host));
    return kept.length > 0 || needed.has(certificate.id) ? [{ ...certificate, hosts: kept }] : [];
  });
  const wildcards = new Set(certificates.flatMap((certificate) => certificate.hosts));
  const settled = new Set(snapshot.hostSettings?.map(({ id }) => id));
  // Those of kept routes, and of hosts below a wildcard of a kept certificate: without them, another
  // namespace's certificate would decide that the host is HTTPS only.
  const settings = (published.hostSettings ?? []).filter(({ id, aliasOf }) =>
    !settled.has(id) &&
    (hosts.has(aliasOf ?? id) || wildcards.has(`*${id.slice(id.indexOf("."))}`))
  );
  return {
    ...snapshot,
    ...parts,
    ...blockedClientsOf(snapshot.blockedClients ?? null, parts.filterSets ?? []),
    ...(settings.length === 0
      ? {}
      : { hostSettings: [...snapshot.hostSettings ?? [], ...settings].sort(byId) }),
    routes: mergeRoutes(
      [...snapshot.routes.filter(isOfIngress), ...routes].sort(compareRoutes),
      // In their order already, which their matches alone do not say.
      snapshot.routes.filter((route) => !isOfIngress(route)),
    ),
    upstreams: [...upstreams.values()].sort(byId),
    certificates: [...snapshot.certificates, ...certificates].sort(byId),
  };
}

function isOfIngress({ listeners }: Route): boolean {
  return listeners === undefined;
}

/** Ids of the upstreams that authenticate requests. */
function authenticatorsOf({ filters }: FilterSet): string[] {
  return filters.flatMap((filter) =>
    filter.kind === "access" ? filter.external?.upstream ?? [] : []
  );
}

/** The filter sets, policies and credentials of kept routes: without its filters a route is refused, or unprotected. */
function keepSettings(
  snapshot: Snapshot,
  published: Snapshot,
  routes: readonly Route[],
): Pick<Snapshot, "filterSets" | "policies" | "credentials"> {
  const used = new Set(routes.flatMap(({ filterSet, policy, action }) => [
    ...(filterSet === undefined ? [] : [filterSet]),
    ...(policy === undefined ? [] : [policy]),
    ...(action.kind === "forward"
      ? action.backends.flatMap(({ filterSet, policy }) => [filterSet ?? [], policy ?? []].flat())
      : []),
  ]));
  const filterSets = withUsed(snapshot.filterSets ?? [], published.filterSets ?? [], used);
  const policies = withUsed(snapshot.policies ?? [], published.policies ?? [], used);
  const named = new Set(
    filterSets.flatMap(({ filters }) => filters.flatMap((filter) => requiredUsersOf(filter) ?? [])),
  );
  const credentials = withUsed(snapshot.credentials ?? [], published.credentials ?? [], named);
  return {
    ...(filterSets.length === 0 ? {} : { filterSets }),
    ...(policies.length === 0 ? {} : { policies }),
    ...(credentials.length === 0 ? {} : { credentials }),
  };
}

function withUsed<T extends { readonly id: string }>(
  parts: readonly T[],
  before: readonly T[],
  used: ReadonlySet<string>,
): readonly T[] {
  const ids = new Set(parts.map(({ id }) => id));
  const kept = before.filter(({ id }) => used.has(id) && !ids.has(id));
  return kept.length === 0 ? parts : [...parts, ...kept].sort(byId);
}

function byId(a: { readonly id: string }, b: { readonly id: string }): number {
  return compareText(a.id, b.id);
}
