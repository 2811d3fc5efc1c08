/**
 * What becomes of one path of an Ingress. In: the path, and what older ones have. Out: its routes, its
 * status, and a problem where it has none or not what is written.
 */
import type { PathMatch } from "../../../shared/snapshot/types.ts";
import { showElder } from "../../base/identity.ts";
import type { ProblemList } from "../../base/problems.ts";
import { ANY_HOST } from "../model/host.ts";
import type { BackendRef } from "../model/backend_ref.ts";
import type { PathModel, Source } from "../model/source.ts";
import type { PathStatus } from "../model/status.ts";
import type { Claim, RouteClaims } from "./route_claims.ts";
import { type RegexHosts, regexOf } from "./regex_hosts.ts";

/** @param host Of the rule that has the path. */
export function claimPath(
  claims: RouteClaims,
  ingress: Source,
  host: string,
  path: PathModel,
  regexHosts: RegexHosts,
  problems: ProblemList,
): PathStatus {
  const exact = regexHosts.get(host);
  if (exact !== undefined && path.written !== null) {
    const text = regexOf(path.written, ingress.regex, exact);
    return claimRegex(claims, ingress, host, path, { text, written: path.written.path }, problems);
  }
  const { field, place, backend, dropped, rewrite, settings: own } = path;
  problems.addAll(path.problems);
  if (place === null) return dropped;
  const other = claims.holderOf(place);
  if (other !== null) {
    reportTaken(ingress, `${field}.path`, other, problems);
    return { field, routes: [], outcome: "taken" };
  }
  const settings = (place.match.type === "Regex" ? rewrite?.settings : null) ?? own ?? undefined;
  return place.status(claims.claim(place, ingress, backend, settings).isServed);
}

function claimRegex(
  claims: RouteClaims,
  ingress: Source,
  host: string,
  { field, backend, settings, rewrite }: PathModel,
  { text, written }: { readonly text: string; readonly written: string },
  problems: ProblemList,
): PathStatus {
  const { place, fault: ofPath } = ingress.regexPlaces.of(
    host,
    text,
    field,
    ingress.identity,
  );
  // An older Exact path, which is no longer one, takes what is below it too.
  const other = claims.holderOf(place) ?? claims.find(host, { type: "Regex", value: written });
  if (other !== null) {
    reportTaken(ingress, `${field}.path`, other, problems);
    return { field, routes: [], outcome: "taken" };
  }
  const fault = ofPath ?? rewrite?.fault ?? null;
  if (fault !== null) reportFault(ingress, `${field}.path`, text, fault, problems);
  const target = fault === null ? backend : brokenBy(text, fault);
  return place.status(
    claims.claim(place, ingress, target, rewrite?.settings ?? settings ?? undefined).isServed,
  );
}

function reportFault(
  ingress: Source,
  field: string,
  text: string,
  fault: string,
  problems: ProblemList,
): void {
  problems.about(ingress.identity.ref).error(field, {
    reason: "PathPatternUnsupported",
    message:
      `the regular expression ${shown(text)} ${fault}, so requests that it may be meant for ` +
      "get 500",
    remedy:
      "Write it without lookaround, back references, repetitions of more than 16 times, syntax of " +
      "PCRE alone, and repetitions around a group that rewrite-target names",
  });
}

function brokenBy(text: string, fault: string): BackendRef {
  const reason = `the regular expression ${shown(text)} ${fault}`;
  return { kind: "broken", action: { kind: "reply", status: 500, reason } };
}

function shown(text: string): string {
  return JSON.stringify(text.length > 100 ? `${text.slice(0, 100)}…` : text);
}

function reportTaken(
  ingress: Source,
  field: string,
  { route, owner }: Claim,
  problems: ProblemList,
): void {
  const report = problems.about(ingress.identity.ref);
  const match = `${showPath(route.match.path)} of ${showHost(route.host)}`;
  if (owner === ingress) {
    report.error(field, {
      reason: "PathDuplicated",
      message:
        `${match} is in this Ingress already, at ${route.origin.field}, which takes precedence`,
      remedy: "Remove one of the two",
    });
    return;
  }
  report.error(field, {
    reason: "PathConflict",
    message: `${match} belongs to ${showElder(owner.identity, ingress.identity)}`,
    remedy: "Use another host or path, or remove it from one of the two",
  });
}

function showPath({ type, value, written }: PathMatch): string {
  return `${type} ${written ?? value}`;
}

export function showHost(host: string): string {
  return host === ANY_HOST ? "any host" : host;
}
