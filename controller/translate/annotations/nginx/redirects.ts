/**
 * Redirects in place of backends. In: annotations of one Ingress. Out: the filters of its routes that
 * redirect, as nginx's `return` does: before clients are authenticated or limited; and how its routes
 * redirect plain HTTP to HTTPS, which comes next.
 */
import type { FilterSpec, PathMatch } from "../../../../shared/snapshot/types.ts";
import type { Profile } from "../../model/profile.ts";
import type { PolicySpec } from "../../model/route_settings.ts";
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
  return {
    ...{ kind: "redirect", status, location: permanent },
    ...(permanent.startsWith("/") && isRelative(annotations) ? { isRelative: true } : {}),
  };
}

function isRelative(annotations: NginxAnnotations): boolean {
  return annotations.valueOf(REDIRECTS, "relative-redirects") === true;
}

/**
 * Of plain HTTP to HTTPS. `force-ssl-redirect` counts beside `ssl-redirect: "false"`, as in
 * ingress-nginx. Where `ssl-redirect: "true"` is written, no request is forwarded in plain text because
 * a Secret of the Ingress is missing or broken.
 */
export function readHttpsRedirect(
  annotations: NginxAnnotations,
  profile: Profile,
): Pick<PolicySpec, "httpsRedirect"> {
  const isForced = annotations.valueOf(REDIRECTS, "force-ssl-redirect") === true;
  const redirects = annotations.valueOf(REDIRECTS, "ssl-redirect");
  const when = isForced
    ? "always" as const
    : redirects === null
    ? null
    : !redirects
    ? "never" as const
    : annotations.hasTls
    ? "tls" as const
    : "certificate" as const;
  const port = annotations.valueOf(REDIRECTS, "use-port-in-redirects") === true;
  const keepsSlash = annotations.valueOf(REDIRECTS, "preserve-trailing-slash") ??
    profile !== "nginx";
  const httpsRedirect = {
    ...(when === null ? {} : { when }),
    ...(port ? { port } : {}),
    ...(keepsSlash ? {} : { cutsSlash: true as const }),
  };
  return Object.keys(httpsRedirect).length === 0 ? {} : { httpsRedirect };
}

/** How nginx's own redirect from `/path` to `/path/` names its target: as a URL, or as a path. */
export type SlashRedirect = NonNullable<PathMatch["slash"]>;

/** Of a Prefix that has a slash at its end. */
export function readSlashRedirect(annotations: NginxAnnotations): SlashRedirect {
  return isRelative(annotations) ? "relative" : "absolute";
}
