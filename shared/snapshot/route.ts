/**
 * Reading routes. In: one element of a snapshot's `routes`, not yet trusted. Out: the route, its
 * host and path in their one form, its upstream known to exist.
 */
import { type ConfigCheck, describe, isObject } from "./config_check.ts";
import { emptyHostRoute } from "./empty_host.ts";
import { parseHostPattern } from "../host/host_pattern.ts";
import { readRoutePath } from "./route_path.ts";
import type { Action, Origin, PathMatch, Route } from "./types.ts";

const ANSWER_STATUSES = [404, 500, 503] as const;

/** Which upstreams there are. */
export type KnownIds = Pick<ReadonlySet<string>, "has">;

/** Reads the routes of one snapshot, no two of which may share an id, or host and path. */
export class RouteReader {
  #upstreamIds: KnownIds;
  #check: ConfigCheck;
  /** JSON paths of routes, by id and by match. */
  #byId = new Map<string, string>();
  #byMatch = new Map<string, string>();
  /** By host, what stands in the place of its first route that was left out. */
  #placeholders = new Map<string, Route>();

  constructor(upstreamIds: KnownIds, check: ConfigCheck) {
    this.#upstreamIds = upstreamIds;
    this.#check = check;
  }

  read(value: unknown, path: string): Route | null {
    const check = this.#check;
    const route = check.object(value, path, ["id", "host", "path", "action", "origin"]);
    if (route === null) return null;
    const host = readHost(route.host, `${path}.host`, check);
    const match = readPathMatch(route.path, `${path}.path`, check);
    const action = this.readAction(route.action, `${path}.action`);
    const origin = readOrigin(route.origin, path, check);
    if (host === null) return null;
    if (match === null) return origin && this.#leaveOut(host, origin, route.id, path);
    const key = `${host} ${match.type} ${match.value}`;
    const id = route.id === undefined ? key : check.name(route.id, `${path}.id`);
    if (id === null || action === null || origin === null) return null;
    const isNew = this.#claim(this.#byMatch, key, "host and path", path) &&
      this.#claim(this.#byId, id, "id", path);
    return isNew ? { id, host, path: match, action, origin } : null;
  }

  /** The routes read, with answers for the hosts of which all were left out. */
  settle(routes: readonly Route[]): Route[] {
    const isPlaceholder = (route: Route) => this.#placeholders.get(route.host) === route;
    const served = new Set(routes.filter((route) => !isPlaceholder(route)).map(({ host }) => host));
    return routes.filter((route) => !isPlaceholder(route) || !served.has(route.host));
  }

  /** The place of a route whose path is left out, if it is the first of its host. */
  #leaveOut(host: string, origin: Origin, writtenId: unknown, path: string): Route | null {
    const check = this.#check;
    const id = writtenId === undefined ? undefined : check.name(writtenId, `${path}.id`);
    if (id === null || (id !== undefined && !this.#claim(this.#byId, id, "id", path))) return null;
    if (this.#placeholders.has(host)) return null;
    const placeholder = emptyHostRoute(host, origin, id);
    this.#placeholders.set(host, placeholder);
    return placeholder;
  }

  readAction(value: unknown, path: string): Action | null {
    const check = this.#check;
    const kinds = ["forward", "answer"] as const;
    const kind = isObject(value) ? check.oneOf(value.kind, `${path}.kind`, kinds) : "answer";
    if (kind === null) return null;
    if (kind === "answer") {
      const answer = check.object(value, path, ["kind", "status", "reason", "closed"]);
      if (answer === null) return null;
      const status = check.oneOf(answer.status, `${path}.status`, ANSWER_STATUSES);
      const reason = check.string(answer.reason, `${path}.reason`);
      if (status === null || reason === null) return null;
      return { kind, status, reason, ...(answer.closed === true ? { closed: true } : {}) };
    }
    const forward = check.object(value, path, ["kind", "upstream"]);
    const upstream = forward && check.name(forward.upstream, `${path}.upstream`);
    if (upstream === null) return null;
    if (this.#upstreamIds.has(upstream)) return { kind, upstream };
    return check.refuse(
      `${path}.upstream`,
      `${describe(upstream)} is the id of no upstream`,
      "write the id of one of $.upstreams",
    );
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

export function readHost(value: unknown, path: string, check: ConfigCheck): string | null {
  const text = check.string(value, path);
  if (text === null) return null;
  const pattern = parseHostPattern(text);
  if (pattern.ok) return pattern.host;
  return check.refuse(
    path,
    `the host ${describe(text)} ${pattern.reason}`,
    "write a name such as app.example.com, *.example.com, or * for any host",
  );
}

function readPathMatch(value: unknown, path: string, check: ConfigCheck): PathMatch | null {
  const match = check.object(value, path, ["type", "value"]);
  if (match === null) return null;
  const type = check.oneOf(match.type, `${path}.type`, ["Exact", "Prefix"]);
  const text = check.string(match.value, `${path}.value`);
  if (type === null || text === null) return null;
  const read = readRoutePath(type, text);
  if (read.ok) return read.match;
  return read.tooLong
    ? check.error(`${path}.value`, `the path ${read.reason}; its route is left out`, "shorten it")
    : check.refuse(`${path}.value`, `the path ${read.reason}`, "write it as a client sends it");
}

export function readOrigin(value: unknown, path: string, check: ConfigCheck): Origin | null {
  if (value === undefined) return { kind: "File", namespace: "", name: "", field: path };
  const origin = check.object(value, `${path}.origin`, ["kind", "namespace", "name", "field"]);
  if (origin === null) return null;
  const kind = check.string(origin.kind, `${path}.origin.kind`);
  const namespace = check.string(origin.namespace, `${path}.origin.namespace`);
  const name = check.string(origin.name, `${path}.origin.name`);
  const field = check.string(origin.field, `${path}.origin.field`);
  if (kind === null || namespace === null || name === null || field === null) return null;
  return { kind, namespace, name, field };
}
