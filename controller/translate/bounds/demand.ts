/**
 * What an Ingress asks for. In: the model of an Ingress. Out: its routes, hosts, upstreams and Secrets,
 * each once, counted by the bounds of namespaces and of the cluster.
 */
import { routeId, WHOLE_HOST } from "../model/route_place.ts";
import { ObjectCache } from "../../base/memo.ts";
import type { Source } from "../model/source.ts";

export interface Demand {
  /** Bytes of host and path, by id of the route. */
  readonly routes: ReadonlyMap<string, number>;
  readonly bytes: number;
  /** Names of Secrets. */
  readonly secrets: ReadonlySet<string>;
  readonly hosts: ReadonlySet<string>;
  /** Ids. */
  readonly upstreams: ReadonlySet<string>;
}

/** Counts each model once. */
export class Demands {
  readonly #known = new ObjectCache(readDemand);

  of(model: Source): Demand {
    return this.#known.of(model);
  }
}

function readDemand({ rules, tls, fallback }: Source): Demand {
  const routes = new Map<string, number>();
  const hosts = new Set<string>();
  const upstreams = new Set<string>();
  if (fallback !== null) upstreams.add(fallback.id);
  let bytes = 0;
  const add = (id: string, host: string, path: string) => {
    if (routes.has(id)) return;
    const size = host.length + path.length;
    routes.set(id, size);
    bytes += size;
  };
  for (const { host, paths } of rules) {
    if (host === null) continue;
    hosts.add(host);
    for (const { backend } of paths) {
      if (backend.kind === "service") upstreams.add(backend.id);
    }
    const places = paths.flatMap(({ place }) => place ?? []);
    for (const { id, match } of places) add(id, host, match.value);
    if (places.length === 0) add(routeId(host, WHOLE_HOST), host, WHOLE_HOST.value);
  }
  const secrets = new Set(tls.flatMap(({ secret }) => secret?.ref.name ?? []));
  return { routes, bytes, secrets, hosts, upstreams };
}
