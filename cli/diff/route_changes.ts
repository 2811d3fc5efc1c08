/**
 * What differs between two states that are served. In: a snapshot with its problems before, and the
 * same after. Out: routes, certificates and everything else that is new, gone or another, and which
 * problems are new or mended. Where things are written makes no difference. Pure.
 */
import type { LocatedProblem } from "../../dev/manifests/file.ts";
import { replyText } from "../../dev/route_filters.ts";
import { isSamePart } from "../../shared/snapshot/equality.ts";
import { upstreamsOf } from "../../shared/snapshot/forward_action.ts";
import { routeKey } from "../../shared/snapshot/route_key.ts";
import type { Certificate, Origin, Route, Snapshot } from "../../shared/snapshot/types.ts";
import { type FilterChange, filterChange } from "./filter_change.ts";

export interface ServedState {
  readonly snapshot: Snapshot;
  readonly problems: readonly LocatedProblem[];
}

/** What of a route may be another: where it matches, or what becomes of its requests. */
export type RouteAspect =
  | "match"
  | "listeners"
  | "backends"
  | "protocol"
  | "endpoints"
  | "filters"
  | "policy"
  | "redirect";

export type RouteChange =
  & { readonly filters: FilterChange }
  & (
    | { readonly kind: "added"; readonly after: Route; readonly reply: string | null }
    | { readonly kind: "removed"; readonly before: Route }
    | {
      readonly kind: "changed";
      readonly before: Route;
      readonly after: Route;
      /** At least one. */
      readonly aspects: readonly RouteAspect[];
      /** Of filters to every request, in place of the backends of `after`; null for none. */
      readonly reply: string | null;
    }
  );

/** `before` is undefined for a new certificate, `after` for one that is gone. */
export interface CertificateChange {
  readonly kind: "added" | "removed" | "changed";
  readonly before?: Certificate;
  readonly after?: Certificate;
}

/** Parts of a snapshot besides routes and certificates. */
export type SettingKind =
  | "host"
  | "listener"
  | "users"
  | "defaultBackend"
  | "defaultCertificate"
  | "trustedProxies"
  | "deniedNetworks"
  | "blockedClients"
  | "configMap";

export interface SettingChange {
  readonly kind: SettingKind;
  /** Host, id of the listener, or Secret with users; "" where there is one only. */
  readonly name: string;
}

export interface ServedChanges {
  /** In the order of the routes: first those that are there now, then those that are gone. */
  readonly routes: readonly RouteChange[];
  readonly certificates: readonly CertificateChange[];
  readonly settings: readonly SettingChange[];
  readonly problems: {
    readonly added: readonly LocatedProblem[];
    readonly mended: readonly LocatedProblem[];
  };
}

export function servedChanges(before: ServedState, after: ServedState): ServedChanges {
  return {
    routes: routeChanges(before.snapshot, after.snapshot),
    certificates: certificateChanges(before.snapshot.certificates, after.snapshot.certificates),
    settings: settingChanges(before.snapshot, after.snapshot),
    problems: {
      added: without(after.problems, before.problems),
      mended: without(before.problems, after.problems),
    },
  };
}

/** Whether nothing is served otherwise, and the same is wrong with it. */
export function isUnchanged({ routes, certificates, settings, problems }: ServedChanges): boolean {
  return routes.length + certificates.length + settings.length +
      problems.added.length + problems.mended.length === 0;
}

/**
 * Routes by what they match, as ids of HTTPRoutes count rules; one that is gone and one that is new are the same if
 * they are written in one place.
 */
function routeChanges(before: Snapshot, after: Snapshot): RouteChange[] {
  const old = new Map(before.routes.map((route) => [routeKey(route), route]));
  const present = new Set(after.routes.map(routeKey));
  const gone = Map.groupBy(before.routes.filter((route) => !present.has(routeKey(route))), placeOf);
  const aspectsOf = routeComparison(before, after);
  const changes: RouteChange[] = [];
  for (const route of after.routes) {
    const other = old.get(routeKey(route)) ?? gone.get(placeOf(route))?.shift();
    if (other === undefined) {
      const filters = filterChange(null, { snapshot: after, route });
      changes.push({ kind: "added", after: route, filters, reply: replyText(after, route) });
      continue;
    }
    const aspects = aspectsOf(other, route);
    if (aspects.length === 0) continue;
    const filters = filterChange({ snapshot: before, route: other }, { snapshot: after, route });
    const reply = replyText(after, route);
    changes.push({ kind: "changed", before: other, after: route, aspects, filters, reply });
  }
  const removed = [...gone.values()].flat().map((route): RouteChange => {
    const filters = filterChange({ snapshot: before, route }, null);
    return { kind: "removed", before: route, filters };
  });
  return [...changes, ...removed];
}

function placeOf({ origin: { kind, namespace, name, field } }: Route): string {
  return JSON.stringify([kind, namespace, name, field]);
}

/** Compares a route with the one that it was, with all that they refer to. */
function routeComparison(
  before: Snapshot,
  after: Snapshot,
): (old: Route, now: Route) => RouteAspect[] {
  const sets = [byId(before.filterSets), byId(after.filterSets)] as const;
  const policies = [byId(before.policies), byId(after.policies)] as const;
  const upstreams = [byId(before.upstreams), byId(after.upstreams)] as const;
  const isSameRef = <T>(maps: readonly [Map<string, T>, Map<string, T>], a = "", b = "") =>
    isSamePart(maps[0].get(a), maps[1].get(b));
  return (old, now) => {
    const ids = [...new Set([...upstreamsOf(old.action), ...upstreamsOf(now.action)])];
    // Of upstreams that only one of the two has, the backends say all.
    const pairs = ids.flatMap((id) => {
      const [a, b] = [upstreams[0].get(id), upstreams[1].get(id)];
      return a === undefined || b === undefined ? [] : [[a, b] as const];
    });
    const is: Readonly<Record<RouteAspect, boolean>> = {
      match: old.host !== now.host || !isSamePart(old.match, now.match),
      listeners: !isSamePart(old.listeners, now.listeners),
      backends: !isSamePart(old.action, now.action),
      protocol: pairs.some(([a, b]) =>
        !isSamePart({ ...a, addresses: null }, { ...b, addresses: null })
      ),
      endpoints: pairs.some(([a, b]) => !isSamePart(a.addresses, b.addresses)),
      filters: !isSameRef(sets, old.filterSet, now.filterSet),
      policy: !isSameRef(policies, old.policy, now.policy),
      redirect: old.httpsRedirect !== now.httpsRedirect,
    };
    return (Object.keys(is) as RouteAspect[]).filter((aspect) => is[aspect]);
  };
}

/** By the Secrets that they come from. */
function certificateChanges(
  before: readonly Certificate[],
  after: readonly Certificate[],
): CertificateChange[] {
  const old = new Map(before.map((one) => [nameOf(one.origin), one]));
  const now = new Map(after.map((one) => [nameOf(one.origin), one]));
  return [
    ...[...now].flatMap(([name, after]): CertificateChange[] => {
      const before = old.get(name);
      if (before === undefined) return [{ kind: "added", after }];
      const isSame = isSamePart({ ...before, origin: null }, { ...after, origin: null });
      return isSame ? [] : [{ kind: "changed", before, after }];
    }),
    ...[...old].flatMap(([name, before]): CertificateChange[] =>
      now.has(name) ? [] : [{ kind: "removed", before }]
    ),
  ];
}

function nameOf({ kind, namespace, name }: Origin): string {
  return `${kind} ${namespace}/${name}`;
}

function settingChanges(before: Snapshot, after: Snapshot): SettingChange[] {
  const named = (
    kind: SettingKind,
    old: readonly Named[] = [],
    now: readonly Named[] = [],
  ): SettingChange[] => {
    const [a, b] = [byId(old), byId(now)];
    return [...new Set([...b.keys(), ...a.keys()])]
      .filter((id) => !isSamePart(withoutOrigin(a.get(id)), withoutOrigin(b.get(id))))
      .map((name) => ({ kind, name }));
  };
  const single = (kind: SettingKind, old: unknown, now: unknown): SettingChange[] =>
    isSamePart(old ?? null, now ?? null) ? [] : [{ kind, name: "" }];
  return [
    ...named("host", before.hostSettings, after.hostSettings),
    ...named("listener", before.listeners, after.listeners),
    ...named("users", before.credentials, after.credentials),
    ...single("defaultBackend", before.defaultAction, after.defaultAction),
    ...single("defaultCertificate", before.defaultCertificate, after.defaultCertificate),
    ...single("trustedProxies", before.trustedProxies, after.trustedProxies),
    ...single("deniedNetworks", before.denied, after.denied),
    ...single("blockedClients", before.blockedClients, after.blockedClients),
    ...single("configMap", before.globalConfig, after.globalConfig),
  ];
}

interface Named {
  readonly id: string;
  readonly origin?: Origin;
}

function withoutOrigin(part: Named | undefined): unknown {
  return part === undefined ? null : { ...part, origin: undefined };
}

function byId<T extends { readonly id: string }>(list: readonly T[] = []): Map<string, T> {
  return new Map(list.map((one) => [one.id, one]));
}

/** Those of `problems` that `others` do not have; one that is there twice counts twice. */
function without(
  problems: readonly LocatedProblem[],
  others: readonly LocatedProblem[],
): LocatedProblem[] {
  const known = new Map<string, number>();
  for (const other of others) {
    const key = identityOf(other);
    known.set(key, (known.get(key) ?? 0) + 1);
  }
  return problems.filter((one) => {
    const key = identityOf(one);
    const left = known.get(key) ?? 0;
    if (left > 0) known.set(key, left - 1);
    return left === 0;
  });
}

/** A problem that has only moved in its file is the same. */
function identityOf({ problem }: LocatedProblem): string {
  const { object, field, reason, severity, message } = problem;
  return JSON.stringify([object, field, reason, severity, message]);
}
