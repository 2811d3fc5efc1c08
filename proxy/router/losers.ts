/**
 * Why routes lose. In: a snapshot, a request and the route that has won. Out: every other route whose
 * host takes the request's, each with the first reason against it, in a sentence.
 */
import {
  BUILT_IN_LISTENERS,
  isOfIngresses,
  sharedSocketOf,
} from "../../shared/snapshot/listener_id.ts";
import { decodedPath, decodedRoutePath } from "../../shared/path/decoded_path.ts";
import { literalStart } from "../../shared/path/literal_start.ts";
import type { HostSettings, Route, RouteMatch, Snapshot } from "../../shared/snapshot/types.ts";
import { Conditions, isUnconditional } from "./conditions.ts";
import { hostPatternTakes, patternsOf } from "./host.ts";
import { compilePattern } from "./patterns/pattern.ts";
import { PatternWork } from "./patterns/work.ts";
import { type MatchedRequest, RequestView } from "./request_view.ts";

/** What a client sends besides host and path. */
export interface RequestDetails {
  /** Id of the listener that it connects to. */
  readonly listener: string;
  readonly method: string;
  /** With its `?`, or "". */
  readonly query: string;
  /** Lines, names in any case. */
  readonly headers: readonly (readonly [name: string, value: string])[];
}

export const PLAIN_DETAILS: RequestDetails = {
  listener: "http",
  method: "GET",
  query: "",
  headers: [],
};

export interface ExplainedRequest extends RequestDetails {
  /** Lower case, without port and last dot. */
  readonly host: string;
  /** Canonical. */
  readonly path: string;
  /** As the client has sent it. */
  readonly received: string;
}

export interface Considered {
  readonly route: Route;
  /** One sentence without a full stop. */
  readonly lostBecause: string;
  /** Whether it would get the request, were there no other route. */
  readonly isMatch: boolean;
}

/** As the router looks at it. */
export function matchedRequest(
  { method, query, host, headers, received }: ExplainedRequest,
): MatchedRequest {
  return {
    method,
    received,
    query,
    header(name) {
      if (name === "host") return host;
      const values = headers.filter(([one]) => one.toLowerCase() === name)
        .map(([, value]) => value);
      return values.length === 0 ? null : values.join(name === "cookie" ? "; " : ",");
    },
  };
}

/** The host whose routes take the requests of a pattern that is its alias; null for its own. */
export function aliasedHost(
  pattern: string,
  routes: readonly Route[],
  hostSettings: readonly HostSettings[],
): string | null {
  const aliasOf = hostSettings.find(({ id }) => id === pattern)?.aliasOf;
  const hasOwn = routes.some(({ host, listeners }) => host === pattern && isOfIngresses(listeners));
  return aliasOf === undefined || hasOwn ? null : aliasOf;
}

/** In order of precedence: the most specific host first. */
export function losers(
  { routes, listeners = [], hostSettings = [] }: Snapshot,
  request: ExplainedRequest,
  winner: Route | null,
): Considered[] {
  const listener = listeners.find(({ id }) => id === request.listener);
  const isShared = routes.some((route) => isOfSharing(route, request.listener));
  const wildcards = listener?.wildcards ?? "one-label";
  const own = patternsOf(request.host, isShared ? "suffix" : wildcards);
  // Gateways may have routes of the alias itself.
  const patterns = own.flatMap((pattern) => {
    const aliasOf = aliasedHost(pattern, routes, hostSettings);
    return aliasOf === null ? [pattern] : [aliasOf, pattern];
  });
  const ranks = new Map(patterns.map((pattern, rank) => [pattern, rank]));
  const rankOf = ({ host }: Route) => ranks.get(host)!;
  const candidates = routes.filter((route) => {
    if (!ranks.has(route.host)) return false;
    if (!own.includes(route.host) && !isOfIngresses(route.listeners)) return false;
    // The star of an Ingress stands for one label, also where Gateways share the socket.
    return !isShared || isOfSharing(route, request.listener) ||
      !route.host.startsWith("*.") || hostPatternTakes(route.host, request.host, wildcards);
  }).sort((a, b) => rankOf(a) - rankOf(b));
  const served = candidates.filter((route) => isOn(route, request.listener));
  const { hostname } = listener ?? {};
  if (hostname !== undefined && !hostPatternTakes(hostname, request.host, listener?.wildcards)) {
    const lostBecause = `the listener ${request.listener} is for ${hostname} only`;
    return candidates.map((route) => ({ route, lostBecause, isMatch: false }));
  }
  const [first] = served;
  // Of equal hosts that of an Ingress decides.
  const isOfGateways = isShared && first !== undefined &&
    !served.some((route) => route.host === first.host && isOfIngresses(route.listeners));
  const isFalling = listener?.fallThrough === true || isOfGateways;
  // Of this host and of more specific ones routes are compared.
  const decides = isFalling ? winner?.host : first?.host;
  const lastRank = decides === undefined ? Infinity : ranks.get(decides)!;
  const why = isFalling ? "which has a route for it" : "which decides alone";
  const reasons = new Reasons(request, winner);
  const whyLost = (route: Route, mismatch: string | null): string => {
    if (!isOn(route, request.listener)) return mismatch!;
    const isOther = isShared && isOfSharing(route, request.listener) !== isOfGateways;
    if (isOther && isOfGateways) {
      return `its host ${route.host} is less specific than ${first.host}, which Gateways have: requests ` +
        "that none of their routes takes go to no Ingress";
    }
    if (isOther && route.host === first.host) {
      return `Ingresses have the host ${first.host}, and decide alone`;
    }
    return rankOf(route) > lastRank
      ? `its host ${route.host} is less specific than ${decides}, ${why}`
      : mismatch ?? reasons.order(route);
  };
  return candidates.filter((route) => route !== winner).map((route) => {
    const mismatch = reasons.mismatch(route);
    return { route, lostBecause: whyLost(route, mismatch), isMatch: mismatch === null };
  });
}

class Reasons {
  readonly #request: ExplainedRequest;
  readonly #view: RequestView;
  readonly #winner: Route | null;

  constructor(request: ExplainedRequest, winner: Route | null) {
    this.#request = request;
    this.#view = new RequestView(matchedRequest(request));
    this.#winner = winner;
  }

  /** Each reason is told by itself, whatever work the others were. */
  #newView(): RequestView {
    return new RequestView(matchedRequest(this.#request));
  }

  /** Why it does not take the request; null where it would. */
  mismatch(route: Route): string | null {
    const { listener } = this.#request;
    if (!isOn(route, listener)) {
      const others = route.listeners ?? [...BUILT_IN_LISTENERS];
      return `it is on ${others.join(" and ")} only, not on ${listener}`;
    }
    const { match } = route;
    return this.#path(match) ?? this.#conditions(match);
  }

  #path({ path: match }: RouteMatch): string | null {
    const { type, written, decoded } = match;
    const { path: canonical, received } = this.#request;
    const path = decoded ? decodedPath(received) ?? "" : canonical;
    const value = decoded && type !== "Regex" ? decodedRoutePath(match.value) : match.value;
    switch (type) {
      case "Exact":
        return value === path ? null : `Exact ${value} matches this path only`;
      case "Prefix":
        if (value === "/" || path === value || path.startsWith(`${value}/`)) return null;
        return path.startsWith(value)
          ? `Prefix ${value} matches whole segments, and the path ends within one`
          : `Prefix ${value} does not match the start of the path`;
      case "StringPrefix":
        return path.startsWith(value)
          ? null
          : `StringPrefix ${value} does not match the start of the path`;
      case "Regex": {
        const compiled = compilePattern(value);
        const takes = compiled.ok
          ? compiled.matches(path, new PatternWork())
          : path.startsWith(literalStart(value));
        if (takes) return null;
        return written === undefined
          ? `the regular expression ${value} does not match the whole path`
          : `the regular expression ${written} does not match the path`;
      }
    }
  }

  #conditions({ path, method, headers = [], query = [] }: RouteMatch): string | null {
    if (method !== undefined && method !== this.#request.method) {
      return `its method is ${method}, and the request's is ${this.#request.method}`;
    }
    for (const one of headers) {
      if (new Conditions({ path, headers: [one] }, compilePattern).hold(this.#newView())) continue;
      return `the header ${one.name} ${whyNot(one, this.#view.header(one.name))}`;
    }
    for (const one of query) {
      if (new Conditions({ path, query: [one] }, compilePattern).hold(this.#newView())) continue;
      return `the query parameter ${one.name} ${whyNot(one, this.#view.parameter(one.name))}`;
    }
    return null;
  }

  /** Of a route that would take the request, were there no other. */
  order({ match }: Route): string {
    const winner = this.#winner;
    if (winner === null) return "it matches one form of the path, and another route the other";
    const won = winner.match;
    const [mine, other] = [match.path, won.path];
    const isPlain = isUnconditional(match) && isUnconditional(won);
    if (isPlain && other.type === mine.type && other.value === mine.value) {
      return "a route before it has the same host and path";
    }
    if (isPlain && mine.type === "Prefix" && other.type === "Exact") {
      return "an Exact path takes precedence over every Prefix";
    }
    const isLonger = other.value.length > mine.value.length;
    if (isPlain && mine.type === "Prefix" && other.type === "Prefix" && isLonger) {
      return `the longer Prefix ${other.value} takes precedence over ${mine.value}`;
    }
    return `${winner.id} matches the request too, and takes precedence`;
  }
}

/** Why a value is none that a condition takes. */
function whyNot(
  { type, value }: { readonly type: "Exact" | "Regex"; readonly value: string },
  got: string | null,
): string {
  if (got === null) return "is missing";
  return type === "Exact"
    ? `is ${JSON.stringify(got)}, not ${JSON.stringify(value)}`
    : `is ${JSON.stringify(got)}, which the regular expression ${value} does not match as a whole`;
}

function isOn(route: Route, listener: string): boolean {
  return route.listeners === undefined
    ? BUILT_IN_LISTENERS.has(listener)
    : route.listeners.includes(listener) || isOfSharing(route, listener);
}

/** Whether it is on a listener of a Gateway that shares the built-in one. */
function isOfSharing({ listeners = [] }: Route, listener: string): boolean {
  return listeners.some((id) => sharedSocketOf(id) === listener);
}
