/**
 * Routes as proxies get them. In: HTTPRoutes with their backends, and the listeners that they attach to. Out:
 * the routes of a snapshot, those of each host in the order in which they take requests.
 */
import { sharedSocketOf } from "../../../shared/snapshot/listener_id.ts";
import { compareHosts } from "../../../shared/host/host_order.ts";
import type {
  Action,
  FilterSet,
  FilterSpec,
  ReplyAction,
  Route,
} from "../../../shared/snapshot/types.ts";
import { shortened } from "../../base/json.ts";
import { compareText } from "../../base/text_order.ts";
import { MAX_REASON, MAX_SHARE_REASON } from "../bounds/gateway_sizes.ts";
import { isAlike } from "../../kube/likeness.ts";
import { HTTP_ROUTES } from "../../kube/types.ts";
import type { RouteSettingsPool } from "../model/route_settings.ts";
import type { ResolvedBackend } from "./objects/backend_ref.ts";
import type { Identity } from "../../base/identity.ts";
import type { HttpRouteModel, RuleModel } from "./objects/http_route.ts";
import type { ListenerModel } from "./objects/listener.ts";
import { comparePrecedence, type PlacedMatch } from "./objects/precedence.ts";
import { redirectOn } from "./objects/route_filters.ts";

/** A route that is accepted, and where. */
export interface AttachedRoute {
  readonly route: HttpRouteModel;
  /** Of each rule. */
  readonly backends: readonly (readonly ResolvedBackend[])[];
  /** By host pattern, `*` for any; the listeners have ids. */
  readonly hosts: ReadonlyMap<string, ReadonlySet<ListenerModel>>;
}

/** What was published of a route, and stays in place of its rules; its backends are still permitted. */
export interface KeptRoute {
  readonly identity: Identity;
  readonly routes: readonly Route[];
}

export interface ServedRoutes {
  /** Sorted by host, then by precedence. */
  readonly routes: readonly Route[];
  /** Those that they refer to, each once, sorted by id. */
  readonly filterSets: readonly FilterSet[];
}

/** Of the id of a route: where in its HTTPRoute its match stands; null for any other id. */
export function placeOf(
  id: string,
): { readonly ruleIndex: number; readonly matchIndex: number } | null {
  const [, rule, match] = /^\S+ (\d+)\.(\d+) /.exec(id) ?? [];
  return rule === undefined ? null : { ruleIndex: Number(rule), matchIndex: Number(match) };
}

interface Placed extends PlacedMatch {
  readonly route: Route;
  readonly filterSet: FilterSet | null;
}

/** A listener that is served, as far as routes depend on it. */
export interface Place {
  readonly id: string;
  readonly protocol: string;
  readonly port: number;
}

export function placesOf(
  ids: ReadonlyMap<ListenerModel, string>,
): ReadonlyMap<ListenerModel, Place> {
  return new Map(Array.from(ids, ([listener, id]) => {
    const { protocol, port } = listener;
    return [listener, { id, protocol, port }] as const;
  }));
}

/** What the routes of an HTTPRoute are made of, besides itself. */
interface PlacedInputs {
  readonly backends: AttachedRoute["backends"];
  readonly hosts: readonly (readonly [host: string, places: readonly Place[]])[];
}

interface Remembered extends PlacedInputs {
  readonly placed: readonly Placed[];
}

/** Gives the very same routes again for what has not changed: all that follows is made for the others alone. */
export class RoutePlacements {
  readonly #settings: RouteSettingsPool;
  readonly #known = new WeakMap<HttpRouteModel, Remembered>();

  constructor(settings: RouteSettingsPool) {
    this.#settings = settings;
  }

  /**
   * @param ids Of listeners that are served; the others have no routes.
   * @param publishedSets What kept routes refer to.
   */
  serve(
    attached: readonly AttachedRoute[],
    ids: ReadonlyMap<ListenerModel, string>,
    kept: readonly KeptRoute[],
    publishedSets: readonly FilterSet[],
  ): ServedRoutes {
    const places = placesOf(ids);
    const placed = [
      ...attached.flatMap((each) => this.#placed(each, places)),
      ...keptRoutes(kept, publishedSets),
    ];
    placed.sort((a, b) =>
      compareHosts(a.route.host, b.route.host) || comparePrecedence(a, b) ||
      compareText(a.route.id, b.route.id)
    );
    const filterSets = new Map<string, FilterSet>();
    for (const { filterSet } of placed) {
      if (filterSet !== null) filterSets.set(filterSet.id, filterSet);
    }
    return {
      routes: placed.map(({ route }) => route),
      filterSets: [...filterSets.values()].sort((a, b) => compareText(a.id, b.id)),
    };
  }

  #placed(
    { route, backends, hosts }: AttachedRoute,
    places: ReadonlyMap<ListenerModel, Place>,
  ): readonly Placed[] {
    const inputs: PlacedInputs = {
      backends,
      hosts: Array.from(hosts, ([host, listeners]) => [
        host,
        [...listeners].flatMap((listener) => places.get(listener) ?? []),
      ]),
    };
    const known = this.#known.get(route);
    if (
      known !== undefined && isAlike(known.backends, backends) && isAlike(known.hosts, inputs.hosts)
    ) return known.placed;
    const placed = placedRoutes(route, inputs, this.#settings);
    this.#known.set(route, { ...inputs, placed });
    return placed;
  }
}

function keptRoutes(kept: readonly KeptRoute[], publishedSets: readonly FilterSet[]): Placed[] {
  if (kept.length === 0) return [];
  const sets = new Map(publishedSets.map((set) => [set.id, set]));
  return kept.flatMap(({ identity, routes }) =>
    routes.map((route): Placed => ({
      ...{ route, identity, match: route.match },
      ...(placeOf(route.id) ?? { ruleIndex: 0, matchIndex: 0 }),
      filterSet: sets.get(route.filterSet ?? "") ?? null,
    }))
  );
}

function placedRoutes(
  route: HttpRouteModel,
  { backends, hosts }: PlacedInputs,
  settings: RouteSettingsPool,
): Placed[] {
  const { identity } = route;
  const { ref: { namespace, name }, key } = identity;
  const actions = route.rules.map((rule, i) => actionOf(rule, backends[i]));
  return hosts.flatMap(([host, places]) =>
    route.rules.flatMap((rule, ruleIndex) =>
      rule.matches.flatMap((match, matchIndex) =>
        variantsOf(rule, places).map(({ suffix, listeners }): Placed => {
          const filterSet = filterSetOf(rule, listeners[0], match.path, settings);
          return {
            match: rule.written[matchIndex],
            ...{ identity, ruleIndex, matchIndex, filterSet },
            route: {
              id: `${key} ${ruleIndex}.${matchIndex} ${host}${suffix}`,
              listeners: listeners.map(({ id }) => id).sort(compareText),
              ...{ host, match, action: actions[ruleIndex] },
              ...(filterSet === null ? {} : { filterSet: filterSet.id }),
              ...httpsRedirectOn(listeners.map(({ id }) => id)),
              origin: {
                ...{ kind: HTTP_ROUTES.kind, namespace, name },
                field: `${rule.field}.matches[${matchIndex}]`,
              },
            },
          };
        })
      )
    )
  );
}

/** A certificate of an Ingress for the same host says nothing about Gateways. @param listeners Ids. */
export function httpsRedirectOn(listeners: readonly string[]): Pick<Route, "httpsRedirect"> {
  return listeners.some((id) => sharedSocketOf(id) !== null) ? { httpsRedirect: false } : {};
}

export interface Variant<T> {
  readonly suffix: string;
  /** At least one. */
  readonly listeners: readonly T[];
}

/** A redirect depends on the listener's protocol and port, all else of a rule does not. */
export function variantsOf<T extends Pick<ListenerModel, "protocol" | "port">>(
  { fault, filters: { redirect } }: Pick<RuleModel, "fault" | "filters">,
  listeners: readonly T[],
): Variant<T>[] {
  if (listeners.length === 0) return [];
  if (redirect === null || fault !== null) return [{ suffix: "", listeners }];
  const groups = Map.groupBy(listeners, ({ protocol, port }) => ` ${protocol} ${port}`);
  return Array.from(groups, ([suffix, listeners]) => ({ suffix, listeners }));
}

function filterSetOf(
  { fault, time, filters: { filters, redirect } }: RuleModel,
  place: Place,
  path: Route["match"]["path"],
  settings: RouteSettingsPool,
): FilterSet | null {
  if (fault !== null) return null;
  const all: readonly FilterSpec[] = [
    ...(time === null ? [] : [{ kind: "deadline", time } as const]),
    ...filters,
    ...(redirect === null ? [] : [redirectOn(redirect, place, path)]),
  ];
  return settings.of(all, {}).filterSet;
}

/** What requests get that no filter replies to. */
function actionOf(
  { field, fault, filters }: RuleModel,
  backends: readonly ResolvedBackend[],
): Action {
  if (fault !== null) return broken(fault);
  if (filters.redirect !== null) return broken(`${field} redirects`);
  const weighted = backends.filter(({ weight }) => weight > 0);
  const [first] = weighted;
  if (first === undefined) return broken(`${field} has no backend with a weight above 0`);
  if (weighted.length === 1) {
    const fault = faultOf(first);
    return fault === null
      ? { kind: "forward", backends: [{ upstream: first.upstream }] }
      : broken(fault);
  }
  return {
    kind: "forward",
    backends: weighted.map((backend) => {
      const { upstream, weight } = backend;
      const fault = faultOf(backend);
      return { upstream, ...(fault === null ? {} : brokenShare(fault)), weight };
    }),
    keepsShares: true,
  };
}

/** Why requests for a backend get 500; null where they do not. */
export function faultOf({ fault, refusal }: ResolvedBackend): string | null {
  return fault?.message ?? refusal;
}

export function broken(reason: string): ReplyAction {
  return { kind: "reply", status: 500, reason: cut(reason, MAX_REASON) };
}

/** One of several. */
export function brokenShare(reason: string): { readonly fault: string } {
  return { fault: cut(reason, MAX_SHARE_REASON) };
}

/** Names in it may have hundreds of characters, and every route has its own: a remedy is left out first. */
function cut(reason: string, length: number): string {
  if (reason.length <= length) return reason;
  const end = reason.lastIndexOf(". ", length - 1);
  return end > 0 ? reason.slice(0, end + 1) : shortened(reason, length);
}
