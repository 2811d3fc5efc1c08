/**
 * What HTTPRoutes ask for, and what was published of them. In: attached routes with the listeners that are served.
 * Out: numbers, the same ones for a route that was published as it is written. Pure.
 */
import { listenersCharacters } from "../../../shared/snapshot/memory.ts";
import type { FilterSpec, Route } from "../../../shared/snapshot/types.ts";
import { ObjectCache } from "../../base/memo.ts";
import { backendsSize, matchSize, nameBytes, reasonSize } from "../bounds/gateway_sizes.ts";
import {
  actionSize,
  backendsOf,
  FilterSetSizes,
  GatewayTally,
  type GuardParts,
  type MeasuredFilterSet,
  type Prefixes,
} from "../bounds/gateway_tally.ts";
import type { Parts } from "../bounds/namespace_parts.ts";
import { upstreamOf } from "./objects/backend_ref.ts";
import type { HttpRouteModel, RuleModel } from "./objects/http_route.ts";
import { redirectOn } from "./objects/route_filters.ts";
import { type Place, placeOf, variantsOf } from "./served_routes.ts";

/** What is asked for, or was published. */
export interface RouteDemand {
  readonly routes: number;
  /** Of hosts, names, matches, backends and listeners, each route with its own, and of filters, each set once. */
  readonly bytes: number;
}

/** With what proxies need for it. */
export interface MeasuredDemand extends RouteDemand {
  /** Of several routes, what has a name counts as often as one has it. */
  readonly parts: Omit<Parts, "certificates" | "chains" | "keys">;
  /** Of these, what guards of its hosts take. */
  readonly guards: GuardParts;
}

/** Of a namespace. */
export type TotalDemand = Omit<MeasuredDemand, "guards">;

export interface DemandingRoute {
  readonly route: HttpRouteModel;
  /** By host pattern, the listeners that are served. */
  readonly hosts: ReadonlyMap<string, readonly Place[]>;
  /** What it asks for beyond these, too much to be put together (`attachment_room.ts`); 0 for nothing. */
  readonly unplacedBytes: number;
}

/** What rules ask for: each is looked at once as long as it lives. */
export class RouteDemands {
  /** Of what was published. */
  readonly filterSets = new FilterSetSizes();
  readonly #rules = new ObjectCache((rule: RuleModel) => new RuleSize(rule));

  of(each: DemandingRoute): MeasuredDemand {
    const tally = new GatewayTally();
    const { routes, bytes } = this.addTo(tally, each);
    const { parts, guards, filterSets } = tally;
    return { routes, bytes: bytes + filterSets.bytes, parts, guards };
  }

  /** Without bytes of filters: those stand in the tally. */
  addTo(tally: GatewayTally, { route, hosts }: DemandingRoute): RouteDemand {
    const ofName = nameBytes(route.identity.ref);
    let routes = 0;
    let bytes = 0;
    for (const [host, places] of hosts) {
      if (places.length === 0) continue;
      const ids = places.map(({ id }) => id);
      const listeners = listenersCharacters(ids);
      for (const rule of route.rules) {
        const size = this.#rules.of(rule);
        const matches = rule.matches.length;
        const variants = variantsOf(rule, places);
        const count = variants.length;
        const ofHosts = count * matches * host.length;
        // Each listener is in one of the variants.
        const rest = count * matches * ofName + matches * listeners;
        const text = count * size.text + rest;
        routes += count * matches;
        bytes += ofHosts + text;
        tally.routes += count * matches;
        tally.hostBytes += ofHosts;
        tally.text += text;
        tally.random += count * size.random + rest;
        tally.compiled += count * size.compiled + (places.length - count) * size.copied;
        for (const variant of variants) {
          const filters = size.filtersOn(variant.listeners[0]);
          if (filters !== null) tally.filterSets.add(filters, size.prefixes);
          if (count === 1) continue;
          const own = variant.listeners.map(({ id }) => id);
          tally.addHost(host, own, listenersCharacters(own));
        }
        if (count === 1) tally.addHost(host, ids, listeners);
      }
    }
    if (routes > 0) {
      for (const upstream of route.rules.flatMap((rule) => this.#rules.of(rule).upstreams)) {
        tally.addUpstream(upstream);
      }
    }
    return { routes, bytes };
  }

  /** By namespace. */
  totals(routes: readonly DemandingRoute[]): ReadonlyMap<string, TotalDemand> {
    const totals = new Map<string, TotalDemand>();
    for (const each of routes) {
      const { namespace } = each.route.identity.ref;
      const measured = this.of(each);
      const demand = { ...measured, bytes: measured.bytes + each.unplacedBytes };
      const before = totals.get(namespace);
      totals.set(
        namespace,
        before === undefined
          ? demand
          : { ...plus(before, demand), parts: plusParts(before.parts, demand.parts) },
      );
    }
    return totals;
  }
}

/** In the same measure as what its rules ask for, so that what has not changed adds nothing. */
export function publishedDemand(
  { rules }: HttpRouteModel,
  published: readonly Route[],
  sets: ReadonlyMap<string, MeasuredFilterSet>,
): MeasuredDemand {
  let bytes = 0;
  const tally = new GatewayTally();
  for (const route of published) {
    const { id, host, match, action, filterSet, listeners, origin } = route;
    // What is broken for a while has no backend, and gets it back; several stay, each with its fault.
    const backends = action.kind === "forward"
      ? backendsOf(route)
      : weightedOf(rules[placeOf(id)?.ruleIndex ?? -1]).slice(0, 1);
    bytes += host.length + matchSize(match).text + nameBytes(origin) +
      actionSize(route, backends).text + listenersCharacters(listeners);
    tally.addPublished(route, sets.get(filterSet ?? ""), backends);
  }
  return {
    routes: published.length,
    bytes: bytes + tally.filterSets.bytes,
    ...{ parts: tally.parts, guards: tally.guards },
  };
}

class RuleSize {
  /** Of all its matches and their backends, for one host. */
  readonly text: number;
  readonly random: number;
  readonly compiled: number;
  /** For each listener after the first. */
  readonly copied: number;
  readonly upstreams: readonly string[];
  readonly prefixes: Prefixes;
  readonly #rule: RuleModel;
  readonly #texts = new Map<string, string | null>();

  constructor(rule: RuleModel) {
    const { matches } = rule;
    this.#rule = rule;
    this.upstreams = weightedOf(rule);
    const sizes = matches.map(matchSize);
    const action = this.upstreams.length === 0
      ? reasonSize(rule.fault ?? "")
      : backendsSize(this.upstreams);
    this.text = sum(sizes.map(({ text }) => text)) + matches.length * action.text;
    this.random = sum(sizes.map(({ random }) => random)) + matches.length * action.random;
    this.compiled = sum(sizes.map(({ compiled }) => compiled));
    this.copied = sum(sizes.map(({ copied }) => copied));
    this.prefixes = prefixesOf(rule);
  }

  /** JSON of the filters there, without a prefix that is replaced; null for none. */
  filtersOn({ protocol, port }: Place): string | null {
    const isAlike = this.#rule.filters.redirect === null;
    const key = isAlike ? "" : `${protocol} ${port}`;
    let text = this.#texts.get(key);
    if (text === undefined) {
      this.#texts.set(key, text = filtersText(this.#rule, { protocol, port }));
    }
    return text;
  }
}

function filtersText(
  { fault, time, filters: { filters, redirect } }: RuleModel,
  place: Pick<Place, "protocol" | "port">,
): string | null {
  if (fault !== null) return null;
  const all: readonly FilterSpec[] = [
    ...(time === null ? [] : [{ kind: "deadline", time } as const]),
    ...filters,
    ...(redirect === null ? [] : [redirectOn(redirect, place, NO_PREFIX)]),
  ];
  return all.length === 0 ? null : JSON.stringify(all);
}

const NO_PREFIX = { type: "Exact", value: "/" } as const;

/** What `"prefix":` takes in JSON, with its comma. */
const PREFIX_NAME = 10;

function prefixesOf({ matches, filters: { redirect } }: RuleModel): Prefixes {
  if (redirect?.path?.type !== "ReplacePrefixMatch") {
    return { each: new Map([[null, 0]]), characters: 0 };
  }
  const each = new Map(
    matches.map(({ path: { type, value } }): [string | null, number] =>
      type === "Prefix" ? [value, PREFIX_NAME + JSON.stringify(value).length] : [null, 0]
    ),
  );
  return { each, characters: sum(each.values()) };
}

/** Ids of the upstreams that requests may go to. */
function weightedOf(rule: RuleModel | undefined): readonly string[] {
  if (rule === undefined || rule.fault !== null || rule.filters.redirect !== null) return [];
  return rule.backends.filter(({ weight }) => weight > 0).map(upstreamOf);
}

export function plus(a: RouteDemand, b: RouteDemand, sign: 1 | -1 = 1): RouteDemand {
  return { routes: a.routes + sign * b.routes, bytes: a.bytes + sign * b.bytes };
}

function plusParts(
  a: MeasuredDemand["parts"],
  b: MeasuredDemand["parts"],
): MeasuredDemand["parts"] {
  return {
    routes: a.routes + b.routes,
    hosts: a.hosts + b.hosts,
    bytes: a.bytes + b.bytes,
    text: a.text + b.text,
    random: a.random + b.random,
    alike: a.alike + b.alike,
    compiled: a.compiled + b.compiled,
    upstreams: a.upstreams + b.upstreams,
  };
}

function sum(sizes: Iterable<number>): number {
  let sum = 0;
  for (const size of sizes) sum += size;
  return sum;
}
