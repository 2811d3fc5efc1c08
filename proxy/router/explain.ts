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
import { staysPlain } from "../../shared/host/plain_hosts.ts";
import type { Action, Certificate, Route, Snapshot } from "../../shared/snapshot/types.ts";
import { brokenMatch } from "./conditions.ts";
import { HostIndex, NO_HOST } from "./host.ts";
import {
  type Considered,
  losers,
  matchedRequest,
  PLAIN_DETAILS,
  type RequestDetails,
} from "./losers.ts";
import { compilePattern } from "./pattern.ts";
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
  /** With a problem where the route does not compile, and so answers 500. */
  | { readonly kind: "route"; readonly route: Route; readonly problem?: string }
  /** No route of the deciding host takes the path, or no host takes the request's. */
  | { readonly kind: "default"; readonly action: Action }
  /** As "default", but there is no default action: 404. */
  | { readonly kind: "none" }
  /** The path is refused: 400. */
  | { readonly kind: "refused"; readonly reason: string };

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
  const certificate = chooseCertificate(snapshot, host);
  if (!path.ok) {
    const outcome: Outcome = { kind: "refused", reason: `the path ${path.reason}` };
    return { host, rawPath, path, outcome, considered: [], certificate };
  }
  const table = compileTable<Outcome>(snapshot, (action, route) => {
    if (route === null) return { kind: "default", action };
    const problem = brokenMatch(route.match, compilePattern);
    return { kind: "route", route, ...(problem === null ? {} : { problem }) };
  });
  const { listener } = request;
  const asked = { host, path: path.path, ...request };
  const outcome = table.match(host, path.path, matchedRequest(asked), listener) ?? { kind: "none" };
  const winner = outcome.kind === "route" ? outcome.route : null;
  const considered = losers(snapshot, asked, winner);
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
