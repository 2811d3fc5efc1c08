/**
 * Reading routes. In: one element of a snapshot's `routes`, not yet trusted. Out: the route, its
 * host and path in their one form, what it refers to known to exist.
 */
import { ConfigCheck, isObject } from "./config_check.ts";
import { emptyHostRoute } from "./empty_host.ts";
import { readNode } from "./node_reader.ts";
import { type KnownIds, strayReference } from "./references.ts";
import { routeKey } from "./route_key.ts";
import { ROUTE } from "./schema.ts";
import type { Route } from "./types.ts";

/** Reads the routes of one snapshot, no two of which may share an id, or host and match. */
export class RouteReader {
  #known: KnownIds;
  #check: ConfigCheck;
  /** JSON paths of routes, by id and by match. */
  #byId = new Map<string, string>();
  #byMatch = new Map<string, string>();
  /** By host, what stands in the place of its first route that was left out. */
  #placeholders = new Map<string, Route>();

  constructor(known: KnownIds, check: ConfigCheck) {
    this.#known = known;
    this.#check = check;
  }

  read(value: unknown, path: string): Route | null {
    const check = this.#check;
    const refusals = check.refusals.length;
    const read = readNode(ROUTE, value, path, check);
    if (read === null) {
      return check.refusals.length > refusals ? null : this.#leaveOut(value, path);
    }
    const key = routeKey(read);
    const route: Route = read.id === "" ? { ...read, id: key } : read;
    const stray = strayReference(route, this.#known);
    if (stray !== null) {
      return check.refuse(`${path}.${stray.field}`, stray.message, stray.remedy);
    }
    const isNew = this.#claim(this.#byMatch, key, "host and match", path) &&
      this.#claim(this.#byId, route.id, "id", path);
    return isNew ? route : null;
  }

  /** The routes read, with local replies for the hosts of which all were left out. */
  settle(routes: readonly Route[]): Route[] {
    const isPlaceholder = (route: Route) => this.#placeholders.get(route.host) === route;
    const served = new Set(routes.filter((route) => !isPlaceholder(route)).map(({ host }) => host));
    return routes.filter((route) => !isPlaceholder(route) || !served.has(route.host));
  }

  /** The place of a route whose path is left out, if it is the first of its host. */
  #leaveOut(value: unknown, path: string): Route | null {
    const silent = new ConfigCheck();
    const short = {
      ...(value as object),
      match: { path: { type: "Prefix", value: "/" } },
    };
    const route = readNode(ROUTE, short, path, silent);
    if (route === null || !isObject(value)) return null;
    const hasId = route.id !== "";
    if (hasId && !this.#claim(this.#byId, route.id, "id", path)) return null;
    if (this.#placeholders.has(route.host)) return null;
    const placeholder = emptyHostRoute(route.host, route.origin, hasId ? route.id : undefined);
    this.#placeholders.set(route.host, placeholder);
    return placeholder;
  }

  #claim(taken: Map<string, string>, key: string, what: string, path: string): boolean {
    const other = taken.get(key);
    if (other === undefined) {
      taken.set(key, path);
      return true;
    }
    this.#check.refuse(path, `it has the ${what} of ${other}`, "remove one of the two");
    return false;
  }
}
