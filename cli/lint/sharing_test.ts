import assert from "node:assert/strict";
import { NGINX_PREFIX } from "../../controller/translate/annotations/nginx/table.ts";
import { lintTexts } from "../../tests/golden/lint_case.ts";
import type { Finding, LintResult } from "./finding.ts";

interface IngressInput {
  readonly name: string;
  readonly namespace?: string;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly path?: string;
  readonly pathType?: string;
  readonly created?: string;
  readonly service?: string;
  /** Missing: the one that all share; null for none. */
  readonly host?: string | null;
  readonly hasDefaultBackend?: true;
}

function ingress({ name, namespace = "shop", annotations = {}, ...more }: IngressInput): string {
  const service = { name: more.service ?? name, port: { number: 80 } };
  return JSON.stringify({
    apiVersion: "networking.k8s.io/v1",
    kind: "Ingress",
    metadata: {
      ...{ name, namespace },
      ...(more.created === undefined ? {} : { creationTimestamp: more.created }),
      annotations: Object.fromEntries(
        Object.entries(annotations).map(([key, value]) => [`${NGINX_PREFIX}${key}`, value]),
      ),
    },
    spec: {
      ingressClassName: "nginx",
      ...(more.hasDefaultBackend ? { defaultBackend: { service } } : {}),
      rules: [{
        ...(more.host === null ? {} : { host: more.host ?? "app.example.com" }),
        http: {
          paths: [{
            path: more.path ?? `/${name}`,
            pathType: more.pathType ?? "Prefix",
            backend: { service },
          }],
        },
      }],
    },
  });
}

/** With hosts that namespaces share, as in ingress-nginx. */
function lintIngresses(...inputs: readonly IngressInput[]): LintResult {
  return lintTexts({ "a.yaml": inputs.map(ingress).join("\n---\n") }, { hostOwnership: "shared" });
}

Deno.test("an annotation that protects a whole host opens the others of it where it is not enforced", () => {
  const protect = { annotations: { "auth-tls-secret": "shop/ca" } };
  const cases: readonly (readonly [
    says: string,
    inputs: readonly IngressInput[],
    acceptUnsupported: readonly string[],
    opened: readonly string[],
  ])[] = [
    ["of one namespace", [{ name: "a", ...protect }, { name: "b" }], [], []],
    ["of two", [{ name: "a", ...protect }, { name: "b", namespace: "team" }], [], []],
    [
      "of two, accepted",
      [{ name: "a", ...protect }, { name: "b", namespace: "team" }],
      ["auth-tls-secret"],
      ["team/b"],
    ],
    [
      "without a host",
      [{ name: "a", ...protect, host: null }, {
        name: "b",
        namespace: "team",
        host: null,
      }],
      [],
      [],
    ],
    ["accepted", [{ name: "a", ...protect }, { name: "b" }], ["auth-tls-secret"], ["shop/b"]],
    ["another one accepted", [{ name: "a", ...protect }, { name: "b" }], ["limit-rps"], []],
  ];
  for (const [says, inputs, acceptUnsupported, opened] of cases) {
    const result = lintTexts({ "a.yaml": inputs.map(ingress).join("\n---\n") }, {
      hostOwnership: "shared",
      acceptUnsupported,
    });
    const found = findings(result, "host/protected-elsewhere");
    assert.deepEqual(Object.keys(found), opened, says);
    for (const { verdict } of Object.values(found)) assert.equal(verdict, "OPENS");
  }
});

/** By the name of the Ingress. */
function findings({ ingresses }: LintResult, rule: string): Record<string, Finding> {
  return Object.fromEntries(
    ingresses.flatMap(({ name, findings }) =>
      findings.filter((each) => each.rule === rule).map((each) => [name, each])
    ),
  );
}

Deno.test("each Ingress on a host of regular expressions learns who made it one", () => {
  const result = lintIngresses(
    {
      name: "v1",
      namespace: "api",
      path: "/v1(/|$)(.*)",
      pathType: "ImplementationSpecific",
      annotations: { "use-regex": "true", "rewrite-target": "/$2" },
    },
    { name: "v2" },
    { name: "exact", pathType: "Exact" },
    { name: "own", path: "/own.*", annotations: { "use-regex": "true" } },
  );
  const found = findings(result, "host/regular-expressions");
  assert.deepEqual(Object.keys(found).sort(), ["shop/exact", "shop/v2"]);
  assert.match(found["shop/v2"].effect, /^use-regex of api\/v1 makes all paths of app\.example/);
  assert.equal(found["shop/v2"].at?.file, "a.yaml");
});

Deno.test("each path that loses requests to another Ingress's unsupported expression breaks", () => {
  const result = lintIngresses(
    {
      name: "unsupported",
      path: "/foo(?=x)",
      pathType: "ImplementationSpecific",
      annotations: { "use-regex": "true" },
    },
    { name: "whole", path: "/foo" },
    { name: "below", path: "/foo/a" },
    { name: "some", path: "/" },
    { name: "before", path: "/foo/longer/paths" },
    { name: "other", path: "/bar" },
    { name: "elsewhere", host: "other.example.com", path: "/foo" },
  );
  const found = findings(result, "host/unsupported-regular-expression");
  assert.deepEqual(Object.keys(found).sort(), ["shop/below", "shop/some"]);
  assert.match(found["shop/below"].effect, /\/foo\/a$/);
  assert.match(
    found["shop/below"].difference!,
    /^they get 500: .* "\/foo\(\?=x\)" of shop\/unsupp/,
  );
  assert.match(
    found["shop/some"].difference!,
    /^those that begin with \/foo, in any case, get 500/,
  );
  const whole = findings(result, "problem/PathPatternUnsupported")["shop/whole"];
  assert.match(whole.difference!, /requests for Regex \/foo of app\.example\.com get 500$/);
  const breaking = result.ingresses.filter(({ verdict }) => verdict === "BREAKS");
  assert.deepEqual(
    breaking.map(({ name }) => name).sort(),
    ["shop/below", "shop/some", "shop/unsupported", "shop/whole"],
  );
});

Deno.test("a path that no request reaches, there and here, is the same", () => {
  const result = lintIngresses(
    { name: "old", created: "2024-01-01T00:00:00Z", path: "/foo" },
    {
      name: "new",
      created: "2024-01-02T00:00:00Z",
      path: "/foo.*",
      annotations: { "use-regex": "true" },
    },
  );
  const found = findings(result, "problem/PathUnreachable");
  assert.deepEqual(Object.keys(found), ["shop/old"]);
  assert.equal(found["shop/old"].verdict, "SAME");
});

Deno.test("of two Ingresses with one path the oldest wins in both, if all say how old they are", () => {
  const [a, b] = ["a", "b"].map((name) => ({ name, path: "/same" }));
  const old = { ...a, created: "2024-01-01T00:00:00Z" };
  const verdictsOf = (...ingresses: IngressInput[]) =>
    Object.entries(findings(lintIngresses(...ingresses), "problem/PathConflict"))
      .map(([name, { verdict }]) => `${name} ${verdict}`);
  assert.deepEqual(verdictsOf(a, b), ["shop/a DIFFERS"]);
  assert.deepEqual(verdictsOf(old, { ...b, created: "2024-01-02T00:00:00Z" }), ["shop/b SAME"]);
  const [conflict] = verdictsOf(old, b);
  assert.match(conflict, /DIFFERS$/);
});

Deno.test("a default backend loses the rest of a host to an unsupported expression", () => {
  const result = lintIngresses(
    {
      name: "rest",
      created: "2024-01-01T00:00:00Z",
      path: "/own/path/of/it",
      hasDefaultBackend: true,
    },
    {
      name: "unsupported",
      created: "2024-01-02T00:00:00Z",
      path: "/(?i)a",
      annotations: { "use-regex": "true" },
    },
  );
  const found = findings(result, "host/unsupported-regular-expression");
  assert.equal(found["shop/rest"].field, "spec.defaultBackend");
});

Deno.test("a rewrite-target that equals the path makes no regular expressions", () => {
  const result = lintIngresses(
    { name: "a", path: "/", annotations: { "rewrite-target": "/" } },
    { name: "b" },
  );
  assert.deepEqual(findings(result, "host/regular-expressions"), {});
});

Deno.test("the oldest Ingress makes the paths of others regular expressions if no path is /", () => {
  const same = { annotations: { "rewrite-target": "/a" }, path: "/a", pathType: "Exact" };
  const [old, late] = ["2024-01-01T00:00:00Z", "2024-01-02T00:00:00Z"];
  const cases: readonly (readonly [inputs: readonly IngressInput[], found: readonly string[]])[] = [
    [[{ name: "a", created: old, ...same }, { name: "b", created: late }], ["shop/b"]],
    [[{ name: "a", created: late, ...same }, { name: "b", created: old }], []],
    [[{ name: "a", created: old, ...same }, { name: "b", created: late, path: "/" }], []],
  ];
  for (const [inputs, found] of cases) {
    const result = findings(lintIngresses(...inputs), "host/regular-expressions");
    assert.deepEqual(Object.keys(result), found);
  }
});

Deno.test("of annotations that are read once a host, the oldest Ingress is named", () => {
  const result = lintIngresses(
    { name: "late", created: "2024-01-02T00:00:00Z", annotations: { "server-alias": "b.test" } },
    { name: "old", created: "2024-01-01T00:00:00Z", annotations: { "server-alias": "a.test" } },
    { name: "same", created: "2024-01-03T00:00:00Z", annotations: { "server-alias": "a.test" } },
  );
  const found = findings(result, "host/first-wins");
  assert.deepEqual(Object.keys(found), ["shop/late"]);
  assert.match(found["shop/late"].effect, /alone is read, which is shop\/old$/);
  assert.equal(found["shop/late"].at?.file, "a.yaml");
});

Deno.test("of two Ingresses of one age, the last by name is the one that ingress-nginx reads", () => {
  const created = "2024-01-01T00:00:00Z";
  const result = lintIngresses(
    { name: "a", created, annotations: { "server-alias": "a.test" } },
    { name: "b", created, annotations: { "server-alias": "b.test" } },
  );
  assert.deepEqual(Object.keys(findings(result, "host/first-wins")), ["shop/a"]);
});

Deno.test("without times of creation, each of two that disagree names the other", () => {
  const result = lintIngresses(
    { name: "a", annotations: { "auth-tls-secret": "shop/one" } },
    { name: "b", annotations: { "auth-tls-secret": "shop/two" } },
    { name: "c" },
  );
  const found = findings(result, "host/first-wins");
  assert.deepEqual(Object.keys(found), ["shop/a", "shop/b"]);
  assert.match(found["shop/a"].effect, /which is this one or shop\/b$/);
});

Deno.test("a verifying and an optional client certificate of the same Secret disagree", () => {
  const tls = { "auth-tls-secret": "shop/ca" };
  const result = lintIngresses(
    { name: "a", annotations: tls },
    { name: "b", annotations: { ...tls, "auth-tls-verify-client": "optional" } },
  );
  assert.equal(Object.keys(findings(result, "host/first-wins")).length, 2);
});

Deno.test("of annotations that are read once a Service, an Ingress without them counts as well", () => {
  const result = lintIngresses(
    { name: "a", service: "web" },
    { name: "b", service: "web", annotations: { "upstream-hash-by": "$request_uri" } },
    { name: "c", annotations: { "upstream-hash-by": "$host" } },
  );
  const found = findings(result, "host/first-wins");
  assert.deepEqual(Object.keys(found).sort(), ["shop/a", "shop/b"]);
  assert.match(found["shop/a"].effect, /^upstream-hash-by: for the Service shop\/web:80 /);
  assert.notEqual(found["shop/a"].at, null);
});

Deno.test("canaries neither win nor lose", () => {
  const result = lintIngresses(
    { name: "a", annotations: { "server-snippet": "deny all;" } },
    { name: "b", annotations: { "server-snippet": "allow all;", canary: "true" } },
  );
  assert.deepEqual(findings(result, "host/first-wins"), {});
});

Deno.test("a host of two namespaces names the flag that shares it", () => {
  const result = lintIngresses({ name: "a" }, { name: "b", namespace: "blog" }, { name: "c" });
  const found = findings(result, "host/namespaces");
  assert.deepEqual(Object.keys(found), ["blog/b", "shop/a", "shop/c"]);
  assert.match(found["shop/a"].remedy!, /--host-ownership=shared/);
});

Deno.test("without the flag, a host belongs to one namespace, and Ingresses of others break", () => {
  const texts = [
    { name: "a", created: "2020-01-01T00:00:00Z" },
    { name: "b", namespace: "blog", created: "2021-01-01T00:00:00Z" },
  ].map(ingress);
  const own = JSON.parse(ingress({
    name: "c",
    namespace: "third",
    annotations: { "auth-url": "http://app.example.com/x" },
  }));
  own.spec.rules[0].host = "own.example.com";
  const result = lintTexts({ "a.yaml": [...texts, JSON.stringify(own)].join("\n---\n") });
  const verdicts = Object.fromEntries(result.ingresses.map(({ name, verdict }) => [name, verdict]));
  assert.equal(verdicts["blog/b"], "BREAKS");
  assert.equal(verdicts["third/c"], "BREAKS");
  assert.notEqual(verdicts["shop/a"], "BREAKS");
  assert.deepEqual(findings(result, "host/namespaces"), {});
  const { "blog/b": rejected } = findings(result, "problem/HostNotOwned");
  assert.match(rejected.remedy!, /--host-ownership=shared/);
});

Deno.test("a name in server-alias that is not valid has one finding, a pattern says what to write", () => {
  const result = lintIngresses(
    { name: "a", annotations: { "server-alias": "bad_host" } },
    { name: "b", annotations: { "server-alias": "~^www" } },
  );
  assert.deepEqual(Object.keys(findings(result, "host/alias")), ["shop/b"]);
  assert.equal(findings(result, "annotation/server-alias")["shop/a"].verdict, "BREAKS");
});

Deno.test("a switch with a value that ingress-nginx does not read is the same here", () => {
  const result = lintIngresses(
    { name: "a", annotations: { canary: "yes" } },
    { name: "b", annotations: { "enable-cors": "on" } },
    { name: "c", annotations: { "enable-cors": "true" } },
  );
  const canary = findings(result, "annotation/canary")["shop/a"];
  assert.equal(canary.verdict, "SAME");
  assert.match(canary.difference!, /so it has no effect, as in ingress-nginx$/);
  const cors = findings(result, "annotation/enable-cors");
  assert.deepEqual([cors["shop/b"].verdict, cors["shop/c"].verdict], ["SAME", "DIFFERS"]);
});

/** Who has the host of `auth-url`, and whether requests are then authenticated. */
const LOGINS:
  readonly (readonly [what: string, login: Partial<IngressInput>, isServed: boolean])[] = [
    ["a rule", { host: "login.example.com" }, true],
    ["a rule of another namespace", { host: "login.example.com", namespace: "sso" }, true],
    ["a wildcard", { host: "*.example.com" }, true],
    ["an alias", { host: "x.test", annotations: { "server-alias": "login.example.com" } }, true],
    ["a rule with www.", {
      host: "www.login.example.com",
      annotations: { "from-to-www-redirect": "true" },
    }, true],
    ["another host", { host: "x.test" }, false],
    ["a canary", { host: "login.example.com", annotations: { canary: "true" } }, false],
    ["a canary with client certificates", {
      host: "login.example.com",
      annotations: { canary: "true", "auth-tls-secret": "shop/ca" },
    }, false],
  ];

for (const [what, login, isServed] of LOGINS) {
  for (const hostOwnership of ["shared", "namespace"] as const) {
    // Where namespaces own hosts, the annotation is closed for those of another one.
    if (hostOwnership === "namespace" && login.namespace !== undefined) continue;
    Deno.test(
      `auth-url whose host ${what} has ${
        isServed ? "is served" : "BREAKS"
      }, host ownership ${hostOwnership}`,
      () => {
        const app = { name: "app", host: "app.test", annotations: { "auth-url": AUTH_URL } };
        const files = { "a.yaml": [app, { name: "login", ...login }].map(ingress).join("\n---\n") };
        const result = lintTexts(files, { hostOwnership });
        const found = findings(result, "annotation/auth-url")["shop/app"];
        assert.equal(found.verdict, isServed ? "DIFFERS" : "BREAKS");
      },
    );
  }
}

const AUTH_URL = "https://login.example.com/check";
