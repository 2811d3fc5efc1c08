/** The table of keys beside ingress-nginx's own list, and beside our flags. */
import assert from "node:assert/strict";
import { hasEffect, keyCloses } from "./key.ts";
import { KEYS, REFUSABLE_KEYS } from "./table.ts";

/** https://kubernetes.github.io/ingress-nginx/user-guide/nginx-configuration/configmap/ */
const LISTED = `
  access-log-params access-log-path add-headers allow-backend-server-header
  allow-cross-namespace-resources allow-snippet-annotations annotation-value-word-blocklist
  annotations-risk-level app-root bind-address bind-address-ipv4 bind-address-ipv6 block-cidrs
  block-referers block-user-agents brotli-level brotli-min-length brotli-types
  client-body-buffer-size client-body-timeout client-header-buffer-size client-header-timeout
  compute-full-forwarded-for custom-http-errors debug-connections default-type
  denylist-source-range disable-access-log disable-http-access-log disable-ipv6 disable-ipv6-dns
  disable-proxy-intercept-errors disable-stream-access-log enable-access-log-for-default-backend
  enable-aio-write enable-auth-access-log enable-brotli enable-modsecurity enable-multi-accept
  enable-ocsp enable-opentelemetry enable-owasp-modsecurity-crs enable-real-ip
  enable-serial-reloads enable-syslog enable-underscores-in-headers error-log-level
  error-log-path force-ssl-redirect forwarded-for-header generate-request-id
  geoip2-autoreload-in-minutes global-allowed-response-headers global-auth-always-set-cookie
  global-auth-cache-duration global-auth-cache-key global-auth-method
  global-auth-request-redirect global-auth-response-headers global-auth-signin
  global-auth-signin-redirect-param global-auth-snippet global-auth-url
  global-rate-limit-memcached-connect-timeout global-rate-limit-memcached-host
  global-rate-limit-memcached-max-idle-timeout global-rate-limit-memcached-pool-size
  global-rate-limit-memcached-port global-rate-limit-status-code grpc-buffer-size-kb
  gzip-disable gzip-level gzip-min-length gzip-types hide-headers hsts hsts-include-subdomains
  hsts-max-age hsts-preload http-access-log-path http-redirect-code http-snippet
  http2-max-concurrent-streams http2-max-field-size http2-max-header-size http2-max-requests
  ignore-invalid-headers keep-alive keep-alive-requests large-client-header-buffers
  limit-conn-status-code limit-conn-zone-variable limit-rate limit-rate-after
  limit-req-status-code load-balance location-snippet log-format-escape-json
  log-format-escape-none log-format-stream log-format-upstream lua-shared-dicts main-snippet
  map-hash-bucket-size max-worker-connections max-worker-open-files modsecurity-snippet
  nginx-status-ipv4-whitelist nginx-status-ipv6-whitelist no-auth-locations
  no-tls-redirect-locations opentelemetry-config opentelemetry-operation-name
  opentelemetry-trust-incoming-span otel-max-export-batch-size otel-max-queuesize otel-sampler
  otel-sampler-parent-based otel-sampler-ratio otel-schedule-delay-millis otel-service-name
  otlp-collector-host otlp-collector-port plugins preserve-trailing-slash
  proxy-add-original-uri-header proxy-body-size proxy-buffer-size proxy-buffering
  proxy-buffers-number proxy-connect-timeout proxy-cookie-domain proxy-cookie-path
  proxy-headers-hash-bucket-size proxy-headers-hash-max-size proxy-http-version
  proxy-max-temp-file-size proxy-next-upstream proxy-next-upstream-timeout
  proxy-next-upstream-tries proxy-protocol-header-timeout proxy-read-timeout proxy-real-ip-cidr
  proxy-redirect-from proxy-redirect-to proxy-request-buffering proxy-send-timeout
  proxy-set-headers proxy-ssl-location-only proxy-stream-next-upstream
  proxy-stream-next-upstream-timeout proxy-stream-next-upstream-tries proxy-stream-responses
  proxy-stream-timeout retry-non-idempotent reuse-port server-name-hash-bucket-size
  server-name-hash-max-size server-snippet server-tokens service-upstream skip-access-log-urls
  ssl-buffer-size ssl-ciphers ssl-dh-param ssl-early-data ssl-ecdh-curve ssl-protocols
  ssl-redirect ssl-reject-handshake ssl-session-cache ssl-session-cache-size
  ssl-session-ticket-key ssl-session-tickets ssl-session-timeout stream-access-log-path
  stream-snippet strict-validate-path-type syslog-host syslog-port upstream-hash-by
  upstream-hash-by-subset upstream-hash-by-subset-size upstream-keepalive-connections
  upstream-keepalive-requests upstream-keepalive-time upstream-keepalive-timeout
  use-forwarded-headers use-geoip2 use-gzip use-http2 use-port-in-redirects use-proxy-protocol
  variables-hash-bucket-size variables-hash-max-size whitelist-source-range worker-cpu-affinity
  worker-processes worker-shutdown-timeout
`;

/** In its documentation, and nowhere in its code. */
const DOCUMENTED = `
  datadog-collector-host datadog-collector-port datadog-environment
  datadog-operation-name-override datadog-priority-sampling datadog-sample-rate
  datadog-service-name jaeger-baggage-header jaeger-collector-host jaeger-collector-port
  jaeger-debug-header jaeger-endpoint jaeger-propagation-format jaeger-sampler-host
  jaeger-sampler-param jaeger-sampler-port jaeger-sampler-type jaeger-service-name
  jaeger-trace-baggage-header-prefix jaeger-trace-context-header-name use-geoip
`;

Deno.test("every key of ingress-nginx's ConfigMap has a row", () => {
  const listed = `${LISTED} ${DOCUMENTED}`.trim().split(/\s+/);
  assert.equal(listed.length, 220);
  assert.deepEqual([...KEYS.keys()].sort(), listed.sort());
});

/** The families that protect, with what stands apart in them. */
const PROTECTING: readonly RegExp[] = [
  /^(whitelist|denylist)-source-range$/,
  /^block-/,
  /^global-auth-/,
  /^no-auth-locations$/,
  /^(use-forwarded-headers|proxy-real-ip-cidr|enable-real-ip|forwarded-for-header)$/,
  /^(use-proxy-protocol|bind-address.*)$/,
  /^(annotations-risk-level|annotation-value-word-blocklist)$/,
  /^(limit-rate.*|proxy-body-size|(force-)?ssl-redirect)$/,
  /^(add-headers|proxy-set-headers|hide-headers)$/,
  /^(ssl-protocols|ssl-ciphers)$/,
  /-snippet$/,
  /^(plugins|enable-modsecurity|enable-owasp-modsecurity-crs)$/,
];

Deno.test("keys about access, addresses, limits, headers, TLS, snippets and the firewall protect, and no others", () => {
  const protecting = [...KEYS].filter(([, row]) => row.protects).map(([name]) => name);
  const expected = [...KEYS.keys()].filter((name) => PROTECTING.some((known) => known.test(name)));
  assert.deepEqual(protecting, expected);
});

Deno.test("a key that protects has an effect, closes paths, or only adds to one that does", () => {
  for (const [name, row] of KEYS) {
    if (!row.protects || hasEffect(row)) continue;
    const closing = row.beside?.map((main) => KEYS.get(main)!) ?? [row];
    assert.ok(closing.every((each) => keyCloses(each) || hasEffect(each)), name);
  }
});

Deno.test("flags that a key's row names exist", () => {
  const page = Deno.readTextFileSync(new URL("../../../docs/flags.md", import.meta.url));
  const flags = [...KEYS.values()].flatMap(({ verdict, closedRemedy }) =>
    [...JSON.stringify([verdict, closedRemedy]).matchAll(/--[a-z-\d]+/g)].map(([flag]) => flag)
  );
  assert.ok(new Set(flags).size >= 8);
  for (const flag of flags) {
    assert.ok(page.includes(`| \`${flag} `) || page.includes(`| \`${flag}\``), flag);
  }
});

Deno.test("every row has a clause that says what the key does", () => {
  for (const [name, { does }] of KEYS) assert.match(does, /^["a-z][^|\n]*[^.]$/, name);
});

Deno.test("names that --accept-unsupported accepts are those of keys that close paths", () => {
  assert.ok(REFUSABLE_KEYS.includes("enable-modsecurity"));
  assert.ok(!REFUSABLE_KEYS.includes("worker-processes"));
});
