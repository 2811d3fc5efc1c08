/**
 * What was published of a source. In: the source as it is now, and the routes and certificates of the
 * snapshot published last. Out: a source with the same hosts and paths, and the backends and Secrets as
 * they are now; the very same one while the same is published of it.
 */
import type { Route, Snapshot } from "../../../shared/snapshot/types.ts";
import { ANY_HOST } from "../model/host.ts";
import { type Identity, keyOf } from "../../base/identity.ts";
import { isSamePart } from "../../../shared/snapshot/equality.ts";
import { HostPlaces, RoutePlace } from "../model/route_place.ts";
import { LastStatus, LastTlsStatus } from "../model/status.ts";
import { formatObject } from "../../../shared/problem.ts";
import { type BackendRef, upstreamId } from "../model/backend_ref.ts";
import { hostFields } from "../model/host_field.ts";
import type { PathModel, RuleModel, Source, TlsModel } from "../model/source.ts";

/** What one snapshot has of the Ingresses of some namespaces. */
export class PublishedParts {
  /** By `namespace/name` of the Ingress. */
  readonly #routes = new Map<string, Route[]>();
  /** Keys of Secrets, by host. */
  readonly #secrets = new Map<string, Map<string, string>>();
  /** Ids of all routes. */
  readonly #ids = new Set<string>();

  constructor(published: Snapshot | null, namespaces: ReadonlySet<string>) {
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

  /** Whether any Ingress has this route. */
  hasRoute(id: string): boolean {
    return this.#ids.has(id);
  }

  routesOf({ key }: Identity): readonly Route[] {
    return this.#routes.get(key) ?? [];
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
  readonly model: Source;
}

export class PublishedModels {
  readonly #known = new WeakMap<Source, KnownModel>();

  /** @param ingress of which the annotations count as they are now. */
  of(ingress: Source, parts: PublishedParts): Source {
    const routes = parts.routesOf(ingress.identity);
    const hosts = new Set(routes.map(({ host }) => host));
    const { namespace } = ingress.identity.ref;
    const tls = Array.from(parts.secretsOf(namespace)).filter(([host]) => hosts.has(host)).sort();
    const last = this.#known.get(ingress);
    const tlsText = JSON.stringify(tls);
    if (last !== undefined && last.tls === tlsText && isSameRoutes(last.routes, routes)) {
      return last.model;
    }
    const rules = rulesOf(ingress, routes);
    const model: Source = {
      ...ingress,
      problems: [],
      rules,
      hosts: hostFields(rules),
      takesAnyHost: hosts.has(ANY_HOST),
      hasRules: true,
      defaultBackend: null,
      tls: tls.map(([host, name]) => tlsOf(namespace, host, name)),
      hostPlaces: new HostPlaces(),
      status: new LastStatus(),
    };
    this.#known.set(ingress, { routes, tls: tlsText, model });
    return model;
  }
}

function isSameRoutes(a: readonly Route[], b: readonly Route[]): boolean {
  return a.length === b.length && a.every((route, i) => {
    const other = b[i];
    return route === other ||
      (route.id === other.id && isSamePart(route.action, other.action) &&
        route.origin.field === other.origin.field);
  });
}

function rulesOf(ingress: Source, routes: readonly Route[]): readonly RuleModel[] {
  return [...Map.groupBy(routes, ({ host }) => host)].map(([host, own]) => ({
    field: own[0].origin.field.replace(/\.http\b.*$/, ""),
    host,
    paths: own.map((route) => pathOf(ingress, route)),
  }));
}

function pathOf(ingress: Source, { host, match, action, origin: { field } }: Route): PathModel {
  const { identity } = ingress;
  const backend: BackendRef = action.kind === "forward"
    ? serviceOf(ingress, action.backends[0].upstream, field)
    : { kind: "broken", action };
  const place = new RoutePlace(host, match.path, identity, field);
  return { field, place, backend, dropped: { field, routes: [], outcome: "dropped" } };
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
