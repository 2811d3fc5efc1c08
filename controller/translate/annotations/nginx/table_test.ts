/** The table beside ingress-nginx's own list of annotations, and beside our flags. */
import assert from "node:assert/strict";
import { NginxAnnotations } from "./nginx_annotations.ts";
import { reportNginxAnnotations } from "./annotations.ts";
import { BY_NAME, canClose, isHonoured, needsProfile, NGINX_PREFIX, ROWS } from "./table.ts";
import { ProblemList } from "../../../base/problems.ts";

/** https://kubernetes.github.io/ingress-nginx/user-guide/nginx-configuration/annotations-risk/ */
const LISTED: Readonly<Record<string, string>> = {
  Low: `
    affinity affinity-canary-behavior auth-always-set-cookie auth-keepalive
    auth-keepalive-requests auth-keepalive-share-vars auth-keepalive-timeout auth-method
    auth-secret-type auth-tls-pass-certificate-to-upstream auth-tls-verify-depth auth-type
    backend-protocol canary canary-weight canary-weight-total client-body-buffer-size
    connection-proxy-header cors-allow-credentials cors-max-age custom-http-errors
    default-backend disable-proxy-intercept-errors enable-access-log enable-cors
    enable-global-auth enable-modsecurity enable-opentelemetry enable-owasp-core-rules
    enable-rewrite-log from-to-www-redirect http2-push-preload limit-allowlist
    limit-burst-multiplier limit-connections limit-rate limit-rate-after limit-rpm limit-rps
    load-balance mirror-request-body opentelemetry-trust-incoming-span permanent-redirect-code
    proxy-buffer-size proxy-buffering proxy-buffers-number proxy-busy-buffers-size
    proxy-connect-timeout proxy-http-version proxy-max-temp-file-size
    proxy-next-upstream-timeout proxy-next-upstream-tries proxy-read-timeout
    proxy-request-buffering proxy-send-timeout proxy-ssl-protocols proxy-ssl-server-name
    proxy-ssl-verify proxy-ssl-verify-depth relative-redirects satisfy service-upstream
    session-cookie-change-on-failure session-cookie-conditional-samesite-none
    session-cookie-partitioned session-cookie-samesite session-cookie-secure ssl-ciphers
    ssl-passthrough ssl-prefer-server-ciphers ssl-redirect temporal-redirect-code
    upstream-hash-by-subset upstream-hash-by-subset-size upstream-vhost use-port-in-redirects
    use-regex
  `,
  Medium: `
    affinity-mode allowlist-source-range app-root auth-cache-duration auth-cache-key
    auth-proxy-set-headers auth-realm auth-request-redirect auth-response-headers auth-secret
    auth-signin-redirect-param auth-tls-secret auth-tls-verify-client canary-by-cookie
    canary-by-header canary-by-header-pattern canary-by-header-value cors-allow-headers
    cors-allow-methods cors-allow-origin cors-expose-headers custom-headers
    denylist-source-range fastcgi-index fastcgi-params-configmap force-ssl-redirect
    opentelemetry-operation-name permanent-redirect preserve-trailing-slash proxy-body-size
    proxy-cookie-domain proxy-cookie-path proxy-next-upstream proxy-redirect-from
    proxy-redirect-to proxy-ssl-ciphers proxy-ssl-secret rewrite-target session-cookie-domain
    session-cookie-expires session-cookie-max-age session-cookie-name session-cookie-path
    temporal-redirect x-forwarded-prefix
  `,
  High: `
    auth-signin auth-tls-error-page auth-tls-match-cn auth-url mirror-host mirror-target
    modsecurity-transaction-id proxy-ssl-name server-alias upstream-hash-by
  `,
  Critical: `
    auth-snippet configuration-snippet modsecurity-snippet server-snippet stream-snippet
  `,
};

Deno.test("every annotation of ingress-nginx has a row with its risk", () => {
  const listed = Object.entries(LISTED).flatMap(([risk, names]) =>
    names.trim().split(/\s+/).map((name) => [name, risk])
  );
  assert.equal(listed.length, 137);
  const rows = [...ROWS].flatMap(([name, { risk }]) => risk === null ? [] : [[name, risk]]);
  const order = ([a]: string[], [b]: string[]) => a < b ? -1 : 1;
  assert.deepEqual(rows.sort(order), listed.sort(order));
});

Deno.test("no name or alias stands for two rows", () => {
  const names = [...ROWS].flatMap(([name, { aliases = [] }]) => [name, ...aliases]);
  assert.deepEqual([...new Set(names)], names);
  assert.equal(BY_NAME.size, names.length);
});

/** The code that makes something of annotations: without rows and tests. */
function readersCode(): string {
  const folder = new URL("./", import.meta.url);
  return [...Deno.readDirSync(folder)]
    .filter(({ name }) => name.endsWith(".ts") && !name.endsWith("_test.ts"))
    .map(({ name }) => Deno.readTextFileSync(new URL(name, folder)))
    .join("\n");
}

/** Whatever their values, what they ask for is done as the difference says. */
const UNREAD: readonly string[] = ["proxy-buffering"];

Deno.test("an annotation that is honoured is read by somebody", () => {
  const code = readersCode();
  const unread = [...ROWS].filter(([name, row]) => isHonoured(row) && !code.includes(`"${name}"`));
  assert.deepEqual(unread.map(([name]) => name), UNREAD);
});

/** The families that protect, with what stands apart in them. */
const PROTECTING: readonly RegExp[] = [
  /^(allow|deny)list-source-range$/,
  /^auth-/,
  /^(satisfy|enable-global-auth)$/,
  /^limit-/,
  /^(enable-modsecurity|enable-owasp-core-rules|modsecurity-.*)$/,
  /-snippet$/,
  /^(custom-headers|ssl-ciphers|ssl-passthrough|backend-protocol|proxy-body-size)$/,
  /^proxy-ssl-/,
  /^(force-)?ssl-redirect$/,
  /^global-rate-limit$/,
];

Deno.test("annotations about access, limits, TLS, snippets and the firewall protect, and no others", () => {
  const protecting = [...ROWS].filter(([, row]) => row.protects).map(([name]) => name);
  const expected = [...ROWS.keys()].filter((name) => PROTECTING.some((known) => known.test(name)));
  assert.deepEqual(protecting, expected);
  assert.ok(protecting.length > 50);
});

Deno.test("an invalid value of what protects closes its paths", () => {
  for (const [name, row] of ROWS) if (row.protects) assert.equal(row.invalid, "close", name);
});

Deno.test("the main annotation of another one is a row, and closes paths itself", () => {
  for (const [name, { beside = [] }] of ROWS) {
    for (const main of beside) {
      const row = ROWS.get(main);
      assert.ok(row !== undefined && canClose(row), `${name} beside ${main}`);
    }
  }
});

Deno.test("annotations that name an object say of which kind it is", () => {
  const referring = [...ROWS].flatMap(([name, { value }]) =>
    value.refersTo === null ? [] : [`${name} ${value.refersTo}`]
  );
  assert.deepEqual(referring.sort(), [
    "auth-proxy-set-headers ConfigMap",
    "auth-secret Secret",
    "auth-tls-secret Secret",
    "custom-headers ConfigMap",
    "default-backend Service",
    "fastcgi-params-configmap ConfigMap",
    "proxy-ssl-secret Secret",
  ]);
});

Deno.test("flags that an annotation's row names exist", () => {
  const page = Deno.readTextFileSync(new URL("../../../../docs/flags.md", import.meta.url));
  const flags = [...ROWS.values()].flatMap(({ verdict, closedRemedy }) =>
    [...JSON.stringify([verdict, closedRemedy]).matchAll(/--[a-z-]+/g)].map(([flag]) => flag)
  );
  assert.ok(new Set(flags).size >= 8);
  for (const flag of flags) {
    assert.ok(page.includes(`| \`${flag} `) || page.includes(`| \`${flag}\``), flag);
  }
});

Deno.test("every row has a clause that says what the annotation does", () => {
  for (const [name, { does }] of ROWS) {
    assert.match(does, /^["a-z][^|\n]*[^.]$/, name);
  }
});

Deno.test("each annotation is reported once, with a remedy", () => {
  const annotations = Object.fromEntries(
    [...BY_NAME.keys()].map((name) => [NGINX_PREFIX + name, "{!"]),
  );
  const problems = new ProblemList();
  const object = { kind: "Ingress", namespace: "default", name: "web" };
  const read = new NginxAnnotations(annotations, {});
  reportNginxAnnotations(read, new Set(), problems.about(object));
  const found = problems.sorted();
  assert.deepEqual(
    found.map(({ field }) => field),
    [...BY_NAME.keys()].sort().map((name) =>
      `metadata.annotations[${JSON.stringify(NGINX_PREFIX + name)}]`
    ),
  );
  assert.ok(found.every(({ message, remedy }) => remedy !== "" && !message.includes("none that")));
});

Deno.test("an annotation that protects nothing alone is harmless where none that protects stands beside it", () => {
  const dependent = [...ROWS].flatMap(([name, { protectsBeside }]) =>
    protectsBeside === undefined ? [] : [[name, protectsBeside] as const]
  );
  assert.deepEqual(dependent.map(([name]) => name), [
    ...["ssl-redirect", "satisfy", "auth-proxy-set-headers", "proxy-ssl-name"],
    ...["proxy-ssl-server-name", "proxy-ssl-verify", "proxy-ssl-verify-depth"],
    "proxy-ssl-protocols",
  ]);
  for (const [name, beside] of dependent) {
    const row = ROWS.get(name)!;
    assert.ok(row.protects && canClose(row), name);
    const text = VALID.get(name)!;
    const isHarmless = (values: Readonly<Record<string, string>>) =>
      annotationsOf({ ...values, [name]: text }).isHarmless(row, text);
    assert.ok(isHarmless({}), name);
    for (const other of beside) {
      assert.equal(ROWS.get(other)!.protectsBeside, undefined, other);
      assert.ok(needsProfile(ROWS.get(other)!), other);
      assert.ok(!isHarmless({ [other]: "default/tls" }), `${name} beside ${other}`);
      assert.ok(isHarmless({ [other]: "" }), `${name} beside an empty ${other}`);
    }
  }
});

const VALID: ReadonlyMap<string, string> = new Map([
  ["ssl-redirect", "true"],
  ["satisfy", "all"],
  ["auth-proxy-set-headers", "default/headers"],
  ["proxy-ssl-name", "web.example.com"],
  ["proxy-ssl-server-name", "on"],
  ["proxy-ssl-verify", "on"],
  ["proxy-ssl-verify-depth", "2"],
  ["proxy-ssl-protocols", "TLSv1.3"],
]);

function annotationsOf(values: Readonly<Record<string, string>>): NginxAnnotations {
  const prefixed = Object.entries(values).map(([name, text]) => [NGINX_PREFIX + name, text]);
  return new NginxAnnotations(Object.fromEntries(prefixed), null);
}
