/**
 * Paths of routes. In: the type and the text that a configuration has. Out: a match whose value is
 * canonical, as the router and requests have it, or why there is none.
 */
import { canonicalPath } from "../path/canonical_path.ts";

/** See `PATH_MATCH` in `schema.ts`. */
interface PathMatch {
  readonly type: "Exact" | "Prefix" | "StringPrefix" | "Regex";
  readonly value: string;
}

export type RoutePath =
  | { readonly ok: true; readonly match: PathMatch }
  /** The reason is a clause such as `leads above the root`. */
  | { readonly ok: false; readonly reason: string; readonly tooLong: boolean };

/** Bytes of a route's path, as many as a request's whole head may have by default. */
export const MAX_ROUTE_PATH = 32 * 1024;

/**
 * A Prefix loses its last slashes, since it takes whole segments: `/foo/` is `/foo`. Spaces and what
 * is not ASCII stand for the escapes that clients send in their place (RFC 3986 §2.5): the API
 * server takes them, and left out their requests would fall to a broader route.
 */
export function readRoutePath(type: PathMatch["type"], text: string): RoutePath {
  if (text.length > MAX_ROUTE_PATH) return tooLong(text.length);
  if (type === "Regex") return { ok: true, match: { type, value: text } };
  const canonical = canonicalPath(escaped(text));
  if (!canonical.ok) return { ok: false, reason: canonical.reason, tooLong: false };
  const value = type === "Prefix" ? withoutLastSlashes(canonical.path) : canonical.path;
  return value.length > MAX_ROUTE_PATH
    ? tooLong(value.length)
    : { ok: true, match: { type, value } };
}

/** Whether a path stands in the one form that `readRoutePath` gives. */
export function isCanonicalPath({ type, value }: PathMatch): boolean {
  const path = readRoutePath(type, value);
  return path.ok && path.match.value === value;
}

/** Half a surrogate pair stays, and is refused: no client can send it. */
function escaped(text: string): string {
  if (!text.isWellFormed()) return text;
  return text.replace(/[ \u0080-\u{10ffff}]+/gu, encodeURIComponent);
}

function tooLong(length: number): RoutePath {
  const reason = `has ${length} characters, more than ${MAX_ROUTE_PATH}`;
  return { ok: false, reason, tooLong: true };
}

function withoutLastSlashes(path: string): string {
  let end = path.length;
  while (end > 1 && path[end - 1] === "/") end--;
  return path.slice(0, end);
}
