/**
 * Why a request takes its route. In: a snapshot, a host and the path as a client would send it.
 * Out: plain data for the command line and the admin port: the winner as the compiled router
 * finds it, every other route that was considered with why it lost, and the host's certificate.
 */
import {
  type CanonicalPath,
  canonicalPath,
  type PathOptions,
} from "../../shared/path/canonical_path.ts";
import { staysPlain } from "../../shared/host/plain_hosts.ts";
import type { Action, Certificate, Route, Snapshot } from "../../shared/snapshot/types.ts";
import { HostIndex, hostPatternTakes, NO_HOST } from "./host.ts";
import { compileTable } from "./table.ts";

export interface Explanation {
  readonly host: string;
  readonly rawPath: string;
  /** What is matched, or why the request gets 400 before any match. */
  readonly path: CanonicalPath;
  readonly outcome: Outcome;
  /** In order of precedence: the routes of hosts that take this host, but for the winner. */
  readonly considered: readonly Considered[];
  readonly certificate: CertificateChoice;
}

export type Outcome =
  | { readonly kind: "route"; readonly route: Route }
  /** No route of the deciding host takes the path, or no host takes the request's. */
  | { readonly kind: "default"; readonly action: Action }
  /** As "default", but there is no default action: 404. */
  | { readonly kind: "none" }
  /** The path is refused: 400. */
  | { readonly kind: "refused"; readonly reason: string };

export interface Considered {
  readonly route: Route;
  /** One sentence without a full stop. */
  readonly lostBecause: string;
}

export interface CertificateChoice {
  /** The pattern that decided: the name itself, a wildcard, the default, or nothing (refused). */
  readonly by: "exact" | "wildcard" | "default" | "none";
  readonly certificate: Certificate | null;
  /** One sentence without a full stop. */
  readonly because: string;
}

/** `host` as for `RouteTable.match`; `rawPath` without query; `paths` as the proxy has them. */
export function explain(
  snapshot: Snapshot,
  host: string,
  rawPath: string,
  paths?: PathOptions,
): Explanation {
  const path = canonicalPath(rawPath, paths);
  const certificate = chooseCertificate(snapshot, host);
  if (!path.ok) {
    const outcome: Outcome = { kind: "refused", reason: `the path ${path.reason}` };
    return { host, rawPath, path, outcome, considered: [], certificate };
  }
  const table = compileTable<Outcome>(
    snapshot,
    (action, route) => route === null ? { kind: "default", action } : { kind: "route", route },
  );
  const outcome = table.match(host, path.path) ?? { kind: "none" };
  const winner = outcome.kind === "route" ? outcome.route : null;
  const candidates = snapshot.routes.filter((route) =>
    route !== winner && hostPatternTakes(route.host, host)
  );
  const decidingHost = winner?.host ?? mostSpecific(candidates.map((route) => route.host));
  const considered = candidates
    .sort((a, b) => hostRank(a.host) - hostRank(b.host))
    .map((route) => ({
      route,
      lostBecause: route.host === decidingHost
        ? whyPathLost(route, path.path, winner)
        : `its host ${route.host} is less specific than ${decidingHost}, which decides alone`,
    }));
  return { host, rawPath, path, outcome, considered, certificate };
}

/**
 * Whether plain HTTP to this host goes to HTTPS before any route is matched, where that is not turned
 * off: the default certificate is made out for nobody, so it redirects nobody.
 */
export function redirectsToHttps({ host, path, certificate }: Explanation): boolean {
  return path.ok && (certificate.by === "exact" || certificate.by === "wildcard") &&
    certificate.certificate !== null && !staysPlain(certificate.certificate, host);
}

/** Why a route of the deciding host is not the winner. */
function whyPathLost(route: Route, path: string, winner: Route | null): string {
  const { type, value } = route.match.path;
  if (type === "Exact" && value !== path) return `Exact ${value} takes only that very path`;
  if (type === "Prefix" && !prefixTakes(value, path)) {
    return path.startsWith(value)
      ? `Prefix ${value} takes whole segments, and the path goes on within one`
      : `Prefix ${value} is not how the path begins`;
  }
  const won = winner?.match.path;
  if (won?.type === type && won.value === value) {
    return "a route before it has the same host and path";
  }
  return won?.type === "Exact"
    ? "an Exact path goes before every Prefix"
    : `the longer Prefix ${won?.value} goes before ${value}`;
}

function prefixTakes(prefix: string, path: string): boolean {
  return prefix === "/" || path === prefix || path.startsWith(`${prefix}/`);
}

/** 0 for exact, 1 for wildcard, 2 for any: one host is taken by at most one pattern of each. */
function hostRank(pattern: string): number {
  if (pattern === "*") return 2;
  return pattern.startsWith("*.") ? 1 : 0;
}

function mostSpecific(patterns: readonly string[]): string | undefined {
  return patterns.toSorted((a, b) => hostRank(a) - hostRank(b))[0];
}

/** The certificate for a name that a client asks for ("" for none). */
function chooseCertificate(snapshot: Snapshot, host: string): CertificateChoice {
  const named: { readonly pattern: string; readonly certificate: Certificate }[] = [];
  const index = new HostIndex();
  for (const certificate of snapshot.certificates) {
    for (const pattern of certificate.hosts) {
      if (index.get(pattern) === NO_HOST) {
        index.set(pattern, named.push({ pattern, certificate }) - 1);
      }
    }
  }
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
  const { defaultCertificate } = snapshot;
  const certificate = snapshot.certificates.find(({ id }) => id === defaultCertificate);
  return certificate === undefined
    ? { by: "none", certificate: null, because: "no certificate names it and there is no default" }
    : { by: "default", certificate, because: "no certificate names it, so it gets the default" };
}
