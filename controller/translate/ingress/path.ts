/**
 * Paths of rules. In: `path` and `pathType` as an Ingress has them. Out: the match for the route, or
 * why there is none.
 *
 * https://kubernetes.io/docs/concepts/services-networking/ingress/#path-types
 */
import { readRoutePath } from "../../../shared/snapshot/route_path.ts";
import type { PathMatch } from "../../../shared/snapshot/types.ts";
import type { SlashRedirect } from "../annotations/nginx/redirects.ts";
import type { Profile } from "../model/profile.ts";
import { inProfile } from "../model/route_place.ts";
import { describe, isAbsent, quote } from "../../base/json.ts";

export type PathReading =
  /** `normalised`: the match is of another form than what is written, and means the same. */
  | { readonly ok: true; readonly match: PathMatch; readonly normalised: boolean }
  /** A clause such as `does not begin with a slash`. */
  | { readonly ok: false; readonly reason: string };

/** Of an Ingress. */
export type PathType = "Exact" | "Prefix";

/** Null for what the API does not know. ImplementationSpecific is Prefix, as in ingress-nginx. */
export function readPathType(value: unknown): PathType | null {
  if (value === "Exact" || value === "Prefix") return value;
  return value === "ImplementationSpecific" ? "Prefix" : null;
}

/** In no path of a request, once nginx has merged slashes and resolved dots. */
const UNREACHABLE = /\/\/|\/\.{1,2}(?:\/|$)/;

/** In the profile nginx the text is what a decoded path must have: in it, a percent sign is one. */
export function readPath(
  value: unknown,
  type: PathType,
  profile: Profile,
  slash: SlashRedirect = "absolute",
): PathReading {
  if (typeof value !== "string") {
    return { ok: false, reason: `is ${describe(value)} where text is meant` };
  }
  const isDecoded = profile === "nginx";
  if (isDecoded && UNREACHABLE.test(value)) {
    return {
      ok: false,
      reason: 'has an empty segment, "." or "..", which no normalised path of a request has',
    };
  }
  const text = isDecoded ? escaped(value) : value;
  const path = readRoutePath(type, text);
  if (!path.ok) return path;
  // One last slash of a Prefix says the same for whole segments, so it is nothing to warn of.
  const isAsWritten = text === path.match.value ||
    (type === "Prefix" && text === `${path.match.value}/` && path.match.value !== "/");
  const match = inProfile(path.match, profile);
  const redirects = isDecoded && type === "Prefix" && path.match.value !== "/" &&
    text.endsWith("/");
  return { ok: true, match: redirects ? { ...match, slash } : match, normalised: !isAsWritten };
}

/** What cannot stand in a path, or would begin an escape. */
function escaped(text: string): string {
  if (!text.isWellFormed()) return text;
  return text.replace(/[^!-~]+|[#%?\\]/gu, encodeURIComponent);
}

/** Shows a path that was refused, with the reason. */
export function explainPath(value: unknown, reason: string): string {
  return typeof value === "string" && value !== ""
    ? `path ${quote(value)} ${reason}`
    : `the path ${isAbsent(value) || value === "" ? "is missing" : reason}`;
}

/** Whether a path looks like a pattern of another controller; here it is taken as it stands. */
export function looksLikePattern(path: string): boolean {
  return /[*^$|()[\]{}]/.test(path);
}
