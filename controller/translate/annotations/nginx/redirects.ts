/**
 * Redirects in place of backends. In: annotations of one Ingress. Out: the filters of its routes that
 * redirect, as nginx's `return` does: before clients are authenticated or limited.
 */
import type { FilterSpec } from "../../../../shared/snapshot/types.ts";
import type { NginxAnnotations } from "./nginx_annotations.ts";
import { REDIRECTS } from "./rows/redirects.ts";

/** Of requests for `/` alone. */
export function readAppRoot(annotations: NginxAnnotations): FilterSpec | null {
  const location = annotations.valueOf(REDIRECTS, "app-root");
  return location === null ? null : { kind: "redirect", status: 302, location, path: "/" };
}

/** Of all requests; the temporary one counts where both are there, as in ingress-nginx. */
export function readRedirect(annotations: NginxAnnotations): FilterSpec | null {
  const temporary = annotations.valueOf(REDIRECTS, "temporal-redirect");
  if (temporary !== null) {
    const status = annotations.valueOf(REDIRECTS, "temporal-redirect-code") ?? 302;
    return { kind: "redirect", status, location: temporary };
  }
  const permanent = annotations.valueOf(REDIRECTS, "permanent-redirect");
  if (permanent === null) return null;
  const status = annotations.valueOf(REDIRECTS, "permanent-redirect-code") ?? 301;
  return { kind: "redirect", status, location: permanent };
}
