/**
 * Paths of routes. In: the type and the text that a configuration has. Out: a match whose value is
 * canonical, as the router and requests have it, or why there is none.
 */
import { canonicalPath } from "./canonical_path.ts";
import type { PathMatch } from "./snapshot.ts";

export type RoutePath =
  | { readonly ok: true; readonly match: PathMatch }
  /** The reason is a clause such as `leads above the root`. */
  | { readonly ok: false; readonly reason: string; readonly tooLong: boolean };

/** Characters of a route's path: a quarter of what a request's head may have by default. */
export const MAX_ROUTE_PATH = 8 * 1024;

/** A Prefix loses its last slashes, since it takes whole segments: `/foo/` is `/foo`. */
export function readRoutePath(type: PathMatch["type"], text: string): RoutePath {
  if (text.length > MAX_ROUTE_PATH) {
    const reason = `has ${text.length} characters, more than ${MAX_ROUTE_PATH}`;
    return { ok: false, reason, tooLong: true };
  }
  const canonical = canonicalPath(text);
  if (!canonical.ok) return { ok: false, reason: canonical.reason, tooLong: false };
  const value = type === "Exact" ? canonical.path : withoutLastSlashes(canonical.path);
  return { ok: true, match: { type, value } };
}

function withoutLastSlashes(path: string): string {
  let end = path.length;
  while (end > 1 && path[end - 1] === "/") end--;
  return path.slice(0, end);
}
