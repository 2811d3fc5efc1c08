/**
 * Paths of one Ingress, read. In: an entry of `paths` of a rule, of unknown shape. Out: its path as a plain
 * one and as a regular expression, for the routes to choose from, and its backend; with a problem for
 * each field that cannot be read.
 */
import type { PathMatch, ReplyAction } from "../../../shared/snapshot/types.ts";
import type { Identity } from "../../base/identity.ts";
import { asObject, describe, fieldOf, isAbsent, quote } from "../../base/json.ts";
import { recordProblems, type Report } from "../../base/problems.ts";
import type { SlashRedirect } from "../annotations/nginx/redirects.ts";
import { isRegex, rewriteOf, type RewriteWish } from "../annotations/nginx/rewrite.ts";
import { NGINX_PREFIX } from "../annotations/nginx/table.ts";
import type { BackendRef } from "../model/backend_ref.ts";
import type { BackendWish } from "../model/backend_wish.ts";
import type { Profile } from "../model/profile.ts";
import { inProfile, RoutePlace, WHOLE_HOST } from "../model/route_place.ts";
import {
  type RouteSettings,
  type RouteSettingsPool,
  settingsOfPath,
} from "../model/route_settings.ts";
import type { PathModel, PathRewrite, RegexWish, WrittenPath } from "../model/source.ts";
import { readBackend } from "./backend.ts";
import { explainPath, looksLikePattern, type PathType, readPath, readPathType } from "./path.ts";

/** What the Ingress says that its paths depend on. */
export interface PathReader {
  readonly identity: Identity;
  readonly report: Report;
  readonly backendWish: BackendWish | null;
  readonly profile: Profile;
  readonly regex: RegexWish | null;
  readonly settings: RouteSettings;
  /** Paths that begin with one of these need no login. */
  readonly noAuthLocations: readonly string[];
  /** Of redirects to a path with a slash at its end. */
  readonly slash: SlashRedirect;
  /** Null where no path is rewritten. */
  readonly rewrite: RewriteWish | null;
  readonly pool: RouteSettingsPool;
}

/** Reads an entry of `paths`. `host` is that of its rule, null where it cannot be read. */
export function readPathEntry(
  entry: unknown,
  field: string,
  host: string | null,
  reader: PathReader,
): PathModel {
  const { identity, report, backendWish } = reader;
  if (asObject(entry) === null) {
    reportShape(entry, field, "an object with path, pathType and backend", report);
    return unreadPath(field);
  }
  const writtenType = fieldOf(entry, "pathType");
  const type = readPathType(writtenType);
  const written = type === null ? null : readWritten(entry, type);
  const isOwnRegex = written !== null && isRegex(written, reader.regex);
  // On a host whose paths are regular expressions, what is wrong with the path alone is right.
  const { value: match, problems } = recordProblems((list) =>
    readMatch(entry, type ?? "Prefix", field, reader, list.about(identity.ref))
  );
  if (written === null || host === null) {
    problems.forEach(({ field, severity, ...text }) =>
      severity === "error" ? report.error(field, text) : report.warning(field, text)
    );
  }
  if (type === null) {
    report.error(`${field}.pathType`, {
      reason: "PathTypeUnknown",
      message: `pathType ${
        isAbsent(writtenType) ? "is missing" : `${quote(writtenType)} is not known`
      }, so ${match === null ? "the path is left out" : "requests to the path get 500"}`,
      remedy: "Write Prefix (whole segments), Exact or ImplementationSpecific",
    });
  }
  const settings = written === null
    ? null
    : settingsOfPath(written.path, reader.settings, reader.noAuthLocations, reader.pool);
  // Without a host or a path there is no route, and so nothing to say about its backend.
  if (host === null || (match === null && written === null)) return unreadPath(field);
  return {
    ...unreadPath(field),
    place: match === null ? null : new RoutePlace(host, match, identity, field),
    written,
    problems: written === null || isOwnRegex ? [] : problems,
    settings,
    rewrite: isOwnRegex ? readRewrite(written.path, settings ?? reader.settings, reader) : null,
    backend: type === null ? broken(500, "the pathType is not known") : readBackend(
      fieldOf(entry, "backend"),
      identity.ref.namespace,
      backendWish,
      `${field}.backend`,
      report,
    ),
  };
}

function readMatch(
  entry: unknown,
  type: PathType,
  field: string,
  { profile, slash }: PathReader,
  report: Report,
): PathMatch | null {
  const written = fieldOf(entry, "path");
  const isSpecific = fieldOf(entry, "pathType") === "ImplementationSpecific";
  if (isSpecific && (isAbsent(written) || written === "")) {
    return inProfile(WHOLE_HOST, profile);
  }
  const reading = readPath(written, type, profile, slash);
  if (!reading.ok) {
    report.error(`${field}.path`, {
      reason: "PathInvalid",
      message: `${explainPath(written, reading.reason)}, so it is left out`,
      remedy: "Write an absolute path such as /api, escaped as in a URL",
    });
    return null;
  }
  if (reading.normalised) {
    report.warning(`${field}.path`, {
      reason: "PathNotCanonical",
      message: `path ${quote(written)} is served as ${quote(reading.match.value)}, the form in ` +
        "which requests are compared with it",
      remedy: `Write ${quote(reading.match.value)}`,
    });
  }
  if (profile === "nginx" && /%[\da-f]{2}/i.test(String(written))) {
    report.warning(`${field}.path`, {
      reason: "PathNotCanonical",
      message: `path ${quote(written)} has escapes, but is compared with decoded paths, as in ` +
        `ingress-nginx: clients must send ${quote(reading.match.value)}`,
      remedy: "Write the characters themselves",
    });
  }
  if (type !== "Exact" && looksLikePattern(reading.match.value)) {
    report.warning(`${field}.path`, {
      reason: "PathMatchedLiterally",
      message: `path ${quote(written)} looks like a pattern, but is matched literally`,
      remedy: "Write the path up to the pattern, as a Prefix matches everything below it, or set " +
        `${NGINX_PREFIX}use-regex to "true"`,
    });
  }
  return reading.match;
}

/** Null for a path that is none of nginx either. */
function readWritten(entry: unknown, type: PathType): WrittenPath | null {
  const path = fieldOf(entry, "path");
  const isSpecific = fieldOf(entry, "pathType") === "ImplementationSpecific";
  if (isSpecific && (isAbsent(path) || path === "")) return { path: "/", type };
  return typeof path === "string" && path.startsWith("/") ? { path, type } : null;
}

/** Settings for requests that no path takes, for ingress-nginx those of the path "/"; null if it is not rewritten. */
export function readRewrittenRest(
  settings: RouteSettings,
  reader: PathReader,
): RouteSettings | null {
  return readRewrite("/", settings, reader)?.settings ?? null;
}

function readRewrite(
  path: string,
  settings: RouteSettings,
  { rewrite, regex, pool, profile }: PathReader,
): PathRewrite | null {
  if (rewrite === null || regex?.target === path) return null;
  const reading = rewriteOf(rewrite, path, profile, pool.texts);
  return reading.ok
    ? { settings: pool.withRewrite(settings, reading.filter), fault: null }
    : { settings, fault: reading.reason };
}

/** Reports a field that is not what it should be. */
export function reportShape(value: unknown, field: string, wanted: string, report: Report): void {
  report.error(field, {
    reason: "FieldInvalid",
    message: `${describe(value)} instead of ${wanted}, so it is ignored`,
    remedy: `Write ${wanted}`,
  });
}

function broken(status: ReplyAction["status"], reason: string): BackendRef {
  return { kind: "broken", action: { kind: "reply", status, reason } };
}

/** A path that becomes no route. */
export function unreadPath(field: string): PathModel {
  return {
    field,
    place: null,
    backend: broken(500, "the path is left out"),
    dropped: { field, routes: [], outcome: "dropped" },
    ...{ written: null, problems: [], settings: null, rewrite: null },
  };
}
