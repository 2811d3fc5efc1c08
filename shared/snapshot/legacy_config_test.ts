import { upstreamsOf } from "./forward_action.ts";
import assert from "node:assert/strict";
import { parseSnapshot } from "./parse.ts";

const BACKEND = { type: "Service", name: "my-service", namespace: "default", port: 80 };
const ROOT = { type: "Prefix", path: "/" };

function parse(rules: unknown, clusterDomain?: string) {
  return parseSnapshot(JSON.stringify({ rules }), { clusterDomain });
}

/** `id → upstream` or `id → status` of each route, in the snapshot's order. */
function routes(rules: unknown): string[] {
  return parse(rules).snapshot!.routes.map(({ id, action }) =>
    `${id} → ${action.kind === "forward" ? upstreamsOf(action) : action.status}`
  );
}

function problems(rules: unknown): string[] {
  return parse(rules).problems
    .map(({ severity, path, message }) => `${severity} ${path}: ${message}`);
}

Deno.test("the Rust controller's proxy.json is read unchanged", () => {
  const text = `{"rules":[{"host":"example.com","path":{"type":"Prefix","path":"/"},
    "backend":{"type":"Service","name":"my-service","namespace":"default","port":80},
    "tls":{"key":"/etc/pingress/keys/example.com.key","cert":"/etc/pingress/keys/example.com.cert"}
    }]}`;
  const origin = { kind: "File", namespace: "", name: "", field: "$.rules[0]" };
  assert.deepEqual(parseSnapshot(text), {
    problems: [],
    set: null,
    snapshot: {
      format: 2,
      version: { epoch: "file", seen: {} },
      routes: [{
        id: "example.com Prefix /",
        host: "example.com",
        match: { path: { type: "Prefix", value: "/" } },
        action: { kind: "forward", backends: [{ upstream: "default/my-service:80" }] },
        origin,
      }],
      defaultAction: null,
      upstreams: [{
        id: "default/my-service:80",
        protocol: "http",
        addresses: { kind: "dns", name: "my-service.default", port: 80 },
      }],
      certificates: [{
        id: "/etc/pingress/keys/example.com.cert",
        hosts: ["example.com"],
        chain: { kind: "file", path: "/etc/pingress/keys/example.com.cert" },
        key: { kind: "file", path: "/etc/pingress/keys/example.com.key" },
        origin,
      }],
      defaultCertificate: null,
    },
  });
});

Deno.test("a cluster domain makes names that need no search list", () => {
  const { snapshot } = parse([{ host: "a", path: ROOT, backend: BACKEND }], "cluster.local");
  assert.deepEqual(snapshot?.upstreams[0].addresses, {
    kind: "dns",
    name: "my-service.default.svc.cluster.local",
    port: 80,
  });
});

Deno.test("several rules of one host are several paths, the most specific first", () => {
  const rule = (host: unknown, type: string, path: string) => ({
    host,
    path: { type, path },
    backend: BACKEND,
    tls: null,
  });
  const rules = [
    rule(undefined, "Prefix", "/"),
    rule("*.example.com", "Exact", "/v1/users"),
    rule("b.example.com", "Prefix", "/api/"),
    rule("B.example.com.", "Prefix", "/"),
    rule("b.example.com", "Exact", "/api"),
    rule("b.example.com", "ImplementationSpecific", "/api/v2"),
    rule("a.example.com", "Prefix", ""),
    rule("", "Exact", "/x"),
    rule(null, "Exact", "/y"),
  ];
  const upstream = "default/my-service:80";
  assert.deepEqual(problems(rules), []);
  assert.deepEqual(routes(rules), [
    `a.example.com Prefix / → ${upstream}`,
    `b.example.com Prefix /api/v2 → ${upstream}`,
    `b.example.com Exact /api → ${upstream}`,
    `b.example.com Prefix /api → ${upstream}`,
    `b.example.com Prefix / → ${upstream}`,
    `*.example.com Exact /v1/users → ${upstream}`,
    `* Exact /x → ${upstream}`,
    `* Exact /y → ${upstream}`,
    `* Prefix / → ${upstream}`,
  ]);
  assert.equal(parse(rules).snapshot?.upstreams.length, 1);
});

Deno.test("the order of rules does not matter", () => {
  const rules = ["/", "/a", "/b", "/a/b"].flatMap((path) =>
    ["x.org", "*.x.org", "*"].map((host) => ({
      host,
      path: { type: "Prefix", path },
      backend: { ...BACKEND, name: `s${path.length}` },
      tls: { key: `${host}.key`, cert: `${host}.cert` },
    }))
  );
  const withoutOrigins = (rules: unknown) =>
    JSON.stringify(parse(rules).snapshot, (key, value) => key === "origin" ? undefined : value);
  assert.equal(withoutOrigins(rules), withoutOrigins(rules.toReversed()));
});

Deno.test("a host whose rules are all invalid responds with 404, and no broader host matches it", () => {
  const rule = (host: string, path: string) => ({
    host,
    path: { type: "Prefix", path },
    backend: BACKEND,
  });
  const rules = [
    rule("only.example.com", "bad"),
    rule("only.example.com", "/a%zz"),
    rule("some.example.com", "bad"),
    rule("some.example.com", "/good"),
    rule("*.example.com", "/"),
  ];
  assert.deepEqual(routes(rules), [
    "only.example.com Prefix / → 404",
    "some.example.com Prefix /good → default/my-service:80",
    "*.example.com Prefix / → default/my-service:80",
  ]);
  assert.equal(parse(rules).snapshot?.routes[0].origin.field, "$.rules[0]");
});

Deno.test("an unreadable rule is ignored, one that cannot be served responds with an error", async (t) => {
  const table: [says: string, rule: unknown, route: string | null, problem: string][] = [
    [
      "a rule that is no object",
      "x",
      null,
      "$.rules[0]: an object is needed, not a text; it is left out",
    ],
    [
      "a bad host",
      { host: "api-*.example.com", path: ROOT, backend: BACKEND },
      null,
      '$.rules[0].host: the host "api-*.example.com" has a star that is not its whole first ' +
      "label; its rule is left out",
    ],
    [
      "a host that is no text",
      { host: 5, path: ROOT, backend: BACKEND },
      null,
      "$.rules[0].host: the host 5 is no text; its rule is left out",
    ],
    [
      "no path",
      { host: "a", backend: BACKEND },
      "a Prefix / → 404",
      "$.rules[0].path: the rule has no path and is left out",
    ],
    [
      "a path without a slash",
      { host: "a", path: { type: "Exact", path: "x" }, backend: BACKEND },
      "a Prefix / → 404",
      "$.rules[0].path.path: the path does not begin with a slash; its rule is left out",
    ],
    [
      "a path with a broken escape",
      { host: "a", path: { type: "Prefix", path: "/a%zz" }, backend: BACKEND },
      "a Prefix / → 404",
      "$.rules[0].path.path: the path has a broken escape at byte 2; its rule is left out",
    ],
    [
      "an unknown path type",
      { host: "a", path: { type: "Regex", path: "/a" }, backend: BACKEND },
      "a Prefix /a → 500",
      '$.rules[0].path.type: the path type "Regex" is not known; what begins with this path gets ' +
      "500",
    ],
    [
      "no backend",
      { host: "a", path: ROOT },
      "a Prefix / → 503",
      "$.rules[0].backend: the backend is missing; its rule returns 503",
    ],
    [
      "a backend that is no object",
      { host: "a", path: ROOT, backend: "web" },
      "a Prefix / → 500",
      "$.rules[0].backend: the backend is a text; its rule returns 500",
    ],
    [
      "a port that is text",
      { host: "a", path: ROOT, backend: { ...BACKEND, port: "80" } },
      "a Prefix / → 500",
      '$.rules[0].backend.port: the backend has the port "80"; its rule returns 500',
    ],
    [
      "an unknown kind of backend",
      { host: "a", path: ROOT, backend: { ...BACKEND, type: "Bucket" } },
      "a Prefix / → 500",
      '$.rules[0].backend.type: the backend is of the unknown type "Bucket"; its rule returns 500',
    ],
    [
      "a bad name",
      { host: "a", path: ROOT, backend: { ...BACKEND, name: "a.b" } },
      "a Prefix / → 500",
      '$.rules[0].backend.name: the backend has the name "a.b"; its rule returns 500',
    ],
    [
      "no namespace",
      { host: "a", path: ROOT, backend: { ...BACKEND, namespace: undefined } },
      "a Prefix / → 500",
      "$.rules[0].backend.namespace: the backend has the namespace nothing; its rule returns 500",
    ],
    [
      "a bad port",
      { host: "a", path: ROOT, backend: { ...BACKEND, port: "http" } },
      "a Prefix / → 500",
      '$.rules[0].backend.port: the backend has the port "http"; its rule returns 500',
    ],
    [
      "TLS without a key",
      { host: "a", path: ROOT, backend: BACKEND, tls: { cert: "c" } },
      "a Prefix / → default/my-service:80",
      "$.rules[0].tls.key: it is not the path of a file; the host gets no certificate",
    ],
    [
      "TLS that is no object",
      { host: "a", path: ROOT, backend: BACKEND, tls: true },
      "a Prefix / → default/my-service:80",
      "$.rules[0].tls: it is a boolean; the host gets no certificate",
    ],
  ];
  const good = { host: "good", path: ROOT, backend: BACKEND };
  for (const [says, rule, route, problem] of table) {
    await t.step(says, () => {
      assert.deepEqual(problems([rule, good]), [`error ${problem}`]);
      const goodRoute = "good Prefix / → default/my-service:80";
      assert.deepEqual(routes([rule, good]), route === null ? [goodRoute] : [route, goodRoute]);
      assert.deepEqual(parse([rule, good]).snapshot?.certificates, []);
    });
  }
});

Deno.test("of two rules with the same host and path the first one wins", () => {
  const rules = [
    { host: "a", path: { type: "Prefix", path: "/x" }, backend: BACKEND },
    {
      host: "A",
      path: { type: "Prefix", path: "/x/" },
      backend: { ...BACKEND, name: "other" },
    },
    {
      host: "a",
      path: { type: "Exact", path: "/x" },
      backend: { ...BACKEND, name: "third" },
    },
  ];
  assert.deepEqual(routes(rules), [
    "a Exact /x → default/third:80",
    "a Prefix /x → default/my-service:80",
  ]);
  assert.deepEqual(problems(rules), [
    "error $.rules[1]: it has the host and path of $.rules[0]; it is left out",
  ]);
});

Deno.test("certificates are grouped by file, and the first for a host wins", () => {
  const rule = (host: string, path: string, cert: string, key: string) => ({
    host,
    path: { type: "Prefix", path },
    backend: BACKEND,
    tls: { cert, key },
  });
  const rules = [
    rule("b.org", "/", "shared.cert", "shared.key"),
    rule("a.org", "/", "shared.cert", "shared.key"),
    rule("b.org", "/x", "shared.cert", "shared.key"),
    rule("b.org", "/y", "other.cert", "other.key"),
    rule("*.c.org", "/", "shared.cert", "another.key"),
    rule("*", "/", "any.cert", "any.key"),
  ];
  const { certificates, defaultCertificate } = parse(rules).snapshot!;
  assert.deepEqual(certificates.map(({ id, hosts }) => `${id}: ${hosts}`), [
    "any.cert: ",
    "shared.cert: *.c.org,a.org,b.org",
  ]);
  assert.equal(defaultCertificate, "any.cert");
  assert.deepEqual(problems(rules), [
    "error $.rules[3].tls: $.rules[0].tls says otherwise and holds",
    "error $.rules[4].tls: $.rules[0].tls says otherwise and holds",
  ]);
});

Deno.test("unknown fields are reported once, and rules that are not an array are rejected", () => {
  const rule = { host: "a", path: ROOT, backend: BACKEND, weight: 1 };
  const other = { ...rule, host: "b", weight: 2 };
  assert.deepEqual(problems([rule, other]), [
    "warning $.rules[0].weight: the field is not known and has no effect, here and in 1 more place",
  ]);
  assert.deepEqual(parse({}), {
    snapshot: null,
    set: null,
    problems: [{
      path: "$.rules",
      message: "an array is needed, not an object",
      remedy: "write […] here",
      severity: "error",
    }],
  });
  assert.deepEqual(routes([]), []);
});

Deno.test("a path of 1 MiB invalidates only its own rule among 10,000", () => {
  const rules = [];
  for (let i = 0; i < 10_000; i++) {
    rules.push({
      host: `h${i}.org`,
      path: { type: "Prefix", path: "/a" },
      backend: BACKEND,
    });
  }
  rules[77].path.path = `/${"/".repeat(1024 * 1024)}x`;
  assert.deepEqual(problems(rules), [
    "error $.rules[77].path.path: the path has 1048578 characters, more than 32768; its rule is " +
    "left out",
  ]);
  const made = routes(rules);
  assert.equal(made.length, 10_000);
  assert.deepEqual(made.filter((route) => !route.endsWith(":80")), ["h77.org Prefix / → 404"]);
});
