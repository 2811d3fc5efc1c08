/**
 * nginx's own redirect from `/path` to `/path/`. In: the match of a route. Out: the filter that does it
 * before all other redirects of the route, or null.
 *
 * https://nginx.org/en/docs/http/ngx_http_core_module.html#location
 */
import { decodedRoutePath } from "../path/decoded_path.ts";
import type { FilterSpec, PathMatch } from "./types.ts";

export function slashRedirect({ type, value, slash }: PathMatch): FilterSpec | null {
  if (slash === undefined || type !== "Prefix" || value === "/") return null;
  return {
    kind: "redirect",
    status: 301,
    location: `${value}/`,
    path: decodedRoutePath(value),
    decoded: true,
    keepsQuery: true,
    ...(slash === "relative" ? { isRelative: true } : {}),
  };
}
