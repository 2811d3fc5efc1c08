/**
 * Why a request takes its route. In: a snapshot, and host, path and the rest as a client would send them.
 * Out: plain data for the command line and the admin port: the winner as the compiled router
 * finds it, every other route that was considered with why it lost, and the host's certificate.
 */
import {
  type CanonicalPath,
  canonicalPath,
  type PathOptions,
} from "../../shared/path/canonical_path.ts";
import { decodedPath, escapedPath } from "../../shared/path/decoded_path.ts";
import { defaultPlace, type Place } from "../../shared/snapshot/forward_action.ts";
import { sharedSocketOf } from "../../shared/snapshot/listener_id.ts";
import { staysPlain } from "../../shared/host/plain_hosts.ts";
import type { Action, Certificate, Route, Snapshot } from "../../shared/snapshot/types.ts";
import { brokenMatch } from "./conditions.ts";
import { decodedRequest } from "./decoded_request.ts";
import { HostIndex, NO_HOST } from "./host.ts";
import {
  aliasedHost,
  type Considered,
  losers,
  matchedRequest,
  PLAIN_DETAILS,
  type RequestDetails,
} from "./losers.ts";
import { httpsLocation, type HttpsUrlStyle, isAcmeChallenge } from "../http/https_location.ts";
import { compilePattern } from "./patterns/pattern.ts";
import { BAD_PATH, compileTable, TOO_MUCH_WORK } from "./table.ts";

/** See `PATH_MATCH`. */
const TOO_LONG =
  "the regular expressions of the host would take too long to compare with it (414, " +
  "too_much_matching): shorten it, or write fewer or simpler ones";

const UNDECIDED =
  "a route of the host is protected, or compared with the decoded path, which leads above the " +
  "root or to another route than the path as it is";

export interface Explanation {
  readonly host: string;
  readonly rawPath: string;
  /** What is matched, or why the request gets 400 before any match. */
  readonly path: CanonicalPath;
  readonly outcome: Outcome;
  /** In order of precedence: the routes of hosts that take this host, but for the winner. */
  readonly considered: readonly Considered[];
  /** The host that the request's is an alias of; null for none. */
  readonly aliasOf: string | null;
  readonly certificate: CertificateChoice;
  /** Null where the path is refused. */
  readonly redirect: RedirectChoice | null;
}

/** Whether plain HTTP is redirected to HTTPS, where a proxy does so at all. */
export interface RedirectChoice {
  readonly redirects: boolean;
  /** Which setting decided. */
  readonly by: "certificate" | "path" | "host" | "route";
  /** As a clause: "the host has a certificate". */
  readonly because: string;
  /** Whether it is so by a proxy that was started with `--ssl-redirect=false`, too. */
  readonly isForced: boolean;
  /** How the URL is written; null as by default. */
  readonly style: HttpsUrlStyle | null;
}

/**
 * Where plain HTTP is redirected to, by a proxy that does so; null where it is not.
 *
 * @param query with its `?`, or "".
 */
export function redirectUrl(
  { host, path, redirect }: Explanation,
  query: string,
  port: number,
): string | null {
  return redirect?.redirects === true && path.ok
    ? httpsLocation({ host, path: path.path, query }, port, redirect.style)
    : null;
}

/** Which setting keeps plain HTTP although a certificate names the host; null where none does. */
export function turnedOffBy(redirect: RedirectChoice | null): string | null {
  if (redirect === null || redirect.redirects) return null;
  return redirect.by === "host" || redirect.by === "route" ? redirect.because : null;
}

/** The path as the winner is compared with it; null where it is refused. */
export function matchedPath({ path, rawPath, outcome }: Explanation): string | null {
  if (!path.ok) return null;
  const isDecoded = outcome.kind === "route" && outcome.route.match.path.decoded === true;
  return isDecoded ? escapedPath(decodedPath(rawPath) ?? "") : path.path;
}

export type Outcome =
  /** With a problem where the route does not compile, and so answers 500. */
  | { readonly kind: "route"; readonly route: Route; readonly problem?: string }
  /** No route of the deciding host takes the path, or no host takes the request's. */
  | { readonly kind: "default"; readonly action: Action }
  /** As "default", but there is no default action: 404. */
  | { readonly kind: "none" }
  /** The path is refused: 400. */
  | { readonly kind: "refused"; readonly reason: string };

/** Whose filters a request meets; null for nobody's. */
export function placeOf(outcome: Outcome): Place | null {
  if (outcome.kind === "route") return outcome.route;
  return outcome.kind === "default" ? defaultPlace(outcome.action) : null;
}

export interface CertificateChoice {
  /** The pattern that decided: the name itself, a wildcard, the default, or nothing (refused). */
  readonly by: "exact" | "wildcard" | "default" | "none";
  readonly certificate: Certificate | null;
  /** One sentence without a full stop. */
  readonly because: string;
}

/**
 * `host` as for `RouteTable.match`; `rawPath` without query; `paths` as the proxy has them. Without a
 * request it is a GET without headers and query to the listener `http`.
 */
export function explain(
  snapshot: Snapshot,
  host: string,
  rawPath: string,
  paths?: PathOptions,
  request: RequestDetails = PLAIN_DETAILS,
): Explanation {
  const path = canonicalPath(rawPath, paths);
  const certificate = certificateChooser(snapshot)(host);
  const aliasOf = aliasedHost(host, snapshot.routes, snapshot.hostSettings ?? []);
  if (!path.ok) {
    const outcome: Outcome = { kind: "refused", reason: `the path ${path.reason}` };
    return { host, rawPath, path, outcome, considered: [], aliasOf, certificate, redirect: null };
  }
  const table = compileTable<Outcome>(snapshot, (action, route) => {
    if (route === null) return { kind: "default", action };
    const problem = brokenMatch(route.match, compilePattern);
    return { kind: "route", route, ...(problem === null ? {} : { problem }) };
  });
  const { listener } = request;
  const asked = { host, path: path.path, received: rawPath, ...request };
  const place = table.find(host, path.path, matchedRequest(asked), listener);
  const outcome: Outcome = place >= 0
    ? table.target(place)
    : place === BAD_PATH
    ? { kind: "refused", reason: UNDECIDED }
    : place === TOO_MUCH_WORK
    ? { kind: "refused", reason: TOO_LONG }
    : { kind: "none" };
  const winner = outcome.kind === "route" ? outcome.route : null;
  const considered = place === TOO_MUCH_WORK ? [] : losers(snapshot, asked, winner);
  const redirect = chooseRedirect(snapshot, asked, winner, certificate);
  const decoded = winner === null || redirect.redirects
    ? null
    : decodedRequest(path.path, matchedRequest(asked));
  const other = decoded === null
    ? null
    : table.match(host, decoded.path, decoded.request, listener);
  const otherRedirect = decoded === null || other?.kind !== "route"
    ? null
    : decodedRedirect(snapshot, { host, path: decoded.path }, other.route, certificate);
  const shown = outcome.kind === "route"
    ? { ...outcome, route: onListener(outcome.route, snapshot, listener) }
    : outcome;
  return {
    host,
    rawPath,
    path,
    outcome: shown,
    considered,
    aliasOf,
    certificate,
    redirect: otherRedirect ?? redirect,
  };
}

/**
 * A reply for a host on both ports is of several listeners of Gateways: as the one that is asked has it, or of no
 * listener in particular where the host has none on its port.
 */
function onListener(route: Route, { listeners = [] }: Snapshot, asked: string): Route {
  if (route.action.kind !== "reply" || route.origin.kind !== "Gateway") return route;
  const own = (route.listeners ?? []).filter((id) => id === asked || sharedSocketOf(id) === asked);
  const origin = listeners.find(({ id }) => own.includes(id))?.origin;
  return { ...route, listeners: own, origin: origin ?? { ...route.origin, field: "" } };
}

/** Of the route that the decoded path leads to; null where that is not redirected either. */
function decodedRedirect(
  snapshot: Snapshot,
  asked: { readonly host: string; readonly path: string },
  route: Route,
  certificate: CertificateChoice,
): RedirectChoice | null {
  const choice = chooseRedirect(snapshot, asked, route, certificate);
  const because = `the decoded path ${asked.path} leads to ${route.id}, and ${choice.because}`;
  return choice.redirects ? { ...choice, because } : null;
}

/**
 * As the proxy decides it: as the route says; without a certificate that names the host else never; or as
 * the most specific pattern with a setting does. The default certificate counts for hosts of its own alone.
 */
export function chooseRedirect(
  { hostSettings = [], policies = [] }: Snapshot,
  { host, path }: { readonly host: string; readonly path: string },
  route: Route | null,
  { by, certificate }: CertificateChoice,
): RedirectChoice {
  const policy = policies.find(({ id }) => id === route?.policy)?.httpsRedirect;
  const { when: ofPolicy, port = false, cutsSlash = false } = policy ?? {};
  const style = policy === undefined ? null : { port, cutsSlash };
  const choice = (redirects: boolean, by: RedirectChoice["by"], because: string) => {
    return { redirects, by, because, isForced: false, style };
  };
  const ofRoute = route?.httpsRedirect;
  const when = ofRoute === undefined ? ofPolicy : undefined;
  if (ofRoute === false || when === "never") {
    return choice(false, "route", `the route ${route!.id} says no redirect`);
  }
  if (when === "always") {
    const because = `the route ${route!.id} says so, with or without a certificate`;
    return { ...choice(true, "route", because), isForced: true };
  }
  const isChallenge = isAcmeChallenge(path);
  if (when === "tls" && !isChallenge) {
    const because = `the route ${route!.id} says so, as its Ingress has TLS`;
    return { ...choice(true, "route", because), isForced: true };
  }
  if (certificate === null || by === "default" || by === "none") {
    return choice(false, "certificate", "no certificate names the host");
  }
  if (staysPlain(certificate, host)) {
    return choice(false, "certificate", "its certificate does not name the host");
  }
  if (isChallenge) {
    return choice(false, "path", "certificate authorities request this path over plain HTTP");
  }
  if (when === "certificate" || ofRoute === true) {
    const because = `the route ${route!.id} says so`;
    return { ...choice(true, "route", because), isForced: when !== undefined };
  }
  const index = new HostIndex();
  for (const [i, { id, httpsRedirect }] of hostSettings.entries()) {
    if (httpsRedirect !== undefined) index.set(id, i);
  }
  const number = index.find(host);
  if (number === NO_HOST) return choice(true, "certificate", "the host has a certificate");
  const { id, httpsRedirect = true } = hostSettings[number];
  const because = `the settings of host ${id} say ${httpsRedirect ? "so" : "no redirect"}`;
  return choice(httpsRedirect, "host", because);
}

/** Gives the certificate for a name that a client asks for ("" for none). */
export function certificateChooser(snapshot: Snapshot): (host: string) => CertificateChoice {
  const named: { readonly pattern: string; readonly certificate: Certificate }[] = [];
  const index = new HostIndex();
  for (const certificate of snapshot.certificates) {
    for (const pattern of certificate.hosts) {
      if (index.get(pattern) === NO_HOST) {
        index.set(pattern, named.push({ pattern, certificate }) - 1);
      }
    }
  }
  const { defaultCertificate } = snapshot;
  const byDefault = snapshot.certificates.find(({ id }) => id === defaultCertificate);
  return (host) => {
    const number = index.find(host);
    if (number !== NO_HOST) {
      const found = named[number];
      const exact = found.pattern === host;
      return {
        by: exact ? "exact" : "wildcard",
        certificate: found.certificate,
        because: exact ? `it names ${host}` : `its ${found.pattern} takes ${host}`,
      };
    }
    return byDefault === undefined
      ? {
        ...{ by: "none", certificate: null },
        because: "no certificate names it and there is no default",
      }
      : {
        ...{ by: "default", certificate: byDefault },
        because: "no certificate names it, so it gets the default",
      };
  };
}
