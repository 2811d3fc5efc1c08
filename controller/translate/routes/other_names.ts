/**
 * Which other names of hosts are served. In: Ingresses as they have claimed paths, and the owners of
 * hosts. Out: a route for each name that redirects to its host, the aliases of hosts, and a problem for
 * each name that something else has.
 *
 * As in ingress-nginx, a host that a rule names goes before a redirect, and that before an alias; and of
 * all Ingresses of a host that have aliases only the first one counts.
 */
import type { HostSettings, ReplyAction, Route } from "../../../shared/snapshot/types.ts";
import type { ProblemList } from "../../base/problems.ts";
import { compareText } from "../../base/text_order.ts";
import type { Ownership } from "../hosts/ownership.ts";
import { leadsToWww, type OtherName } from "../model/other_name.ts";
import { NO_SETTINGS } from "../model/route_settings.ts";
import type { Source } from "../model/source.ts";
import type { RouteClaims } from "./route_claims.ts";

/** Hosts for which rules of an Ingress count, with whether it has a path of them. */
export type ServedHosts = ReadonlyMap<Source, ReadonlyMap<string, boolean>>;

export interface ServedNames {
  readonly redirects: readonly Route[];
  /** Sorted by id. */
  readonly aliases: readonly HostSettings[];
  /** All of these names. */
  readonly names: ReadonlySet<string>;
}

/** @param served Of Ingresses with other names, in the order in which they have claimed paths. */
export function serveOtherNames(
  served: ServedHosts,
  claims: RouteClaims,
  ownership: Ownership,
  problems: ProblemList,
): ServedNames {
  if (served.size === 0) return { redirects: [], aliases: [], names: new Set() };
  const redirects = new Map<string, Holder>();
  const aliases = new Map<string, Holder>();
  /** By host, whose aliases it has. */
  const deciders = new Map<string, Source>();
  for (const { source, name, hasRoutes } of namesOf(served, ownership)) {
    if (!ownership.isOwn(name.of, source.identity.ref.namespace)) {
      report(source, name, OF_A_GUEST, problems);
      continue;
    }
    if (name.kind !== "www" || !hasRoutes) continue;
    const holder = redirects.get(name.host);
    if (claims.hasHost(name.host)) report(source, name, OF_A_RULE, problems);
    else if (holder === undefined) redirects.set(name.host, { source, name });
    else if (holder.name.of !== name.of) report(source, name, redirected(holder), problems);
  }
  for (const { source, name } of namesOf(served, ownership)) {
    const isOwn = ownership.isOwn(name.of, source.identity.ref.namespace);
    if (name.kind !== "alias" || !isOwn) continue;
    const decider = deciders.get(name.of) ?? source;
    deciders.set(name.of, decider);
    const holder = aliases.get(name.host);
    const redirect = redirects.get(name.host);
    if (claims.hasHost(name.host)) report(source, name, OF_A_RULE, problems);
    else if (redirect !== undefined) report(source, name, redirected(redirect), problems);
    else if (holder === undefined && decider === source) aliases.set(name.host, { source, name });
    else if (holder?.name.of !== name.of) {
      report(source, name, whyNot(holder, name, decider), problems);
    }
  }
  return {
    redirects: [...redirects.values()].map(routeOf),
    aliases: Array.from(aliases, ([id, { name }]) => ({ id, aliasOf: name.of }))
      .sort((a, b) => compareText(a.id, b.id)),
    names: new Set([...redirects.keys(), ...aliases.keys()]),
  };
}

/** Those that count: of hosts and names that the Ingress may have. */
function* namesOf(served: ServedHosts, ownership: Ownership) {
  for (const [source, hosts] of served) {
    for (const name of source.otherNames) {
      const hasRoutes = hosts.get(name.of);
      const { namespace } = source.identity.ref;
      if (hasRoutes === undefined || ownership.standing(name.host, namespace) === "refused") {
        continue;
      }
      yield { source, name, hasRoutes };
    }
  }
}

/** Who has a name. */
interface Holder {
  readonly source: Source;
  readonly name: OtherName;
}

/** Its filter responds, whatever the action. */
function routeOf({ source, name }: Holder): Route {
  const place = source.hostPlaces.of(name.host, source.identity, name.field);
  const { www, bare } = source.wwwSettings;
  return place.route(REDIRECTED, (leadsToWww(name) ? www : bare) ?? NO_SETTINGS);
}

const OF_A_GUEST = "is not served: that host belongs to another namespace";
const OF_A_RULE = "is the host of a rule, which takes precedence";

const REDIRECTED: ReplyAction = {
  kind: "reply",
  status: 404,
  reason: "requests are redirected to the host with or without www.",
};

function redirected({ source, name }: Holder): string {
  return `is redirected to ${name.of} by ${source.identity.label}`;
}

function whyNot(holder: Holder | undefined, { of }: OtherName, decider: Source): string {
  return holder === undefined
    ? `is not served: the aliases of ${of} are those of ${decider.identity.label}`
    : `is an alias of ${holder.name.of} by ${holder.source.identity.label}`;
}

function report(
  { identity }: Source,
  { host, field, of }: OtherName,
  why: string,
  problems: ProblemList,
): void {
  problems.about(identity.ref).warning(field, {
    reason: "HostNameConflict",
    message: `${host}, as another name of ${of}, ${why}`,
    remedy: "Remove the name from one of the two",
  });
}
