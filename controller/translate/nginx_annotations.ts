/**
 * What people who come from ingress-nginx had in annotations. In: the annotations of an Ingress. Out:
 * a problem for each `nginx.ingress.kubernetes.io/*`, with what stands in for it here, or that
 * nothing does yet. None of them changes what is served, so those that protect something are errors:
 * without them a door stands open.
 *
 * https://kubernetes.github.io/ingress-nginx/user-guide/nginx-configuration/annotations/
 */
import { asObject, quote } from "./json.ts";
import type { Report } from "./problems.ts";

export const NGINX_PREFIX = "nginx.ingress.kubernetes.io/";

/** How a part of ingress-nginx is had here. */
type StandIn =
  /** There is no such thing yet. */
  | { readonly kind: "nothing" }
  /** As "nothing", and what it kept out gets in. */
  | { readonly kind: "open" }
  /** Never, since configuration is data here. */
  | { readonly kind: "never" }
  /** What to write in its place. */
  | { readonly kind: "instead"; readonly remedy: string }
  /** It is so without an annotation, if the value is as `because` says. */
  | { readonly kind: "always"; readonly because: string };

const NOTHING: StandIn = { kind: "nothing" };
const OPEN: StandIn = { kind: "open" };
const NEVER: StandIn = { kind: "never" };
const STREAMS: StandIn = {
  kind: "always",
  because: "requests and answers are streamed, never gathered in memory or files",
};

function instead(remedy: string): StandIn {
  return { kind: "instead", remedy };
}

/** Every annotation that ingress-nginx had, by its name without the prefix. */
const STAND_INS: ReadonlyMap<string, StandIn> = new Map<string, StandIn>([
  ["affinity", NOTHING],
  ["affinity-canary-behavior", NOTHING],
  ["affinity-mode", NOTHING],
  ["allowlist-source-range", OPEN],
  ["app-root", NOTHING],
  ["auth-always-set-cookie", NOTHING],
  ["auth-cache-duration", NOTHING],
  ["auth-cache-key", NOTHING],
  ["auth-keepalive", NOTHING],
  ["auth-keepalive-requests", NOTHING],
  ["auth-keepalive-share-vars", NOTHING],
  ["auth-keepalive-timeout", NOTHING],
  ["auth-method", NOTHING],
  ["auth-proxy-set-headers", NOTHING],
  ["auth-realm", NOTHING],
  ["auth-request-redirect", NOTHING],
  ["auth-response-headers", NOTHING],
  ["auth-secret", OPEN],
  ["auth-secret-type", NOTHING],
  ["auth-signin", NOTHING],
  ["auth-signin-redirect-param", NOTHING],
  ["auth-snippet", NEVER],
  ["auth-tls-error-page", NOTHING],
  ["auth-tls-match-cn", OPEN],
  ["auth-tls-pass-certificate-to-upstream", NOTHING],
  ["auth-tls-secret", OPEN],
  ["auth-tls-verify-client", OPEN],
  ["auth-tls-verify-depth", NOTHING],
  ["auth-type", OPEN],
  ["auth-url", OPEN],
  [
    "backend-protocol",
    instead("Write appProtocol: https (or kubernetes.io/wss) at the Service's port for HTTPS"),
  ],
  ["canary", NOTHING],
  ["canary-by-cookie", NOTHING],
  ["canary-by-header", NOTHING],
  ["canary-by-header-pattern", NOTHING],
  ["canary-by-header-value", NOTHING],
  ["canary-weight", NOTHING],
  ["canary-weight-total", NOTHING],
  ["client-body-buffer-size", STREAMS],
  ["configuration-snippet", NEVER],
  ["connection-proxy-header", NOTHING],
  ["cors-allow-credentials", NOTHING],
  ["cors-allow-headers", NOTHING],
  ["cors-allow-methods", NOTHING],
  ["cors-allow-origin", NOTHING],
  ["cors-expose-headers", NOTHING],
  ["cors-max-age", NOTHING],
  ["custom-headers", NOTHING],
  ["custom-http-errors", NOTHING],
  ["default-backend", NOTHING],
  ["denylist-source-range", OPEN],
  ["disable-proxy-intercept-errors", NOTHING],
  ["enable-access-log", NOTHING],
  ["enable-cors", NOTHING],
  ["enable-global-auth", NOTHING],
  ["enable-influxdb", NOTHING],
  ["enable-modsecurity", OPEN],
  ["enable-opentelemetry", NOTHING],
  ["enable-opentracing", NOTHING],
  ["enable-owasp-core-rules", OPEN],
  ["enable-rewrite-log", NOTHING],
  ["fastcgi-index", NOTHING],
  ["fastcgi-params-configmap", NOTHING],
  ["force-ssl-redirect", NOTHING],
  ["from-to-www-redirect", NOTHING],
  ["global-rate-limit", OPEN],
  ["global-rate-limit-ignored-cidrs", NOTHING],
  ["global-rate-limit-key", NOTHING],
  ["global-rate-limit-window", NOTHING],
  ["http2-push-preload", NOTHING],
  ["influxdb-host", NOTHING],
  ["influxdb-measurement", NOTHING],
  ["influxdb-port", NOTHING],
  ["influxdb-server-name", NOTHING],
  ["limit-allowlist", NOTHING],
  ["limit-burst-multiplier", NOTHING],
  ["limit-connections", OPEN],
  ["limit-rate", NOTHING],
  ["limit-rate-after", NOTHING],
  ["limit-rpm", OPEN],
  ["limit-rps", OPEN],
  ["limit-whitelist", NOTHING],
  ["load-balance", {
    kind: "always",
    because: "endpoints are taken in turn; there is no other way of balancing yet",
  }],
  ["mirror-host", NOTHING],
  ["mirror-request-body", NOTHING],
  ["mirror-target", NOTHING],
  ["modsecurity-snippet", NEVER],
  ["modsecurity-transaction-id", NOTHING],
  ["opentelemetry-operation-name", NOTHING],
  ["opentelemetry-trust-incoming-span", NOTHING],
  ["opentracing-trust-incoming-span", NOTHING],
  ["permanent-redirect", NOTHING],
  ["permanent-redirect-code", NOTHING],
  ["preserve-trailing-slash", NOTHING],
  ["proxy-body-size", { kind: "always", because: "bodies may be of any size" }],
  ["proxy-buffer-size", STREAMS],
  ["proxy-buffering", STREAMS],
  ["proxy-buffers-number", STREAMS],
  ["proxy-busy-buffers-size", STREAMS],
  ["proxy-connect-timeout", NOTHING],
  ["proxy-cookie-domain", NOTHING],
  ["proxy-cookie-path", NOTHING],
  ["proxy-http-version", { kind: "always", because: "backends are spoken to in HTTP/1.1" }],
  ["proxy-max-temp-file-size", STREAMS],
  ["proxy-next-upstream", NOTHING],
  ["proxy-next-upstream-timeout", NOTHING],
  ["proxy-next-upstream-tries", NOTHING],
  ["proxy-read-timeout", NOTHING],
  ["proxy-redirect-from", NOTHING],
  ["proxy-redirect-to", NOTHING],
  ["proxy-request-buffering", STREAMS],
  ["proxy-send-timeout", NOTHING],
  ["proxy-ssl-ciphers", NOTHING],
  ["proxy-ssl-name", instead("Annotate the Service with pingress.io/upstream-tls-name")],
  ["proxy-ssl-protocols", NOTHING],
  [
    "proxy-ssl-secret",
    instead(
      "Annotate the Service with pingress.io/upstream-tls-ca and " +
        "pingress.io/upstream-tls-client-certificate",
    ),
  ],
  ["proxy-ssl-server-name", {
    kind: "always",
    because: "backends that are spoken to by TLS are sent the name that is verified",
  }],
  ["proxy-ssl-verify", {
    kind: "always",
    because: "backends are verified unless their Service says otherwise " +
      "(pingress.io/upstream-tls-verify)",
  }],
  ["proxy-ssl-verify-depth", NOTHING],
  ["relative-redirects", NOTHING],
  ["rewrite-target", NOTHING],
  ["satisfy", OPEN],
  ["secure-verify-ca-secret", NOTHING],
  ["server-alias", instead("Add a rule with that host to spec.rules")],
  ["server-snippet", NEVER],
  ["service-upstream", NOTHING],
  ["session-cookie-change-on-failure", NOTHING],
  ["session-cookie-conditional-samesite-none", NOTHING],
  ["session-cookie-domain", NOTHING],
  ["session-cookie-expires", NOTHING],
  ["session-cookie-hash", NOTHING],
  ["session-cookie-max-age", NOTHING],
  ["session-cookie-name", NOTHING],
  ["session-cookie-partitioned", NOTHING],
  ["session-cookie-path", NOTHING],
  ["session-cookie-samesite", NOTHING],
  ["session-cookie-secure", NOTHING],
  ["ssl-ciphers", NOTHING],
  ["ssl-passthrough", NOTHING],
  ["ssl-prefer-server-ciphers", NOTHING],
  ["ssl-redirect", NOTHING],
  ["stream-snippet", NEVER],
  ["temporal-redirect", NOTHING],
  ["temporal-redirect-code", NOTHING],
  ["upstream-hash-by", NOTHING],
  ["upstream-hash-by-subset", NOTHING],
  ["upstream-hash-by-subset-size", NOTHING],
  ["upstream-vhost", NOTHING],
  ["use-port-in-redirects", NOTHING],
  ["use-regex", instead("Write paths without patterns, of type Prefix or Exact")],
  ["whitelist-source-range", OPEN],
  ["x-forwarded-prefix", NOTHING],
]);

/** Reports each annotation of ingress-nginx, in the order of their names. */
export function reportNginxAnnotations(annotations: unknown, report: Report): void {
  const names = Object.keys(asObject(annotations) ?? {})
    .filter((name) => name.startsWith(NGINX_PREFIX))
    .sort();
  for (const name of names) {
    const standIn = STAND_INS.get(name.slice(NGINX_PREFIX.length));
    const { message, remedy } = standIn === undefined ? UNKNOWN : wordsFor(standIn);
    const severity = standIn?.kind === "open" ? "error" : "warning";
    report[severity](`metadata.annotations[${JSON.stringify(name)}]`, {
      reason: "NginxAnnotation",
      message: `annotation ${quote(name)} ${message}`,
      remedy,
    });
  }
}

/** Names of ingress-nginx's annotations, without the prefix. */
export const NGINX_ANNOTATIONS: readonly string[] = [...STAND_INS.keys()];

interface Words {
  readonly message: string;
  readonly remedy: string;
}

const UNKNOWN: Words = {
  message: "has no effect here, and is none that ingress-nginx documents",
  remedy: "Take the annotation off",
};

function wordsFor(standIn: StandIn): Words {
  switch (standIn.kind) {
    case "nothing":
      return {
        message: "has no effect here",
        remedy: "Nothing stands in for it yet; take the annotation off if you can do without",
      };
    case "open":
      return {
        message: "has no effect here: requests that it would refuse are let through",
        remedy: "Nothing stands in for it yet; do not publish this Ingress where it must hold",
      };
    case "never":
      return {
        message: "has no effect here: configuration is never text that is run",
        remedy: "Nothing stands in for it; take the annotation off",
      };
    case "instead":
      return { message: "has no effect here", remedy: standIn.remedy };
    case "always":
      return {
        message: `has no effect here: ${standIn.because}`,
        remedy: "Take the annotation off",
      };
  }
}
