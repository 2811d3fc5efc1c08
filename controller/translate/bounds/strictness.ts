/**
 * Whether older settings of routes may serve in place of newer ones that there is no room for. In: both.
 * Out: whether the older ones reject all that the newer ones reject; and the older ones with the
 * stricter parts of the newer policy, which take no room that counts.
 */
import { requiredUsersOf } from "../../../shared/credentials/credentials.ts";
import { isSamePart } from "../../../shared/snapshot/equality.ts";
import type { FilterSpec, Policy } from "../../../shared/snapshot/types.ts";
import type { RouteSettings, RouteSettingsPool } from "../model/route_settings.ts";

type Access = Extract<FilterSpec, { kind: "access" }>;

/** Where that cannot be said for sure, they are not. */
export function isAsStrict(older: RouteSettings, newer: RouteSettings): boolean {
  const wanted = accessOf(newer);
  if (wanted === undefined) return true;
  const access = accessOf(older);
  if (access === undefined) return false;
  if (isSamePart(access, wanted)) return true;
  // One check more, and more requests pass.
  if (access.satisfy === "any") return false;
  return hasAll(wanted.allow, access.allow) && hasAll(access.deny ?? [], wanted.deny ?? []) &&
    (wanted.basic === undefined || isSamePart(access.basic, wanted.basic)) &&
    (wanted.requiredUsers === undefined ||
      wanted.requiredUsers === requiredUsersOf(access)) &&
    (wanted.external === undefined || isSamePart(access.external, wanted.external));
}

function accessOf({ filterSet }: RouteSettings): Access | undefined {
  return filterSet?.filters.find((filter) => filter.kind === "access");
}

/** @param networks Missing for all there are. */
function hasAll(networks: readonly string[] | undefined, some: readonly string[] | undefined) {
  if (networks === undefined) return true;
  const known = new Set(networks);
  return some?.every((network) => known.has(network)) ?? false;
}

/** The very same as `older` where nothing of `newer` is stricter. */
export function withStricterPolicy(
  older: RouteSettings,
  newer: RouteSettings,
  pool: RouteSettingsPool,
): RouteSettings {
  const bodyLimit = stricterLimit(older.policy, newer.policy);
  const redirect = stricterRedirect(older.policy, newer.policy);
  if (bodyLimit === null && redirect === null) return older;
  const { id: _, ...policy } = older.policy ?? { id: "" };
  return pool.of(older.filterSet?.filters ?? [], {
    ...policy,
    ...(bodyLimit === null ? {} : { bodyLimit }),
    ...(redirect === null ? {} : { httpsRedirect: { ...policy.httpsRedirect, ...redirect } }),
  });
}

/** Null where the older one is as strict. */
function stricterLimit(older: Policy | null, newer: Policy | null): number | null {
  const wanted = newer?.bodyLimit ?? 0;
  return wanted > 0 && wanted < (older?.bodyLimit || Infinity) ? wanted : null;
}

/** Missing is what the proxy was started with: usually as with a certificate. */
const REDIRECTS = ["never", undefined, "certificate", "tls", "always"] as const;

function stricterRedirect(older: Policy | null, newer: Policy | null) {
  const [before, wanted] = [older, newer].map((policy) => policy?.httpsRedirect?.when);
  if (REDIRECTS.indexOf(wanted) <= REDIRECTS.indexOf(before)) return null;
  return { when: wanted };
}
