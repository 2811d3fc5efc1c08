/**
 * Who has which host and path. In: claims of Ingresses, the oldest Ingress first. Out: one route for
 * each host and path, its first claimant's; and for each host the Ingress that named it first.
 */
import type { Action, PathMatch, ReplyAction, Route } from "../../../shared/snapshot/types.ts";
import type { BackendResolver } from "../backends/backend.ts";
import type { Resolution } from "../backends/backend_plan.ts";
import type { Closures } from "./closures.ts";
import type { ProblemList } from "../../base/problems.ts";
import { routeId, type RoutePlace, WHOLE_HOST } from "../model/route_place.ts";
import { hasExternalAuth, NO_SETTINGS, type RouteSettings } from "../model/route_settings.ts";
import type { BackendRef } from "../model/backend_ref.ts";
import type { Authenticator, Source, WrittenPath } from "../model/source.ts";

/** A route, with whose it is. */
export interface Claim {
  readonly route: Route;
  readonly owner: Source;
  readonly isServed: boolean;
}

/** A host that rules name. */
interface NamedHost {
  readonly owner: Source;
  /** The rule that names the host: `spec.rules[0]`. */
  readonly field: string;
  /** Whether any Ingress has a path of it. */
  hasRoutes: boolean;
}

/** What requests to a host get that none of its paths takes. */
export interface HostRest {
  readonly action: Action;
  /** Whether the default action of the snapshot is another one. */
  readonly isOwn: boolean;
}

export class RouteClaims {
  #backends: BackendResolver;
  #closures: Closures;
  #problems: ProblemList;
  /** By route id. */
  #claims = new Map<string, Claim>();
  /** Those of regular expressions, by host, type and path as they are written. */
  #written = new Map<string, Claim>();
  #hosts = new Map<string, NamedHost>();
  #requested = new Map<Source, string[]>();

  constructor(backends: BackendResolver, closures: Closures, problems: ProblemList) {
    this.#backends = backends;
    this.#closures = closures;
    this.#problems = problems;
  }

  /** Makes `owner` the host's owner, unless an older Ingress is. */
  claimHost(host: string, owner: Source, field: string): void {
    if (!this.#hosts.has(host)) this.#hosts.set(host, { owner, field, hasRoutes: false });
  }

  hostOwner(host: string): Source | null {
    return this.#hosts.get(host)?.owner ?? null;
  }

  /** Who has this host and path, if anyone. */
  find(host: string, match: PathMatch): Claim | null {
    return this.findId(routeId(host, match));
  }

  /** Who has the route of that id, if anyone. */
  findId(id: string): Claim | null {
    return this.#claims.get(id) ?? null;
  }

  /** Who has the regular expression that is written so, if anyone. */
  findWritten(host: string, written: WrittenPath): Claim | null {
    return this.#written.get(writtenKey(host, written)) ?? null;
  }

  /** Keeps what a regular expression was made into. */
  keepWritten(host: string, written: WrittenPath, claim: Claim): void {
    this.#written.set(writtenKey(host, written), claim);
  }

  /**
   * Makes the route for a place that nobody has, on a host that is claimed.
   *
   * @param settings Of the route, unless it is closed.
   */
  claim(
    place: RoutePlace,
    owner: Source,
    backend: BackendRef,
    settings: RouteSettings = owner.settings,
  ): Claim {
    const { action, isServed, isClosed } = this.resolve(place.host, owner, backend, settings);
    const route = place.route(action, isClosed ? NO_SETTINGS : settings);
    const claim = { route, owner, isServed };
    this.#claims.set(place.id, claim);
    const named = this.#hosts.get(place.host);
    if (named !== undefined) named.hasRoutes = true;
    return claim;
  }

  /**
   * What requests for a backend get. `host` is null for what no rule takes.
   *
   * @param settings Of the route.
   */
  resolve(
    host: string | null,
    owner: Source,
    backend: BackendRef,
    settings: RouteSettings,
  ): Resolution {
    const closed = this.#closures.of(owner, host);
    if (closed !== null) return { action: closed, isServed: false, isClosed: true };
    const unasked = owner.authenticator === null || !hasExternalAuth(settings)
      ? null
      : this.#withoutAuthenticator(owner, owner.authenticator);
    if (unasked !== null) return { action: unasked, isServed: false, isClosed: true };
    if (backend.kind === "service") {
      this.#countRequest(owner, backend.id);
      if (owner.fallback !== null) this.#countRequest(owner, owner.fallback.id);
    }
    const resolution = this.#backends.resolve(
      backend,
      () => this.#problems.about(owner.identity.ref),
      owner.fallback,
    );
    if (owner.protocolWish === null) return resolution;
    const action = this.#closures.ofProtocol(owner, this.#backends.protocolOf(backend));
    return action === null ? resolution : { action, isServed: false, isClosed: true };
  }

  /** Null where whoever authenticates can be asked. */
  #withoutAuthenticator(
    owner: Source,
    { backend, host, isGlobal }: Authenticator,
  ): ReplyAction | null {
    this.#countRequest(owner, backend.id);
    if (isGlobal) {
      // What is wrong with it is reported once, of the object that names it.
      const { action } = this.#backends.resolve(backend, null);
      return action.kind === "reply"
        ? { ...action, reason: `global-auth-url: ${action.reason}`, closed: true }
        : null;
    }
    const report = () => this.#problems.about(owner.identity.ref);
    const { action } = this.#backends.resolve(backend, report);
    if (host !== null && !this.#backends.resolvesNames && !this.#closures.isNamed(host)) {
      report().warning(backend.nameField, {
        reason: "ExternalNameNotAllowed",
        message:
          `proxies may not resolve ${host}, so requests get 500 unless an Ingress has the host`,
        remedy:
          "Use a host of an Ingress, or a Service of the namespace as NAME.NAMESPACE.svc, or " +
          "start with --allow-external-name",
      });
    }
    return action.kind === "reply" ? { ...action, closed: true } : null;
  }

  #countRequest(owner: Source, id: string): void {
    const requested = this.#requested.get(owner);
    if (requested === undefined) this.#requested.set(owner, [id]);
    else requested.push(id);
  }

  /** Whether an Ingress names the host that may. */
  hasHost(host: string): boolean {
    return this.#hosts.has(host);
  }

  /** The backends that were resolved for each Ingress, by id, once for each time. */
  requested(): Map<Source, readonly string[]> {
    return this.#requested;
  }

  /**
   * The routes in no order. A host that is named, but has no path that can be served, gets the
   * action of its rest, or a broader host would take its requests.
   *
   * @param restOf What the rest of a host gets that no path takes.
   */
  routes(restOf: (host: string) => HostRest): Route[] {
    const routes = [...this.#claims.values()].map(({ route }) => route);
    for (const [host, { owner, field, hasRoutes }] of this.#hosts) {
      const { action, isOwn } = restOf(host);
      if (hasRoutes && (!isOwn || this.find(host, WHOLE_HOST) !== null)) continue;
      routes.push(owner.hostPlaces.of(host, owner.identity, field).route(action));
    }
    return routes;
  }
}

/** As ingress-nginx tells locations of a server apart. */
export function writtenKey(host: string, { type, path }: WrittenPath): string {
  return `${host} ${type} ${path}`;
}
