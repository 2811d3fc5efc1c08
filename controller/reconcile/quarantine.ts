/**
 * Translation that one object cannot stop. In: what `translate` takes. Out: what it gives; where it
 * fails on an object, that one alone is left out, its published configuration stays active, and a problem says
 * so. `translate` is not known to throw, and this is why nobody has to trust that.
 */
import { upstreamsOf } from "../../shared/snapshot/forward_action.ts";
import type { ObjectRef, Problem } from "../../shared/problem.ts";
import type { FilterSet, Route, Snapshot } from "../../shared/snapshot/types.ts";
import type { Ingress, Resources } from "../kube/resources.ts";
import type { Clock, TranslateOptions, Translation } from "../translate/translator.ts";
import { compareRoutes, mergeRoutes } from "../translate/routes/route_order.ts";
import { blockedClientsOf } from "../translate/routes/used_settings.ts";
import { compareText } from "../base/text_order.ts";

export type Translate = (
  resources: Resources,
  published: Snapshot | null,
  options: TranslateOptions,
  clock: Clock,
) => Translation;

/** Translations, while those are looked for that fail; some ten are found among ten thousand. */
const MAX_ATTEMPTS = 300;

/** Null where not even the rest can be translated: then what is published stays as it is. */
export function translateOrQuarantine(
  translate: Translate,
  resources: Resources,
  published: Snapshot | null,
  options: TranslateOptions,
  clock: Clock,
): Translation | null {
  try {
    return translate(resources, published, options, clock);
  } catch {
    // Looked for below: who is at fault is known only by trying without the others.
  }
  const failures = failuresAmong(
    resources.ingresses,
    (ingresses) => translate({ ...resources, ingresses }, published, options, clock),
  );
  if (failures === null || failures.size === 0) return null;
  const ingresses = resources.ingresses.filter((ingress) => !failures.has(ingress));
  // Nobody else becomes the owner of a host because of that.
  const keptNamespaces = new Set([...failures.keys()].map((ingress) => refOf(ingress).namespace));
  try {
    const keeping = { ...options, keptNamespaces };
    const rest = translate({ ...resources, ingresses }, published, keeping, clock);
    return withKept(rest, published, failures);
  } catch {
    return null;
  }
}

/**
 * Those that cannot be translated even alone, and why; null where they are too many to find. By
 * halves: to try each of thousands would take minutes, in which no lease is renewed.
 */
function failuresAmong(
  ingresses: readonly Ingress[],
  attempt: (ingresses: readonly Ingress[]) => unknown,
): Map<Ingress, string> | null {
  const failures = new Map<Ingress, string>();
  // Nothing is known of these but that together they fail.
  const suspects = [ingresses];
  for (let attempts = 0; suspects.length > 0; attempts++) {
    if (attempts === MAX_ATTEMPTS) return null;
    const some = suspects.pop()!;
    try {
      attempt(some);
      continue;
    } catch (error) {
      if (some.length === 0) return null;
      if (some.length === 1) {
        failures.set(some[0], error instanceof Error ? error.message : String(error));
        continue;
      }
    }
    const middle = Math.ceil(some.length / 2);
    suspects.push(some.slice(middle), some.slice(0, middle));
  }
  return failures;
}

function withKept(
  rest: Translation,
  published: Snapshot | null,
  failures: ReadonlyMap<Ingress, string>,
): Translation {
  const refs = [...failures.keys()].map(refOf);
  const names = new Set(refs.map(({ namespace, name }) => `${namespace}/${name}`));
  const taken = new Set(rest.snapshot.routes.map(({ id }) => id));
  const routes = (published?.routes ?? []).filter(({ id, origin }) =>
    origin.kind === "Ingress" && names.has(`${origin.namespace}/${origin.name}`) && !taken.has(id)
  );
  return {
    snapshot: keep(rest.snapshot, published, routes),
    problems: [
      ...rest.problems,
      ...[...failures].map(([ingress, reason]) => problem(ingress, reason)),
    ],
    statuses: rest.statuses,
    gateway: rest.gateway,
    claims: rest.claims,
    hostOwners: rest.hostOwners,
  };
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
    filterSets.flatMap(({ filters }) =>
      filters.flatMap((filter) =>
        filter.kind === "access" && filter.basic !== undefined ? filter.basic.credentials : []
      )
    ),
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

function refOf({ metadata }: Ingress): ObjectRef {
  return {
    kind: "Ingress",
    namespace: metadata?.namespace ?? "default",
    name: metadata?.name ?? "",
  };
}

function problem(ingress: Ingress, reason: string): Problem {
  return {
    object: refOf(ingress),
    field: "",
    reason: "Quarantined",
    message: `it could not be translated (${
      reason.slice(0, 200)
    }), so its published configuration stays active`,
    remedy: "Report this with the object; as a workaround, change the object",
    severity: "error",
  };
}
