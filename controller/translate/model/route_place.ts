/**
 * The place of a route: a host and path, and where in an Ingress they are written. In: what was read
 * of the Ingress. Out: the route for an action, and the status of the path; the very same objects as
 * long as the Ingress and the action are the same, so that who takes the snapshot sees what changed.
 */
import { isSamePart } from "../../../shared/snapshot/equality.ts";
import type { Action, Origin, PathMatch, Route } from "../../../shared/snapshot/types.ts";
import type { Identity } from "../../base/identity.ts";
import type { Profile } from "./profile.ts";
import { NO_SETTINGS, type RouteSettings } from "./route_settings.ts";
import type { PathStatus } from "./status.ts";

/** All paths of a host. */
export const WHOLE_HOST: PathMatch = { type: "Prefix", value: "/" };

/** Of a reply behind the routes of a host, which keeps requests from what others have of broader hosts. */
export function guardId(host: string): string {
  return `${host} guard`;
}

/** Whether a route is the reply for a host that a namespace owns and has no route for; its origin names it. */
export function isOwnerGuard({ id, host, origin }: Route): boolean {
  return origin.kind === "Namespace" && id === guardId(host);
}

/** ingress-nginx compares decoded paths. */
export function inProfile(match: PathMatch, profile: Profile): PathMatch {
  return profile === "nginx" ? { ...match, decoded: true } : match;
}

export class RoutePlace {
  /** Of the route. */
  readonly id: string;
  readonly host: string;
  readonly match: PathMatch;
  readonly origin: Origin;
  #route: Route | null = null;
  #served: PathStatus | null = null;
  #failing: PathStatus | null = null;

  /** @param id Of the route, where the match alone does not tell it from others. */
  constructor(
    host: string,
    match: PathMatch,
    owner: Identity,
    field: string,
    id: string = routeId(host, match),
  ) {
    const { kind, namespace, name } = owner.ref;
    this.id = id;
    this.host = host;
    this.match = match;
    this.origin = { kind, namespace, name, field };
  }

  route(action: Action, { filterSet, policy }: RouteSettings = NO_SETTINGS): Route {
    const last = this.#route;
    if (
      last !== null && last.filterSet === filterSet?.id && last.policy === policy?.id &&
      isSamePart(last.action, action)
    ) return last;
    return this.#route = {
      id: this.id,
      host: this.host,
      match: { path: this.match },
      action,
      ...(filterSet === null ? {} : { filterSet: filterSet.id }),
      ...(policy === null ? {} : { policy: policy.id }),
      origin: this.origin,
    };
  }

  /** Of a path that became this route and nothing else. */
  status(isServed: boolean): PathStatus {
    return isServed
      ? this.#served ??= this.#statusOf("served")
      : this.#failing ??= this.#statusOf("failing");
  }

  #statusOf(outcome: PathStatus["outcome"]): PathStatus {
    return { field: this.origin.field, routes: [this.id], outcome };
  }
}

/** Places that an Ingress has beside those of its paths: the rest of its hosts. */
export class HostPlaces {
  readonly #match: PathMatch;
  /** By field and host. */
  #places: Map<string, RoutePlace> | null = null;

  /** @param profile Of the Ingress. */
  constructor(profile: Profile) {
    this.#match = inProfile(WHOLE_HOST, profile);
  }

  /** The place of all paths of a host. */
  of(host: string, owner: Identity, field: string): RoutePlace {
    const key = `${field} ${host}`;
    this.#places ??= new Map();
    let place = this.#places.get(key);
    if (place === undefined) {
      place = new RoutePlace(host, this.#match, owner, field);
      this.#places.set(key, place);
    }
    return place;
  }
}

/** The match for a text that is a regular expression, and what is wrong with it. */
type Locate = (text: string) => { readonly match: PathMatch; readonly fault: string | null };

/** A path that is a regular expression. */
export interface RegexPath {
  /** As it is written, which decides its precedence. */
  readonly path: string;
  /** Whether another route has the path itself: this one has what begins with it and a slash. */
  readonly isBelow: boolean;
}

/** Places that an Ingress has where its paths are regular expressions. */
export class RegexPlaces {
  readonly #locate: Locate;
  /** By field, host and path. */
  #places: Map<string, RegexPlace> | null = null;

  constructor(locate: Locate) {
    this.#locate = locate;
  }

  /** Without those of before. */
  renewed(): RegexPlaces {
    return new RegexPlaces(this.#locate);
  }

  of(host: string, { path, isBelow }: RegexPath, field: string, owner: Identity): RegexPlace {
    const text = isBelow ? `${path}/` : path;
    const key = `${field} ${host} ${text}`;
    this.#places ??= new Map();
    let known = this.#places.get(key);
    if (known === undefined) {
      const { match, fault } = this.#locate(text);
      const place = isBelow
        ? new RoutePlace(host, { ...match, written: path }, owner, field, belowId(host, path))
        : new RoutePlace(host, match, owner, field);
      known = { place, text, fault };
      this.#places.set(key, known);
    }
    return known;
  }
}

/** Beside that of the path itself; as the Prefix is called elsewhere. */
function belowId(host: string, path: string): string {
  return routeId(host, { type: "Prefix", value: path });
}

export interface RegexPlace {
  readonly place: RoutePlace;
  /** The regular expression. */
  readonly text: string;
  /** Why its requests get 500; null where they do not. */
  readonly fault: string | null;
}

export function routeId(host: string, { type, value, written }: PathMatch): string {
  return `${host} ${type} ${written ?? value}`;
}
