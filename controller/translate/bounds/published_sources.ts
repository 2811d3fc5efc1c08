/**
 * What was published of a source. In: the source as it is now, and the routes and certificates of the
 * snapshot published last. Out: a source with the same hosts and paths, and the backends and Secrets as
 * they are now; the very same one while the same is published of it.
 */
import type {
  FilterSet,
  FilterSpec,
  Policy,
  ReplyAction,
  Route,
  Snapshot,
} from "../../../shared/snapshot/types.ts";
import { ANY_HOST } from "../model/host.ts";
import { type Identity, keyOf } from "../../base/identity.ts";
import { isSamePart } from "../../../shared/snapshot/equality.ts";
import { HostPlaces, routeId, RoutePlace, WHOLE_HOST } from "../model/route_place.ts";
import {
  isAcmeLocation,
  needsLogin,
  NO_SETTINGS,
  type RouteSettings,
  RouteSettingsPool,
  settingsOfPath,
  settingsSizes,
  withBlockedClients,
  withRewrite,
} from "../model/route_settings.ts";
import { LastStatus, LastTlsStatus } from "../model/status.ts";
import { formatObject } from "../../../shared/problem.ts";
import { type BackendRef, upstreamId } from "../model/backend_ref.ts";
import { hostFields } from "../model/host_field.ts";
import { isOfOtherName, type OtherName } from "../model/other_name.ts";
import {
  closesWholeHosts,
  DEFAULT_BACKEND_FIELD,
  type PathModel,
  type PathRewrite,
  type RegexWish,
  type RuleModel,
  type Source,
  type TlsModel,
} from "../model/source.ts";
import { isAsStrict, withStricterPolicy } from "./strictness.ts";

/** What one snapshot has of the Ingresses of some namespaces. */
export class PublishedParts {
  /** By `namespace/name` of the Ingress. */
  readonly #routes = new Map<string, Route[]>();
  /** Keys of Secrets, by host. */
  readonly #secrets = new Map<string, Map<string, string>>();
  /** Ids of all routes. */
  readonly #ids = new Set<string>();
  /** The host of each alias. */
  readonly #aliases = new Map<string, string>();
  readonly #filterSets: ReadonlyMap<string, FilterSet>;
  readonly #policies: ReadonlyMap<string, Policy>;
  /** Bytes of filter sets and policies, by id; of those that were looked up. */
  readonly #sizes = new Map<string, number>();

  constructor(published: Snapshot | null, namespaces: ReadonlySet<string>) {
    this.#filterSets = new Map(published?.filterSets?.map((each) => [each.id, each]));
    this.#policies = new Map(published?.policies?.map((each) => [each.id, each]));
    for (const { id, aliasOf } of published?.hostSettings ?? []) {
      if (aliasOf === undefined) continue;
      this.#aliases.set(id, aliasOf);
      // As `Demand.routes` counts it.
      this.#ids.add(routeId(id, WHOLE_HOST));
    }
    for (const route of published?.routes ?? []) {
      this.#ids.add(route.id);
      const { kind, namespace, name } = route.origin;
      if (kind !== "Ingress" || !namespaces.has(namespace)) continue;
      const key = keyOf({ namespace, name });
      const routes = this.#routes.get(key);
      if (routes === undefined) this.#routes.set(key, [route]);
      else routes.push(route);
    }
    for (const { hosts, origin: { kind, namespace, name } } of published?.certificates ?? []) {
      if (kind !== "Secret" || !namespaces.has(namespace)) continue;
      let byHost = this.#secrets.get(namespace);
      if (byHost === undefined) this.#secrets.set(namespace, byHost = new Map());
      for (const host of hosts) byHost.set(host, name);
    }
  }

  /**
   * Those of its other names that were served beside the hosts of its routes; an alias with the host that
   * it stood for, which rules that are not served may change.
   */
  otherNamesOf({ identity, otherNames }: Source): readonly OtherName[] {
    if (otherNames.length === 0) return otherNames;
    const hosts = new Set(this.routesOf(identity).map(({ host }) => host));
    return otherNames.flatMap((name) => {
      if (name.kind === "www") return this.hasRoute(routeId(name.host, WHOLE_HOST)) ? name : [];
      const of = this.#aliases.get(name.host);
      if (of === name.of) return name;
      return of !== undefined && hosts.has(of) ? { ...name, of } : [];
    });
  }

  /** Whether any Ingress has this route. */
  hasRoute(id: string): boolean {
    return this.#ids.has(id);
  }

  routesOf({ key }: Identity): readonly Route[] {
    return this.#routes.get(key) ?? [];
  }

  /**
   * Those of one Ingress are the same for all of its routes that are not closed, but for rewrites,
   * paths that need no login, challenges of certificates and other names of hosts.
   */
  settingsOf(identity: Identity): RouteSettings {
    const routes = this.routesOf(identity).filter((route) => {
      const { filterSet, policy, match: { path } } = route;
      return (filterSet !== undefined || policy !== undefined) && !isOfOtherName(route) &&
        !isAcmeLocation(path.written ?? path.value);
    });
    const route = routes.find((route) => this.needsLogin(route)) ?? routes[0];
    if (route === undefined) return NO_SETTINGS;
    return withRewrite(this.#settingsOf(route), null);
  }

  /** Bytes of all that its routes have, and of what an Ingress would have for them. */
  settingsSizesOf(identity: Identity): ReadonlyMap<string, number> {
    const sizes = new Map(settingsSizes(this.settingsOf(identity)));
    for (const { filterSet, policy } of this.routesOf(identity)) {
      for (const id of [filterSet, policy]) {
        if (id !== undefined) sizes.set(id, this.#sizeOf(id));
      }
    }
    return sizes;
  }

  #sizeOf(id: string): number {
    let size = this.#sizes.get(id);
    if (size === undefined) {
      const part = this.#filterSets.get(id) ?? this.#policies.get(id);
      this.#sizes.set(id, size = part === undefined ? 0 : JSON.stringify(part).length);
    }
    return size;
  }

  /** Whether requests of a route need a login. */
  needsLogin(route: Route): boolean {
    return needsLogin(this.#settingsOf(route));
  }

  #settingsOf({ filterSet, policy }: Route): RouteSettings {
    return {
      filterSet: this.#filterSets.get(filterSet ?? "") ?? null,
      policy: this.#policies.get(policy ?? "") ?? null,
    };
  }

  /** How the path of a route is rewritten; null where it is not. */
  rewriteOf({ filterSet }: Route): FilterSpec | null {
    const filters = this.#filterSets.get(filterSet ?? "")?.filters ?? [];
    return filters.find(({ kind }) => kind === "rewrite") ?? null;
  }

  /** Names of Secrets of a namespace whose certificates are served, by host. */
  secretsOf(namespace: string): ReadonlyMap<string, string> {
    return this.#secrets.get(namespace) ?? new Map();
  }
}

/** What was last made of an Ingress. */
interface KnownModel {
  readonly routes: readonly Route[];
  /** JSON. */
  readonly tls: string;
  readonly settings: RouteSettings;
  readonly model: Source;
}

/** What a model was made of. */
interface Made {
  readonly ingress: Source;
  readonly hasRoom: boolean;
}

export class PublishedModels {
  readonly #known = new WeakMap<Source, KnownModel>();
  readonly #made = new WeakMap<Source, Made>();
  readonly #pool = new RouteSettingsPool();

  /**
   * @param source of which the annotations count as they are now; one that another bound has replaced
   *   already stands for the Ingress.
   * @param hasRoom for the settings that they ask for; else those that were published stay, and paths
   *   are closed for which they are less strict.
   */
  of(source: Source, parts: PublishedParts, hasRoom: boolean): Source {
    const made = this.#made.get(source);
    return made === undefined
      ? this.#of(source, source, parts, hasRoom)
      : this.#of(source, made.ingress, parts, made.hasRoom && hasRoom);
  }

  /** @param key of what is remembered. */
  #of(key: Source, ingress: Source, parts: PublishedParts, hasRoom: boolean): Source {
    const settings = hasRoom ? ingress.settings : this.#published(ingress, parts);
    const published = parts.routesOf(ingress.identity);
    const routes = published.some(isOfOtherName)
      ? published.filter((route) => !isOfOtherName(route))
      : published;
    const otherNames = parts.otherNamesOf(ingress);
    const hosts = new Set(routes.map(({ host }) => host));
    const { namespace } = ingress.identity.ref;
    const tls = Array.from(parts.secretsOf(namespace)).filter(([host]) => hosts.has(host)).sort();
    const last = this.#known.get(key);
    const tlsText = JSON.stringify(tls);
    if (
      last !== undefined && last.tls === tlsText && isSameSettings(last.settings, settings) &&
      isSamePart(last.model.otherNames, otherNames) && isSameRoutes(last.routes, routes)
    ) {
      return last.model;
    }
    const rules = rulesOf(ingress, routes, settings, parts, this.#pool);
    const model: Source = {
      ...ingress,
      problems: [],
      rules,
      hosts: hostFields(rules),
      otherNames,
      takesAnyHost: hosts.has(ANY_HOST),
      hasRules: true,
      defaultBackend: null,
      rewrittenDefault: null,
      tls: tls.map(([host, name]) => tlsOf(namespace, host, name)),
      settings,
      regex: regexOf(ingress, rules),
      closesHosts: closesWholeHosts(ingress) ? namedHosts(ingress) : [],
      regexPlaces: ingress.regexPlaces.renewed(),
      hostPlaces: new HostPlaces(ingress.profile),
      status: new LastStatus(),
    };
    this.#known.set(key, { routes, tls: tlsText, settings, model });
    this.#made.set(model, { ingress, hasRoom });
    return model;
  }

  /** Those that were published, with what takes no room of its own. */
  #published({ identity, settings }: Source, parts: PublishedParts): RouteSettings {
    const published = withBlockedClients(parts.settingsOf(identity), settings);
    return withStricterPolicy(published, settings, this.#pool);
  }
}

/**
 * Its paths are what they were made into already; of its hosts, those with such paths stay regular
 * expressions for other Ingresses too, as long as it asks for that.
 */
function regexOf({ regex }: Source, rules: readonly RuleModel[]): RegexWish | null {
  const has = (test: (path: PathModel) => boolean) => rules.some(({ paths }) => paths.some(test));
  if (regex !== null && has(({ place }) => place?.match.type === "Regex")) {
    return { usesRegex: true, target: null };
  }
  return has(({ rewrite }) => rewrite !== null) ? { usesRegex: false, target: null } : null;
}

/** All that it names, served or not. */
function namedHosts({ rules, closesHosts }: Source): readonly string[] {
  return [...new Set([...rules.flatMap(({ host }) => host ?? []), ...closesHosts])];
}

/** There is no room for the settings by which requests would be rejected. */
const NO_ROOM: ReplyAction = {
  kind: "reply",
  status: 503,
  reason: "there is no room for the settings that restrict access now",
  closed: true,
};

/** Whether paths are closed, since what was published would admit requests that are rejected now. */
export function hasPathWithoutRoom({ rules }: Source): boolean {
  return rules.some(({ paths }) =>
    paths.some(({ backend }) => backend.kind === "broken" && isSamePart(backend.action, NO_ROOM))
  );
}

function isSameSettings(a: RouteSettings, b: RouteSettings): boolean {
  return a.filterSet?.id === b.filterSet?.id && a.policy?.id === b.policy?.id;
}

function isSameRoutes(a: readonly Route[], b: readonly Route[]): boolean {
  return a.length === b.length && a.every((route, i) => {
    const other = b[i];
    return route === other ||
      (route.id === other.id && isSamePart(route.action, other.action) &&
        route.match.path.decoded === other.match.path.decoded &&
        route.match.path.slash === other.match.path.slash &&
        route.filterSet === other.filterSet &&
        route.origin.field === other.origin.field);
  });
}

function rulesOf(
  ingress: Source,
  routes: readonly Route[],
  settings: RouteSettings,
  parts: PublishedParts,
  pool: RouteSettingsPool,
): readonly RuleModel[] {
  // Of what had no filters, nothing is known that the newer ones would not do.
  const canReopen = settings.filterSet !== null || ingress.settings.filterSet === null;
  const current = canReopen ? new CurrentBackends(ingress) : null;
  const path = (route: Route): PathModel => {
    const { written, value } = route.match.path;
    const text = written ?? value;
    // The value may be another form of what is written: what needed a login goes on to do so.
    const noAuthLocations = parts.needsLogin(route) ? [] : ingress.noAuthLocations;
    const own = settingsOfPath(text, settings, noAuthLocations, pool);
    const wanted = settingsOfPath(text, ingress.settings, ingress.noAuthLocations, pool);
    const backend = isAsStrict(own ?? settings, wanted ?? ingress.settings)
      ? backendOf(ingress, route, current)
      : { kind: "broken" as const, action: NO_ROOM };
    const filter = parts.rewriteOf(route);
    const rewrite = filter === null
      ? null
      : { settings: withRewrite(own ?? settings, filter), fault: null };
    return pathOf(ingress, route, backend, own, rewrite);
  };
  return [...Map.groupBy(routes, ({ host }) => host)].map(([host, own]) => ({
    field: own[0].origin.field.replace(/\.http\b.*$/, ""),
    host,
    paths: own.map(path),
  }));
}

/** What an Ingress says now of the routes that it has published. */
class CurrentBackends {
  readonly #byId = new Map<string, BackendRef>();
  /** Of paths that may be regular expressions, by host and what is written. */
  readonly #byText = new Map<string, BackendRef>();
  readonly #defaultBackend: BackendRef | null;

  constructor({ rules, defaultBackend }: Source) {
    this.#defaultBackend = defaultBackend;
    for (const { host, paths } of rules) {
      for (const { place, written, backend } of paths) {
        addFirst(this.#byId, place?.id, backend);
        addFirst(this.#byText, written === null ? undefined : `${host} ${written.path}`, backend);
      }
    }
  }

  find({ id, host, match: { path }, origin: { field } }: Route): BackendRef | null {
    if (field.startsWith(DEFAULT_BACKEND_FIELD)) return this.#defaultBackend;
    const byText = path.type === "Regex"
      ? this.#byText.get(`${host} ${path.written ?? path.value}`)
      : undefined;
    return this.#byId.get(id) ?? byText ?? null;
  }
}

/** As a path is the first Ingress's, it is the first rule's that has it. */
function addFirst<V>(map: Map<string, V>, key: string | undefined, value: V): void {
  if (key !== undefined && !map.has(key)) map.set(key, value);
}

/** A route that had none, or was closed, gets the one that the Ingress names now. */
function backendOf(ingress: Source, route: Route, current: CurrentBackends | null): BackendRef {
  const { action, origin: { field } } = route;
  return action.kind === "forward"
    ? serviceOf(ingress, action.backends[0].upstream, field)
    : current?.find(route) ?? { kind: "broken", action };
}

function pathOf(
  { identity }: Source,
  { id, host, match, origin: { field } }: Route,
  backend: BackendRef,
  settings: RouteSettings | null,
  rewrite: PathRewrite | null,
): PathModel {
  const place = new RoutePlace(host, match.path, identity, field, id);
  return {
    ...{ field, place, backend, rewrite, settings, written: null, problems: [] },
    dropped: { field, routes: [], outcome: "dropped" },
  };
}

/** The Service of an upstream; see `Upstream.id`. */
function serviceOf(
  { identity, backendWish: wish }: Source,
  upstream: string,
  field: string,
): BackendRef {
  const { namespace } = identity.ref;
  const colon = upstream.lastIndexOf(":");
  const name = upstream.slice(namespace.length + 1, colon);
  const [written] = upstream.slice(colon + 1).split("+");
  const port = /^\d+$/.test(written) ? Number(written) : written;
  const at = field.startsWith("spec.defaultBackend") ? field : `${field}.backend`;
  return {
    kind: "service",
    namespace,
    name,
    port,
    id: upstreamId(namespace, name, port, wish),
    wish,
    nameField: `${at}.service.name`,
    portField: `${at}.service.port.${typeof port === "number" ? "number" : "name"}`,
  };
}

function tlsOf(namespace: string, host: string, name: string): TlsModel {
  const ref = { kind: "Secret", namespace, name };
  const field = "spec.tls";
  return {
    field,
    hosts: [{ field, host }],
    secret: { ref, key: keyOf(ref), label: formatObject(ref) },
    status: new LastTlsStatus(field),
  };
}
