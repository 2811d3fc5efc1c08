/**
 * What stands in for each annotation of ingress-nginx. In: nothing. Out: a table by the annotation's
 * name. Defaults of flags are repeated in it, since whoever reads of one wants to know it.
 *
 * https://kubernetes.github.io/ingress-nginx/user-guide/nginx-configuration/annotations/
 */

/** How a part of ingress-nginx is had here. */
export type StandIn =
  /** There is no such thing yet. */
  | { readonly kind: "nothing" }
  /** As "nothing"; a value that protects is refused (`refusals.ts`). */
  | { readonly kind: "open" }
  /** Never, since configuration is data here. */
  | { readonly kind: "never" }
  /** What to write in its place. */
  | { readonly kind: "instead"; readonly remedy: string }
  /** Flags of the proxy, which hold for all that it serves. */
  | { readonly kind: "flag"; readonly remedy: string }
  /** It is so without an annotation, if the value is as `because` says. */
  | { readonly kind: "always"; readonly because: string };

const NOTHING: StandIn = { kind: "nothing" };
const OPEN: StandIn = { kind: "open" };
const NEVER: StandIn = { kind: "never" };
const STREAMS: StandIn = {
  kind: "always",
  because: "requests and answers are streamed, never gathered in memory or files",
};

function always(because: string): StandIn {
  return { kind: "always", because };
}

function flag(remedy: string): StandIn {
  return { kind: "flag", remedy };
}

function instead(remedy: string): StandIn {
  return { kind: "instead", remedy };
}

/**
 * Every annotation that ingress-nginx had, and some that were written in its name without effect, by
 * the name without the prefix.
 */
export const STAND_INS: ReadonlyMap<string, StandIn> = new Map<string, StandIn>([
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
    instead(
      "Write appProtocol at the Service's port: kubernetes.io/h2c for GRPC, grpcs for GRPCS, https " +
        "for HTTPS; for AUTO_HTTP say which; FastCGI is not spoken to backends",
    ),
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
  ["connection-proxy-header", always("connections to backends are kept, and upgrades passed on")],
  ["cors-allow-credentials", NOTHING],
  ["cors-allow-headers", NOTHING],
  ["cors-allow-methods", NOTHING],
  ["cors-allow-origin", NOTHING],
  ["cors-expose-headers", NOTHING],
  ["cors-max-age", NOTHING],
  ["custom-headers", NOTHING],
  ["custom-http-errors", NOTHING],
  [
    "default-backend",
    instead(
      "spec.defaultBackend gets what no path takes; nothing yet takes requests whose Service has no endpoints",
    ),
  ],
  ["denylist-source-range", OPEN],
  ["disable-proxy-intercept-errors", always("answers of backends are passed on as they are")],
  ["enable-access-log", flag("The proxy's --access-log writes one, unless it is false")],
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
  [
    "force-ssl-redirect",
    instead(
      "Give the host a certificate by spec.tls: plain HTTP to it is then sent to HTTPS (the proxy's --ssl-redirect, on by default)",
    ),
  ],
  ["from-to-www-redirect", NOTHING],
  ["global-rate-limit", OPEN],
  ["global-rate-limit-ignored-cidrs", NOTHING],
  ["global-rate-limit-key", NOTHING],
  ["global-rate-limit-window", NOTHING],
  ["grpc-backend", instead("Write appProtocol: kubernetes.io/h2c at the Service's port")],
  ["http2-push-preload", always("browsers no longer take what is pushed")],
  ["influxdb-host", NOTHING],
  ["influxdb-measurement", NOTHING],
  ["influxdb-port", NOTHING],
  ["influxdb-server-name", NOTHING],
  ["limit-allowlist", NOTHING],
  ["limit-burst-multiplier", NOTHING],
  [
    "limit-connections",
    flag("The proxy's --connections-per-address limits those of one client"),
  ],
  ["limit-rate", NOTHING],
  ["limit-rate-after", NOTHING],
  ["limit-rpm", OPEN],
  ["limit-rps", OPEN],
  ["limit-whitelist", NOTHING],
  [
    "load-balance",
    instead(
      'In place of "ewma" write pingress.io/balance: least-requests on the Service; endpoints ' +
        'are taken in turn without it, as by "round_robin"',
    ),
  ],
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
  ["preserve-trailing-slash", always("a last slash is neither taken off nor added")],
  [
    "proxy-body-size",
    flag("Bodies may be of any size, unless the proxy's --body-limit says otherwise"),
  ],
  [
    "proxy-buffer-size",
    flag("The proxy's --response-head-limit (64 KiB) bounds an answer's head; bodies are streamed"),
  ],
  ["proxy-buffering", STREAMS],
  ["proxy-buffers-number", STREAMS],
  ["proxy-busy-buffers-size", STREAMS],
  ["proxy-connect-timeout", flag("The proxy's --connect-timeout (3s) stands in for it")],
  ["proxy-cookie-domain", NOTHING],
  ["proxy-cookie-path", NOTHING],
  [
    "proxy-http-version",
    instead(
      "Write appProtocol at the Service's port for HTTP/2; backends are spoken to in HTTP/1.1 without it",
    ),
  ],
  ["proxy-max-temp-file-size", STREAMS],
  [
    "proxy-next-upstream",
    flag(
      "Another endpoint is tried where that does no harm (the proxy's --tries); which failures count cannot be chosen",
    ),
  ],
  [
    "proxy-next-upstream-timeout",
    flag(
      "The proxy's --tries and --connect-timeout bound the time that it takes to find an endpoint",
    ),
  ],
  [
    "proxy-next-upstream-tries",
    flag("The proxy's --tries (2) stands in for it, and --retry-budget bounds tries in all"),
  ],
  [
    "proxy-read-timeout",
    flag(
      "The proxy's --response-head-timeout (1m) and --response-body-timeout (1m) stand in for it, and --tunnel-idle-timeout (1h) for WebSockets",
    ),
  ],
  ["proxy-redirect-from", NOTHING],
  ["proxy-redirect-to", NOTHING],
  ["proxy-request-buffering", STREAMS],
  ["proxy-send-timeout", flag("The proxy's --write-timeout (30s) stands in for it")],
  [
    "proxy-ssl-ciphers",
    always("backends are spoken to by TLS 1.2 or 1.3, whose ciphers cannot be chosen"),
  ],
  ["proxy-ssl-name", instead("Annotate the Service with pingress.io/upstream-tls-name")],
  ["proxy-ssl-protocols", always("backends are spoken to by TLS 1.2 or 1.3")],
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
  ["secure-backends", instead("Write appProtocol: https at the Service's port")],
  ["secure-verify-ca-secret", instead("Annotate the Service with pingress.io/upstream-tls-ca")],
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
  [
    "ssl-ciphers",
    always("TLS 1.2 and 1.3 with the ciphers of Mozilla's intermediate profile are taken"),
  ],
  ["ssl-passthrough", NOTHING],
  [
    "ssl-prefer-server-ciphers",
    always("all ciphers that are taken are good ones, so the client chooses"),
  ],
  [
    "ssl-redirect",
    flag(
      "Plain HTTP to hosts with a certificate is sent to HTTPS unless the proxy's --ssl-redirect is false",
    ),
  ],
  ["stream-snippet", NEVER],
  ["temporal-redirect", NOTHING],
  ["temporal-redirect-code", NOTHING],
  ["upstream-hash-by", NOTHING],
  ["upstream-hash-by-subset", NOTHING],
  ["upstream-hash-by-subset-size", NOTHING],
  [
    "upstream-keepalive-connections",
    flag("The proxy's --upstream-idle-limit (320) stands in for it"),
  ],
  [
    "upstream-keepalive-requests",
    flag("The proxy's --upstream-connection-age (1h) bounds how long a connection is used"),
  ],
  [
    "upstream-keepalive-timeout",
    flag("The proxy's --upstream-idle-timeout (50s) stands in for it"),
  ],
  ["upstream-vhost", NOTHING],
  ["use-port-in-redirects", flag("The proxy's --ssl-redirect-port stands in for it")],
  ["use-regex", instead("Write paths without patterns, of type Prefix or Exact")],
  ["websocket-services", always("WebSockets need no annotation")],
  ["whitelist-source-range", OPEN],
  ["x-forwarded-prefix", NOTHING],
]);
