/**
 * What becomes of one path of an Ingress. In: the path, and what older ones have. Out: its routes, its
 * status, and a problem where it has none or not what is written.
 */
import type { PathMatch, ReplyAction } from "../../../shared/snapshot/types.ts";
import { showElder } from "../model/source_order.ts";
import type { ProblemList } from "../../base/problems.ts";
import { ANY_HOST } from "../model/host.ts";
import type { BackendRef } from "../model/backend_ref.ts";
import type { PathModel, Source, WrittenPath } from "../model/source.ts";
import type { RoutePlace } from "../model/route_place.ts";
import type { PathStatus } from "../model/status.ts";
import type { Claim, RouteClaims } from "./route_claims.ts";
import {
  isBehindRest,
  type OwnedRegex,
  type RegexHost,
  type RegexHosts,
  regexOf,
} from "./regex_hosts.ts";

/** @param host Of the rule that has the path. */
export function claimPath(
  claims: RouteClaims,
  ingress: Source,
  host: string,
  path: PathModel,
  regexHosts: RegexHosts,
  problems: ProblemList,
): PathStatus {
  const regexHost = regexHosts.get(host);
  if (regexHost !== undefined && path.written !== null) {
    return claimRegex(claims, ingress, host, path, path.written, regexHost, problems);
  }
  const { field, place, backend, dropped, rewrite, settings: own } = path;
  problems.addAll(path.problems);
  if (place === null) return dropped;
  const other = claims.findId(place.id);
  if (other !== null) {
    reportTaken(ingress, `${field}.path`, other, problems);
    return { field, routes: [], outcome: "taken" };
  }
  const first = place.match.type === "Regex" ? firstOf(regexHost, place) : null;
  if (first !== null) {
    reportUnreachable(ingress, field, place, first, problems);
    return { field, routes: [], outcome: "unused" };
  }
  const settings = rewrite?.settings ?? own ?? undefined;
  return place.status(claims.claim(place, ingress, backend, settings).isServed);
}

function claimRegex(
  claims: RouteClaims,
  ingress: Source,
  host: string,
  { field, backend, settings, rewrite }: PathModel,
  written: WrittenPath,
  regexHost: RegexHost,
  problems: ProblemList,
): PathStatus {
  const { place, text, fault: ofPath } = ingress.regexPlaces.of(
    host,
    regexOf(written, ingress.regex, regexHost.exact),
    field,
    ingress.identity,
  );
  // Paths of one type and text are one there, and of one text the older takes all.
  const other = claims.findWritten(host, written) ??
    claims.findId(place.id) ??
    // An older Exact path, which is no longer one, takes what is below it too.
    claims.find(host, { type: "Regex", value: written.path });
  if (other !== null) {
    reportTaken(ingress, `${field}.path`, other, problems);
    return { field, routes: [], outcome: "taken" };
  }
  const first = firstOf(regexHost, place);
  const isBehind = isBehindRest(written);
  if (first !== null || isBehind) {
    // It is a path of that type and text all the same: no younger one is.
    claims.keepWritten(host, written, {
      route: place.route(UNUSED),
      owner: ingress,
      isServed: false,
    });
    if (isBehind) reportBehindRest(ingress, field, host, problems);
    else if (first !== null) reportUnreachable(ingress, field, place, first, problems);
    return { field, routes: [], outcome: "unused" };
  }
  const fault = ofPath ?? rewrite?.fault ?? null;
  if (fault !== null) reportFault(ingress, `${field}.path`, text, fault, problems);
  const target = fault === null ? backend : brokenBy(text, fault);
  const claim = claims.claim(place, ingress, target, rewrite?.settings ?? settings ?? undefined);
  claims.keepWritten(host, written, claim);
  return place.status(claim.isServed);
}

/** No request gets it. */
const UNUSED: ReplyAction = { kind: "reply", status: 404, reason: "no request reaches the path" };

function reportBehindRest(
  ingress: Source,
  field: string,
  host: string,
  problems: ProblemList,
): void {
  problems.about(ingress.identity.ref).warning(`${field}.path`, {
    reason: "PathUnreachable",
    message:
      `no request reaches Exact / of ${showHost(host)}: its paths are regular expressions, ` +
      "and what none of them takes is up to the Prefix /, or else the default backend",
    remedy: "Write Prefix, which takes all requests that no longer path takes",
  });
}

/** The path that takes the very same requests as a place and comes first; null where it is this one. */
function firstOf(regexHost: RegexHost | undefined, place: RoutePlace): OwnedRegex | null {
  const first = regexHost?.first.get(place.match.value);
  return first === undefined || first.place.id === place.id ? null : first;
}

/** As in ingress-nginx, unless the other one could be taken over, and would leave it some requests. */
function reportUnreachable(
  ingress: Source,
  field: string,
  { host, match }: RoutePlace,
  { owner, text, place, fault }: OwnedRegex,
  problems: ProblemList,
): void {
  const report = problems.about(ingress.identity.ref);
  const whose = owner === ingress ? "this Ingress" : owner.identity.label;
  const path = `${showPath(match)} of ${showHost(host)}`;
  if (fault !== null) {
    report.error(`${field}.path`, {
      reason: "PathPatternUnsupported",
      message: `the regular expression ${shown(text)} of ${whose} ${fault}, and comes first, so ` +
        `requests for ${path} get 500`,
      remedy: PATTERN_REMEDY,
    });
    return;
  }
  report.warning(`${field}.path`, {
    reason: "PathUnreachable",
    message: `no request reaches ${path}: ` +
      `${showPath(place.match)} of ${whose} takes them all, and comes first`,
    remedy: "Remove one of the two",
  });
}

const PATTERN_REMEDY =
  "Write it without lookaround, back references, repetitions of more than 16 times, syntax of " +
  "PCRE alone, and repetitions around a group that rewrite-target names";

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
    remedy: PATTERN_REMEDY,
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
    message: `${match} belongs to ${showElder(owner, ingress)}`,
    remedy: "Use another host or path, or remove it from one of the two",
  });
}

function showPath({ type, value, written }: PathMatch): string {
  return `${type} ${written ?? value}`;
}

export function showHost(host: string): string {
  return host === ANY_HOST ? "any host" : host;
}
