/**
 * What annotations of ingress-nginx say about routes. In: the annotations of one Ingress, of which none
 * closes its paths, and the profile of its class. Out: filters and a policy for all of its routes.
 * Each feature is one reader.
 *
 * Values that are missing, empty or invalid give nothing: `refusals.ts` closes the paths of those that
 * must not be ignored.
 */
import type { FilterSpec } from "../../../../shared/snapshot/types.ts";
import { type GlobalSettings, NO_GLOBALS } from "../../model/global_settings.ts";
import type { Profile } from "../../model/profile.ts";
import type { PolicySpec, RouteSettings, RouteSettingsPool } from "../../model/route_settings.ts";
import { readAccess } from "./access.ts";
import { withDefaultFilters, withDefaults } from "./defaults.ts";
import type { NginxAnnotations } from "./nginx_annotations.ts";
import { readPolicy } from "./policy.ts";
import { readAppRoot, readHttpsRedirect, readRedirect } from "./redirects.ts";
import { readRequestHost } from "./request_host.ts";

/** In the order in which filters of one kind meet requests; that of the kinds is the proxy's. */
const FILTERS: readonly ((
  a: NginxAnnotations,
  namespace: string,
  globals: GlobalSettings,
) => FilterSpec | null)[] = [
  readAppRoot,
  readRedirect,
  readAccess,
  readRequestHost,
];

/** Fields of two readers must not have the same names. */
const POLICIES: readonly ((a: NginxAnnotations, profile: Profile) => PolicySpec)[] = [
  readPolicy,
  readHttpsRedirect,
];

/**
 * @param namespace Of the Ingress.
 * @param globals What holds for all Ingresses of the profile.
 */
export function readRouteSettings(
  annotations: NginxAnnotations,
  namespace: string,
  pool: RouteSettingsPool,
  profile: Profile,
  globals: GlobalSettings = NO_GLOBALS,
): RouteSettings {
  const isDecoded = profile === "nginx";
  const filters = FILTERS.flatMap((read) => read(annotations, namespace, globals) ?? [])
    .map((filter) => isDecoded ? inDecodedForm(filter) : filter);
  const policy: PolicySpec = Object.assign(
    {},
    ...POLICIES.map((read) => read(annotations, profile)),
  );
  return isDecoded
    ? pool.of(withDefaultFilters(filters, globals), withDefaults(policy))
    : pool.of(filters, policy);
}

/** As the paths of its routes are. */
function inDecodedForm(filter: FilterSpec): FilterSpec {
  return filter.kind === "redirect" && filter.path !== undefined
    ? { ...filter, decoded: true }
    : filter;
}
