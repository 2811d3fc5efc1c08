/**
 * What an Ingress asks for. In: the model of an Ingress. Out: its routes, hosts, upstreams and Secrets,
 * each once, counted by the bounds of namespaces and of the cluster.
 */
import { routeId, WHOLE_HOST } from "../model/route_place.ts";
import { type RouteSettings, settingsSizes } from "../model/route_settings.ts";
import { ObjectCache } from "../../base/memo.ts";
import type { PathMatch } from "../../../shared/snapshot/types.ts";
import { MAX_CLOSED_REASON } from "../model/closed_reason.ts";
import type { BackendRef } from "../model/backend_ref.ts";
import { RouteTally, type RouteTexts } from "./route_sizes.ts";
import { alikeOf } from "./setting_sizes.ts";
import { settingsOf } from "../model/source_settings.ts";
import type { Source, WrittenPath } from "../model/source.ts";

export interface Demand {
  /** Bytes of host and path, by id of the route. */
  readonly routes: ReadonlyMap<string, number>;
  readonly bytes: number;
  /** Bytes of filter sets and policies, by id. */
  readonly settings: ReadonlyMap<string, number>;
  /** Of these, characters that compression leaves out, by id. */
  readonly alike: ReadonlyMap<string, number>;
  /** Names of Secrets. */
  readonly secrets: ReadonlySet<string>;
  readonly hosts: ReadonlySet<string>;
  /** Ids. */
  readonly upstreams: ReadonlySet<string>;
  /** What its routes take beside these. */
  readonly texts: RouteTexts;
  /** Hosts that certificates are given, by name of the Secret; null for the names in the certificate. */
  readonly secured: ReadonlyMap<string, ReadonlySet<string> | null>;
}

/** Counts each model once. */
export class Demands {
  /** Thousands of objects have the same settings. */
  readonly #sizes = new ObjectCache(sizesOf);
  readonly #known = new ObjectCache((source: Source) => readDemand(source, this.#sizes));

  of(model: Source): Demand {
    return this.#known.of(model);
  }
}

function readDemand(
  source: Source,
  sizes: ObjectCache<RouteSettings, Sizes>,
): Demand {
  const { rules, tls, defaultBackend, fallback, authenticator, otherNames } = source;
  const routes = new Map<string, number>();
  const hosts = new Set<string>();
  const upstreams = new Set<string>();
  if (fallback !== null) upstreams.add(fallback.id);
  if (defaultBackend?.kind === "service") upstreams.add(defaultBackend.id);
  // Of what the operator names, no namespace has a share.
  if (authenticator?.isGlobal === false) upstreams.add(authenticator.backend.id);
  let bytes = 0;
  const texts = new RouteTally();
  const isClosed = source.refusals.length > 0 || source.closure !== null;
  const add = (id: string, host: string, path: string, backend: BackendRef | null = fallback) => {
    if (routes.has(id)) return;
    const size = host.length + path.length;
    routes.set(id, size);
    bytes += size;
    const ofBackend = backend?.kind === "service" ? backend.id.length : 0;
    texts.add(host, path, isClosed ? Math.max(MAX_CLOSED_REASON, ofBackend) : ofBackend);
  };
  for (const { host, paths } of rules) {
    if (host === null) continue;
    hosts.add(host);
    for (const { backend } of paths) {
      if (backend.kind === "service") upstreams.add(backend.id);
    }
    let hasMatch = false;
    for (const { place, written, backend } of paths) {
      const match = place?.match ?? regexOf(written);
      if (match === null) continue;
      hasMatch = true;
      add(routeId(host, match), host, match.value, backend);
    }
    if (!hasMatch || defaultBackend !== null) {
      add(routeId(host, WHOLE_HOST), host, WHOLE_HOST.value, defaultBackend ?? fallback);
    }
  }
  // An alias costs a proxy no more than the route of a name that is redirected.
  for (const { host } of otherNames) {
    hosts.add(host);
    add(routeId(host, WHOLE_HOST), host, WHOLE_HOST.value);
  }
  const secrets = new Set(tls.flatMap(({ secret }) => secret?.ref.name ?? []));
  const secured = securedHosts(tls);
  const [own, ...others] = settingsOf(source).map((each) => sizes.of(each));
  const { settings, alike } = others.length === 0 ? own : merged([own, ...others]);
  return { routes, bytes, settings, alike, secrets, hosts, upstreams, texts, secured };
}

function securedHosts(tls: Source["tls"]): Demand["secured"] {
  const secured = new Map<string, Set<string> | null>();
  for (const { secret, hosts } of tls) {
    if (secret === null) continue;
    const { name } = secret.ref;
    const known = secured.get(name);
    if (hosts === null || known === null) {
      secured.set(name, null);
      continue;
    }
    const own = known ?? new Set();
    for (const { host } of hosts) own.add(host);
    secured.set(name, own);
  }
  return secured;
}

type Sizes = Pick<Demand, "settings" | "alike">;

function sizesOf(settings: RouteSettings): Sizes {
  const sizes = settingsSizes(settings);
  const parts = [settings.filterSet, settings.policy].filter((part) => part !== null);
  const alike = new Map(parts.map((part) => [part.id, alikeOf(part, sizes.get(part.id) ?? 0)]));
  return { settings: sizes, alike };
}

function merged(all: readonly Sizes[]): Sizes {
  return {
    settings: new Map(all.flatMap(({ settings }) => [...settings])),
    alike: new Map(all.flatMap(({ alike }) => [...alike])),
  };
}

/** Of a path that is nothing but a regular expression. */
function regexOf(written: WrittenPath | null): PathMatch | null {
  return written === null ? null : { type: "Regex", value: written.path };
}
