/** What each value of a key does: what closes the paths, what is reported, and what is kept. */
import assert from "node:assert/strict";
import { type GlobalReading, GlobalSettingsReader } from "./global_settings.ts";
import { keyCloses } from "./key.ts";
import { KEYS } from "./table.ts";

const NAME = { namespace: "ingress-nginx", name: "conf" };

function objectOf(data: Readonly<Record<string, unknown>>) {
  return { kind: "ConfigMap", metadata: NAME, data };
}

function read(
  data: Readonly<Record<string, unknown>>,
  acceptUnsupported: readonly string[] = [],
): GlobalReading {
  return new GlobalSettingsReader()
    .read([objectOf(data)], null, { configMap: NAME, acceptUnsupported });
}

/** By key and value what is said of the entry that is not valid. */
const FAULTS: readonly (readonly [key: string, value: string, fault: string])[] = [
  ["whitelist-source-range", "10.0.0.0/8, 10.0.0.0/33", '"10.0.0.0/33" is no address or network'],
  ["denylist-source-range", "nonsense,10.0.0.0/33", '"nonsense" is no address or network'],
  ["block-cidrs", "10.0.0.0/8,", "an entry is empty"],
  ["block-cidrs", `10.0.0.0/8,${"x".repeat(99)}`, `"${"x".repeat(80)}…" is no address or network`],
  [
    "block-user-agents",
    "~*bot, ~(a",
    '"~(a" cannot be read as one that both PCRE and JavaScript have',
  ],
  ["block-user-agents", "~*bot, ~(?=a)", '"~(?=a)" has the lookahead "(?=a)"'],
  ["block-user-agents", "~*bot,, a", "an entry is empty"],
  ["block-user-agents", "~é", '"~\\u00e9" has characters outside ASCII'],
  ["block-user-agents", Array(101).fill("a").join(), "it has more than 100 entries"],
  ["block-user-agents", "a".repeat(8193), "it has more than 8192 characters"],
  ["block-referers", "b, ~*", '"~*" has no regular expression'],
  ["block-referers", "\ud800", '"\\ud800" is not well-formed Unicode'],
  ["block-referers", "a\u0007", '"a\\u0007" has a control character'],
];

for (const [key, value, fault] of FAULTS) {
  Deno.test(`${key}: ${value.slice(0, 20)} is reported with the entry that is not valid`, () => {
    const [{ message }] = read({ [key]: value }).problems;
    assert.ok(
      message.startsWith(`key "${key}" is not valid: ${fault} (expected: `),
      message,
    );
  });
}

/** By key and value whether all paths are closed. */
const CLOSES: readonly (readonly [key: string, value: unknown, closes: boolean])[] = [
  ["enable-modsecurity", "true", true],
  ["enable-modsecurity", "false", false],
  ["enable-modsecurity", "", false],
  ["enable-modsecurity", "maybe", true],
  ["enable-modsecurity", { a: 1 }, true],
  ["enable-modsecurity", true, true],
  ["enable-modsecurity", "false\n", true],
  ["enable-modsecurity", " \n", false],
  ["no-auth-locations", "/health, /status", false],
  ["no-auth-locations", "/health\n", false],
  ["no-auth-locations", "/hea lth", true],
  ["block-cidrs", "10.0.0.0/8\n", false],
  ["block-cidrs", "10.0.0.0/8, 2001:db8::1", false],
  ["block-cidrs", "10.0.0.0/8, 10.0.0.0/33", true],
  ["block-cidrs", "10.0.0.1/8,", true],
  ["block-user-agents", '~*bot, Evil, ""', false],
  ["block-user-agents", "~*bot, (", false],
  ["block-user-agents", "~*bot, ~(", true],
  ["block-user-agents", "~*bot,, a", true],
  ["block-user-agents", "~*(?=bot)", true],
  ["block-user-agents", Array(100).fill("a").join(), false],
  ["block-user-agents", Array(101).fill("a").join(), true],
  ["block-referers", "~*\\.spam\\.", false],
  ["block-referers", "~", true],
  ["block-referers", "~*", true],
  ["block-referers", "\ud800", true],
  ["enable-owasp-modsecurity-crs", "true", false],
  ["server-snippet", "deny all;", true],
  ["server-snippet", "false", true],
  ["main-snippet", " ", false],
  ["use-proxy-protocol", "true", true],
  ["use-proxy-protocol", "false", false],
  ["ssl-protocols", "TLSv1.2 TLSv1.3", false],
  ["ssl-protocols", "TLSv1 TLSv1.1 TLSv1.2", false],
  ["ssl-protocols", "TLSv1.3", true],
  ["ssl-ciphers", "ECDHE-RSA-AES256-GCM-SHA384", true],
  ["hide-headers", "X-Internal", true],
  ["add-headers", "ingress-nginx/headers", true],
  ["proxy-set-headers", "ingress-nginx/headers", true],
  ["limit-rate", "0", false],
  ["limit-rate", "100", true],
  ["limit-rate-after", "100", false],
  ["plugins", "hello_world", true],
  ["forwarded-for-header", "CF-Connecting-IP", false],
  ["bind-address", "10.0.0.1", true],
  ["force-ssl-redirect", "true", false],
  ["force-ssl-redirect", "yes", true],
  ["whitelist-source-range", "10.0.0.0/8, 192.0.2.1", false],
  ["whitelist-source-range", "10.0.0.0/33", true],
  ["whitelist-source-range", "", false],
  ["denylist-source-range", "10.0.0.0/8,", true],
  ["global-auth-url", "https://auth.example.com/verify", false],
  ["global-auth-url", "auth.example.com", true],
  ["global-auth-url", "https://a:b@auth.example.com", true],
  ["global-auth-url", "", false],
  ["global-auth-method", "FETCH", false],
  ["global-auth-snippet", "proxy_set_header A b;", false],
  ["no-auth-locations", "/a, /b,", false],
  ["no-auth-locations", "", false],
  ["no-auth-locations", ",", true],
  ["no-auth-locations", "a", true],
  ["no-auth-locations", { a: 1 }, true],
  ["proxy-body-size", "0", false],
  ["proxy-body-size", "8 m", true],
  ["proxy-read-timeout", "60s", false],
  ["annotations-risk-level", "Medium", false],
  ["annotations-risk-level", "middle", true],
  ["annotation-value-word-blocklist", "lua_,\u0007", true],
  ["worker-processes", "4", false],
  ["no-such-key", "true", false],
];

for (const [key, value, closes] of CLOSES) {
  const shown = JSON.stringify(value);
  Deno.test(`${key}: ${shown} ${closes ? "closes all paths" : "closes no path"}`, () => {
    const { settings, problems } = read({ [key]: value });
    assert.equal(settings.closure !== null, closes);
    assert.equal(problems.some(({ severity }) => severity === "error"), closes);
    for (const problem of problems) {
      assert.equal(problem.field, `data[${JSON.stringify(key)}]`);
      assert.match(problem.remedy, /./);
    }
  });
}

Deno.test("the header of forwarded addresses closes the paths where addresses are read from it", () => {
  const data = { "forwarded-for-header": "CF-Connecting-IP", "enable-real-ip": "true" };
  const names = read(data).problems.map(({ field }) => field);
  assert.ok(names.includes('data["forwarded-for-header"]'));
});

Deno.test("a key that is accepted closes nothing, and is a warning", () => {
  const { settings, problems } = read({ "enable-modsecurity": "true" }, ["enable-modsecurity"]);
  assert.equal(settings.closure, null);
  assert.deepEqual(problems.map(({ severity }) => severity), ["warning"]);
});

Deno.test("without --configmap nothing is closed", () => {
  const reader = new GlobalSettingsReader();
  const data = { "enable-modsecurity": "true" };
  const { settings, kept } = reader.read([objectOf(data)], null, { acceptUnsupported: [] });
  assert.deepEqual([settings.closure, kept], [null, null]);
});

for (const objects of [null, [], [{ metadata: { namespace: "other", name: "conf" } }]]) {
  Deno.test(`a ConfigMap that is not among ${JSON.stringify(objects)} closes all paths`, () => {
    const { settings, problems, kept } = new GlobalSettingsReader()
      .read(objects, null, { configMap: NAME, acceptUnsupported: [] });
    assert.equal(settings.closure?.status, 503);
    assert.equal(problems[0].reason, "ConfigMapNotFound");
    assert.equal(kept, null);
  });
}

Deno.test("a deleted ConfigMap leaves its settings to every replica", () => {
  for (const [key, value, closes] of CLOSES) {
    const before = read({ [key]: value, "worker-processes": "4" });
    const published = JSON.parse(JSON.stringify(before.kept));
    const after = new GlobalSettingsReader()
      .read([], published, { configMap: NAME, acceptUnsupported: [] });
    assert.equal(after.settings.closure !== null, closes, `${key}: ${JSON.stringify(value)}`);
    assert.deepEqual(after.kept, before.kept);
    assert.equal(after.problems[0].reason, "ConfigMapNotFound");
  }
});

/** Beside a valid global-auth-url. */
const BESIDE_URL: readonly (readonly [key: string, value: unknown, closes: boolean])[] = [
  ["global-auth-method", "POST", false],
  ["global-auth-method", "post", true],
  ["global-auth-signin", "https://$host/start", false],
  ["global-auth-signin", "https://$arg_host/start", true],
  ["global-auth-signin-redirect-param", "rd&x", true],
  ["global-auth-response-headers", "X-User, X-Groups", false],
  ["global-auth-response-headers", "X-User, Connection", true],
  ["global-auth-request-redirect", "a b", true],
  ["global-auth-cache-key", "$cookie_s", false],
  ["global-auth-cache-key", "$nothing", true],
  ["global-auth-cache-duration", "200 5m", false],
  ["global-auth-cache-duration", "200", true],
  ["global-auth-always-set-cookie", "false", false],
  ["global-auth-always-set-cookie", "maybe", true],
  ["global-auth-snippet", "proxy_set_header A b;", true],
  ["global-auth-snippet", "a\nb", true],
];

Deno.test("keys beside global-auth-url close all paths where they are not valid, and have no effect alone", () => {
  const url = { "global-auth-url": "http://auth.x.svc/" };
  for (const [key, value, closes] of BESIDE_URL) {
    const words = `${key}: ${value}`;
    const beside = read({ ...url, [key]: value });
    assert.equal(beside.settings.closure !== null, closes, words);
    assert.equal(beside.settings.externalAuth?.texts.has(key.slice("global-".length)), !closes);
    const alone = read({ [key]: value });
    assert.equal(alone.settings.closure, null, words);
    assert.equal(alone.settings.externalAuth, null, words);
    // The URL need not be valid to count.
    const wrong = read({ "global-auth-url": "http://", [key]: value });
    assert.notEqual(wrong.settings.closure, null, words);
    assert.equal(wrong.settings.externalAuth, null, words);
  }
});

Deno.test("no-auth-locations are ingress-nginx's by default, and none for an empty value", () => {
  assert.deepEqual(read({}).settings.noAuthLocations, ["/.well-known/acme-challenge"]);
  assert.deepEqual(read({ "no-auth-locations": " " }).settings.noAuthLocations, []);
  const written = read({ "no-auth-locations": "/a, /b" });
  assert.deepEqual(written.settings.noAuthLocations, ["/a", "/b"]);
  const reader = new GlobalSettingsReader();
  const options = { configMap: NAME, acceptUnsupported: [] };
  const none = read({ "no-auth-locations": "" }).kept;
  assert.deepEqual(reader.read([], none, options).settings.noAuthLocations, []);
});

Deno.test("the host of global-auth-url is served by routes only where an administrator assigns it", () => {
  const reader = new GlobalSettingsReader();
  const options = { configMap: NAME, acceptUnsupported: [] };
  const isAssigned = (url: string, host: string) =>
    reader.read([objectOf({ "global-auth-url": url })], null, options, new Map([[host, {}]]))
      .settings.externalAuth?.isHostAssigned;
  assert.equal(isAssigned("https://Auth.example.com.:8443/x", "auth.example.com"), true);
  assert.equal(isAssigned("https://auth.example.com/x", "*.example.com"), false);
  assert.equal(isAssigned("https://auth.example.com/x", "example.com"), false);
  assert.equal(isAssigned("https://$host/x", "$host"), false);
  assert.equal(isAssigned("http://auth.x.svc/", "auth.x.svc"), false);
});

Deno.test("the settings of another ConfigMap are not kept", () => {
  const { kept } = read({});
  const configMap = { ...NAME, name: "another" };
  const after = new GlobalSettingsReader()
    .read([], kept, { configMap, acceptUnsupported: [] });
  assert.notEqual(after.settings.closure, null);
});

Deno.test("keys that are defaults of annotations are kept as these read them", () => {
  const data = {
    "whitelist-source-range": "10.0.0.0/8",
    "proxy-body-size": "0",
    "keep-alive": "9",
  };
  const { settings, kept } = read(data);
  assert.deepEqual([...settings.defaults], [
    ["proxy-body-size", "0"],
    ["allowlist-source-range", "10.0.0.0/8"],
  ]);
  assert.deepEqual(Object.keys(kept!.values), ["proxy-body-size", "whitelist-source-range"]);
});

Deno.test("the settings are the very same while the ConfigMap says the same", () => {
  const reader = new GlobalSettingsReader();
  const options = { configMap: NAME, acceptUnsupported: [] };
  const first = reader.read([objectOf({ "proxy-body-size": "2m" })], null, options);
  const second = reader.read([objectOf({ "proxy-body-size": "2m" })], first.kept, options);
  const third = reader.read([objectOf({ "proxy-body-size": "3m" })], first.kept, options);
  assert.equal(second.settings, first.settings);
  assert.notEqual(third.settings, first.settings);
});

Deno.test("no value of a key throws, and a broken one of a key that protects closes the paths", () => {
  const texts = ["\0", "~*(", "10.0.0.0/33", "x".repeat(20_000), "\ud800", "{}", "%%", "-1"];
  for (const [name, row] of KEYS) {
    for (const text of texts) {
      const { settings } = read({ [name]: text });
      const isValid = text.length < 20_000 && row.value.read(text) !== null;
      if (row.beside === undefined && row.protects && !isValid) {
        assert.notEqual(settings.closure, null, `${name}: ${JSON.stringify(text.slice(0, 20))}`);
      }
      if (!row.protects || (row.beside !== undefined && !keyCloses(row))) {
        assert.equal(
          row.protects && settings.closure !== null && row.verdict.kind === "not-yet",
          false,
        );
      }
    }
  }
});

const LISTS: readonly (readonly [networks: string, trusted: readonly string[]])[] = [
  ["10.0.0.0/8, 192.0.2.1", ["10.0.0.0/8", "192.0.2.1/32"]],
  ["10.1.2.3/8,2001:db8::1", ["10.0.0.0/8", "2001:db8::1/128"]],
];

for (const [networks, trusted] of LISTS) {
  for (const on of ["true", "1", "T"]) {
    Deno.test(`use-forwarded-headers ${on} with ${networks} trusts these networks`, () => {
      const { settings, kept, problems } = read({
        "use-forwarded-headers": on,
        "proxy-real-ip-cidr": networks,
        "compute-full-forwarded-for": "false",
        "enable-real-ip": "true",
        "forwarded-for-header": "X-Forwarded-For",
      });
      assert.equal(settings.closure, null);
      assert.deepEqual(settings.trustedProxies, trusted);
      assert.deepEqual(problems, []);
      assert.deepEqual(kept!.unsupported, []);
      // Deleted, it leaves them.
      const after = new GlobalSettingsReader().read([], kept, {
        configMap: NAME,
        acceptUnsupported: [],
      });
      assert.deepEqual(after.settings.trustedProxies, trusted);
      assert.equal(after.settings.closure, null);
    });
  }
}

const NO_LISTS: readonly (string | null)[] = [
  ...[null, "", "0.0.0.0/0", "::/0", "10.0.0.0/8,::/0", "10.0.0.0/8, 10.0.0.0/0"],
  ...["::ffff:0:0/96", "::ffff:0.0.0.0/96", "::FFFF:10.0.0.0/96"],
  ...["0.0.0.0/1,128.0.0.0/1", "128.0.0.0/1,10.0.0.0/8,::ffff:0:0/97", "::/1,8000::/1"],
];

for (const networks of NO_LISTS) {
  Deno.test(`use-forwarded-headers with ${networks ?? "no list"} trusts nobody, and closes the paths until it is accepted`, () => {
    const data = {
      "use-forwarded-headers": "true",
      ...(networks === null ? {} : { "proxy-real-ip-cidr": networks }),
    };
    const field = 'data["use-forwarded-headers"]';
    const name = "use-forwarded-headers";
    const remedies = [
      [[], /^Set proxy-real-ip-cidr .*; or start .* --trusted-proxies .*=use-forwarded-headers$/],
      [[name], /^Set proxy-real-ip-cidr .*; or check .* --trusted-proxies, and remove the key$/],
    ] as const;
    for (const [accepts, remedy] of remedies) {
      const { settings, kept, problems } = read(data, accepts);
      assert.equal(settings.closure === null, accepts.length > 0);
      assert.deepEqual(settings.trustedProxies, []);
      assert.deepEqual(kept!.unsupported, [name]);
      assert.match(problems.find((problem) => problem.field === field)!.remedy, remedy);
    }
  });
}

Deno.test("a list of trusted networks that is not valid closes the paths, and cannot be accepted", () => {
  for (const networks of ["10.0.0.0/33", "10.0.0.0/8,", "lb.test", "x".repeat(20_000)]) {
    const data = { "use-forwarded-headers": "true", "proxy-real-ip-cidr": networks };
    for (const accepts of [[], ["use-forwarded-headers"]]) {
      const { settings, kept } = read(data, accepts);
      assert.notEqual(settings.closure, null);
      assert.deepEqual(settings.trustedProxies, []);
      assert.deepEqual(kept!.invalid, ["proxy-real-ip-cidr"]);
    }
  }
});

Deno.test("proxy-real-ip-cidr alone trusts nobody, and closes nothing", () => {
  for (const off of [null, "false", "0", ""]) {
    for (const networks of ["10.0.0.0/8", "0.0.0.0/0", "10.0.0.0/33"]) {
      const { settings, problems } = read({
        "proxy-real-ip-cidr": networks,
        ...(off === null ? {} : { "use-forwarded-headers": off }),
      });
      assert.equal(settings.closure, null);
      assert.deepEqual(settings.trustedProxies, []);
      assert.deepEqual(problems.map(({ message }) => message), [
        'key "proxy-real-ip-cidr" has no effect without use-forwarded-headers',
      ]);
    }
  }
});

Deno.test("another header with the client's address closes the paths where it would count", () => {
  for (const on of ["true", "1"]) {
    const { settings } = read({
      "use-forwarded-headers": on,
      "proxy-real-ip-cidr": "10.0.0.0/8",
      "forwarded-for-header": "X-Client",
    });
    assert.notEqual(settings.closure, null);
  }
});

Deno.test("a path of no-auth-locations with a line end exempts nothing, as in ingress-nginx", () => {
  for (
    const [value, paths] of [
      ["/health\n", []],
      ["/health , /status,\n/metrics", ["/health", "/status"]],
      ["/a,\t/b,/c\r\n", ["/a"]],
    ] as const
  ) {
    assert.deepEqual(read({ "no-auth-locations": value }).settings.noAuthLocations, paths);
  }
});
