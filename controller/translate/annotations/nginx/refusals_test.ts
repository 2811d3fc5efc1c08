/** Which values of annotations that protect close the paths of their Ingress. */
import assert from "node:assert/strict";
import { reportNginxAnnotations } from "./annotations.ts";
import { NginxAnnotations } from "./nginx_annotations.ts";
import { readProtocolWish, readRefusals } from "./refusals.ts";
import { LIMITS } from "./rows/limits.ts";
import type { Row } from "./rows/row.ts";
import { int } from "./rows/value.ts";
import { NGINX_PREFIX } from "./table.ts";
import { ProblemList } from "../../../base/problems.ts";

const SPEC = {
  rules: [{ host: "app.example.com", http: { paths: [{ path: "/", pathType: "Prefix" }] } }],
};

type Values = Readonly<Record<string, unknown>>;

const CASES: readonly (readonly [what: string, values: Values, closes: readonly string[]])[] = [
  ["a list that admits everybody", { "allowlist-source-range": "::/0, 0.0.0.0/0" }, []],
  ["a list of networks", { "allowlist-source-range": "10.0.0.0/8, 192.0.2.1,fd00::/8" }, []],
  ["a list of networks that is empty", { "denylist-source-range": " " }, ["denylist-source-range"]],
  ["a list of networks with an empty part", { "allowlist-source-range": "10.0.0.0/8," }, [
    "allowlist-source-range",
  ]],
  [
    "a network that is invalid among those that admit everybody",
    { "allowlist-source-range": "0.0.0.0/0,::/0,nonsense" },
    ["allowlist-source-range"],
  ],
  [
    "an old name beside its newer one, which admits everybody",
    { "allowlist-source-range": "0.0.0.0/0,::/0", "whitelist-source-range": "10.0.0.0/8" },
    [],
  ],
  [
    "an old name beside its newer one, which is empty",
    { "allowlist-source-range": "", "whitelist-source-range": "10.0.0.0/8" },
    [],
  ],
  [
    "an old name that is invalid beside its newer one, which is empty",
    { "allowlist-source-range": "", "whitelist-source-range": "nonsense" },
    ["whitelist-source-range"],
  ],
  [
    "an old name and its newer one, both empty",
    { "allowlist-source-range": "", "whitelist-source-range": "" },
    ["allowlist-source-range", "whitelist-source-range"],
  ],
  ...[" ", "\u00a0", "\n"].map((blanks) =>
    [
      `an old name beside its newer one of ${JSON.stringify(blanks)}, which counts`,
      { "allowlist-source-range": blanks, "whitelist-source-range": "0.0.0.0/0,::/0" },
      ["allowlist-source-range"],
    ] as const
  ),
  [
    "an old name of blanks beside its newer one, which is empty",
    { "allowlist-source-range": "", "whitelist-source-range": " " },
    ["whitelist-source-range"],
  ],
  ["a value that is not a string", { "auth-url": ["https://auth/"] }, ["auth-url"]],
  ["a URL that is none", { "auth-url": "off" }, ["auth-url"]],
  ["a Secret of the name off", { "auth-tls-secret": "off" }, ["auth-tls-secret"]],
  ["a list of networks that is a word", { "denylist-source-range": "false" }, [
    "denylist-source-range",
  ]],
  ["a boolean that Go cannot read", { "enable-modsecurity": "yes" }, ["enable-modsecurity"]],
  ...["off", "false", "0"].map((value) =>
    ["an invalid type of authentication", { "auth-type": value }, ["auth-type"]] as const
  ),
  ["an invalid type of Secret", {
    ...{ "auth-type": "basic", "auth-secret": "users" },
    "auth-secret-type": "off",
  }, ["auth-secret-type"]],
  ["an invalid method", { "auth-url": "https://auth.example.com/", "auth-method": "false" }, [
    "auth-method",
  ]],
  ["a boolean with a blank, which Go cannot read", { "enable-modsecurity": "false " }, [
    "enable-modsecurity",
  ]],
  ["a boolean of a YAML block", { "ssl-passthrough": "false\n" }, ["ssl-passthrough"]],
  ["a switch of nothing but blanks", { "enable-modsecurity": " \n" }, []],
  ["a number with a blank", { "limit-rps": " 0" }, ["limit-rps"]],
  ["a word with blanks, which are trimmed", { "satisfy": " any ", "proxy-body-size": "8m " }, []],
  ["a word of a YAML block", { "satisfy": "any\n", "proxy-body-size": "off\n" }, [
    "proxy-body-size",
    "satisfy",
  ]],
  ["a login that a YAML block seems to turn off", { "enable-global-auth": "false\n" }, [
    "enable-global-auth",
  ]],
  ["a login that a blank keeps on", { "enable-global-auth": " FALSE" }, ["enable-global-auth"]],
  ["client certificates that no word turns off", {
    "auth-tls-secret": "default/ca",
    "auth-tls-verify-client": "OFF",
  }, ["auth-tls-secret"]],
  ["client certificates that a YAML block keeps on", {
    "auth-tls-secret": "default/ca",
    "auth-tls-verify-client": "off\n",
  }, ["auth-tls-secret", "auth-tls-verify-client"]],
  ["client certificates that a byte order mark keeps on", {
    "auth-tls-secret": "default/ca",
    "auth-tls-verify-client": "off\uFEFF",
  }, ["auth-tls-secret", "auth-tls-verify-client"]],
  ["client certificates with a Secret of a YAML block, which Kubernetes cannot have", {
    "auth-tls-secret": "default/ca\n",
    "auth-tls-verify-client": "off",
  }, ["auth-tls-secret"]],
  ["a login with a Secret of a YAML block", { "auth-type": "basic", "auth-secret": "users\n" }, [
    "auth-secret",
  ]],
  ["a login with a Secret between blanks", { "auth-type": "basic", "auth-secret": " users " }, []],
  ["a word with a byte order mark", { "satisfy": "any\uFEFF" }, ["satisfy"]],
  ["a word with a control character that is a blank in Go", { "satisfy": "any\u0085" }, []],
  ["a network with a byte order mark", { "denylist-source-range": "::1,\uFEFF10.0.0.0/8" }, [
    "denylist-source-range",
  ]],
  ["a login of an empty YAML block", { "auth-url": "\n" }, ["auth-url"]],
  ["a type of login of an empty YAML block", { "auth-type": " \n" }, ["auth-type"]],
  ["Secrets of empty YAML blocks", { "auth-tls-secret": "\n", "proxy-ssl-secret": "\n" }, [
    "auth-tls-secret",
    "proxy-ssl-secret",
  ]],
  ["a login of blanks", { "auth-url": "  ", "auth-type": " " }, []],
  ["a snippet of an empty YAML block", { "configuration-snippet": "\n" }, []],
  ["a redirect that a YAML block keeps on", { "ssl-redirect": "false\n" }, ["ssl-redirect"]],
  ["a list of networks of a YAML block", { "allowlist-source-range": "10.0.0.0/8,\n::1\n" }, []],
  ["a protocol of a YAML block", { "backend-protocol": "HTTPS\n" }, []],
  ["targets that are words for nothing, which nginx would take as they are", {
    ...{ "permanent-redirect": "off", "temporal-redirect": "false", "app-root": "0" },
    ...{ "rewrite-target": "off", "upstream-vhost": "off" },
  }, ["app-root", "permanent-redirect", "rewrite-target", "temporal-redirect"]],
  ["regular expressions with a blank", { "use-regex": "true " }, []],
  ["a boolean without quotes", { "enable-modsecurity": false, "ssl-passthrough": true }, [
    "ssl-passthrough",
  ]],
  ["a limit with a unit", { "limit-rps": "10/s" }, ["limit-rps"]],
  ["a limit of 0", { "limit-rps": "0", "limit-rpm": 0 }, []],
  ["a limit of -1", { "limit-connections": "-1" }, ["limit-connections"]],
  ["a size with another unit", { "proxy-body-size": "8mb" }, ["proxy-body-size"]],
  ["a size as in ingress-nginx by default", { "proxy-body-size": "1m" }, []],
  ["what only adds to another annotation", { "auth-realm": "x", "limit-whitelist": "::1" }, []],
  [
    "what adds to an annotation that closes",
    { "limit-rps": "5", "limit-burst-multiplier": "nonsense" },
    ["limit-rps"],
  ],
  ["redirects to HTTPS", { "ssl-redirect": "true", "force-ssl-redirect": "true" }, []],
  ["redirects to HTTPS that are neither on nor off", {
    "ssl-redirect": "maybe",
    "force-ssl-redirect": "yes",
  }, ["force-ssl-redirect", "ssl-redirect"]],
  ["verification of backends neither on nor off", { "proxy-ssl-verify": "maybe" }, [
    "proxy-ssl-verify",
  ]],
  ["a name of backends with a variable", { "proxy-ssl-name": "$host" }, ["proxy-ssl-name"]],
  ["a Secret without its namespace", { "proxy-ssl-secret": "ca" }, ["proxy-ssl-secret"]],
  ["versions of TLS that are not spoken", { "proxy-ssl-protocols": "SSLv3 TLSv1.1" }, [
    "proxy-ssl-protocols",
  ]],
  ["ciphers that have all that is offered", { "proxy-ssl-ciphers": "HIGH:!aNULL:!MD5" }, []],
  ["ciphers without one that is offered", { "proxy-ssl-ciphers": "HIGH:!AESGCM" }, [
    "proxy-ssl-ciphers",
  ]],
  ["a single cipher", { "proxy-ssl-ciphers": "ECDHE-RSA-AES128-GCM-SHA256" }, [
    "proxy-ssl-ciphers",
  ]],
];

for (const [what, values, closes] of CASES) {
  Deno.test(`${closes.length === 0 ? "paths stay open with" : "paths close with"} ${what}`, () => {
    assert.deepEqual(readRefusals(annotationsOf(values), "nginx").map(({ name }) => name), closes);
  });
}

Deno.test("the first entry of an access list that is not valid is named", () => {
  for (
    const name of ["allowlist-source-range", "whitelist-source-range", "denylist-source-range"]
  ) {
    const read = (text: string) => readRefusals(annotationsOf({ [name]: text }), "nginx")[0].fault;
    const expected = "(expected: addresses and networks, separated by commas)";
    assert.equal(
      read("127.0.0.0/8, 10.0.0.0/33, x"),
      `is not valid: "10.0.0.0/33" is no address or network ${expected}`,
    );
    assert.equal(read("10.0.0.0/8,"), `is not valid: an entry is empty ${expected}`);
    assert.equal(read(""), `is not valid ${expected}`);
  }
});

Deno.test("a backend-protocol that is none is not valid, whatever the Service", () => {
  for (const text of ["HTTPPS", "false", "off", "0"]) {
    const misspelt = annotationsOf({ "backend-protocol": text });
    const [{ name, fault }] = readRefusals(misspelt, "nginx");
    assert.equal(name, "backend-protocol");
    assert.match(fault!, /^is not valid /);
    assert.equal(readProtocolWish(misspelt), null);
  }
  assert.deepEqual(readRefusals(annotationsOf({ "backend-protocol": "grpcs" }), "nginx"), []);
  assert.deepEqual(readProtocolWish(annotationsOf({ "backend-protocol": "" }))?.protocols, [
    "http",
    "h2c",
  ]);
  assert.equal(readProtocolWish(annotationsOf({})), null);
});

Deno.test("a value is read by its row, and an alias where the newer name is missing", () => {
  const read = annotationsOf({ "limit-rps": "5", "limit-whitelist": " ::1 ", "limit-rpm": "x" });
  const rate: number | null = read.valueOf(LIMITS, "limit-rps");
  const exempt: readonly string[] | null = read.valueOf(LIMITS, "limit-allowlist");
  assert.deepEqual([rate, exempt, read.valueOf(LIMITS, "limit-rpm")], [5, ["::1/128"], null]);
});

function annotationsOf(values: Values): NginxAnnotations {
  const annotations = Object.fromEntries(
    Object.entries(values).map(([name, value]) => [NGINX_PREFIX + name, value]),
  );
  return new NginxAnnotations(annotations, SPEC);
}

const HONOURED: Omit<Row<number>, "invalid"> = {
  risk: "Low",
  scope: "path",
  value: int(1),
  protects: true,
  verdict: { kind: "honoured" },
  does: "limits something",
};

/** Two annotations that have an effect, as no row has yet. */
const SAMPLE = new Map(
  Object.entries(
    {
      "limit-a": { ...HONOURED, invalid: "close" },
      "limit-b": { ...HONOURED, invalid: "default", protects: false },
    } satisfies Record<string, Row>,
  ).map(([name, row]) => [name, { name, row }]),
);

Deno.test("an honoured annotation that protects closes its paths when its value is invalid", () => {
  const values = { "limit-a": "five", "limit-b": "five" };
  const annotations = Object.fromEntries(
    Object.entries(values).map(([name, value]) => [NGINX_PREFIX + name, value]),
  );
  const read = new NginxAnnotations(annotations, SPEC, SAMPLE);
  const [refusal, ...more] = readRefusals(read, "nginx");
  assert.deepEqual([refusal.name, more], ["limit-a", []]);
  assert.equal(refusal.fault, "is not valid (expected: integer of at least 1)");
  const problems = new ProblemList();
  const object = { kind: "Ingress", namespace: "default", name: "web" };
  reportNginxAnnotations(read, new Set(["limit-a"]), problems.about(object));
  assert.deepEqual(problems.sorted().map(({ message, remedy }) => [message, remedy]), [[
    `annotation "${NGINX_PREFIX}limit-b" is not valid (expected: integer of at least 1), so it has no effect`,
    "Correct the value (expected: integer of at least 1)",
  ]]);
});

Deno.test("an honoured annotation with a valid value has no problem", () => {
  const annotations = { [`${NGINX_PREFIX}limit-a`]: "5", [`${NGINX_PREFIX}limit-b`]: "0" };
  const read = new NginxAnnotations(annotations, SPEC, SAMPLE);
  assert.deepEqual(readRefusals(read, "nginx"), []);
});
