import assert from "node:assert/strict";
import { Random } from "../../tests/fuzz/random.ts";
import type { Certificate, Route, RouteMatch, Snapshot } from "../../shared/snapshot/types.ts";
import { explain, redirectUrl } from "./explain.ts";
import type { RequestDetails } from "./losers.ts";

const ORIGIN = { kind: "Ingress", namespace: "default", name: "web", field: "" };

function route(text: string): Route {
  const [host, type, value] = text.split(" ");
  return {
    id: text,
    host,
    match: { path: { type: type as "Exact" | "Prefix", value } },
    action: { kind: "forward", backends: [{ upstream: "default/web:80" }] },
    origin: ORIGIN,
  };
}

function certificate(id: string, ...hosts: string[]): Certificate {
  return {
    id,
    hosts,
    chain: { kind: "file", path: `${id}.cert` },
    key: { kind: "file", path: `${id}.key` },
    origin: ORIGIN,
  };
}

function snapshot(routes: readonly string[], rest: Partial<Snapshot> = {}): Snapshot {
  return {
    format: 2,
    version: { epoch: "test", seen: {} },
    routes: routes.map(route),
    defaultAction: null,
    upstreams: [],
    certificates: [],
    defaultCertificate: null,
    ...rest,
  };
}

/** The explanation in lines: the outcome, then why each other route lost. */
function lines(source: Snapshot, host: string, path: string): string[] {
  const { outcome, considered } = explain(source, host, path);
  const first = outcome.kind === "route" ? outcome.route.id : outcome.kind;
  return [first, ...considered.map(({ route, lostBecause }) => `${route.id}: ${lostBecause}`)];
}

Deno.test("explain says which route wins and why each other lost", () => {
  const source = snapshot([
    "* Prefix /",
    "app.example.com Exact /api/v1",
    "app.example.com Prefix /api",
    "app.example.com Prefix /ap",
    "app.example.com Prefix /web",
    "app.example.com Prefix /",
    "*.example.com Prefix /api",
    "other.org Prefix /api",
  ]);
  assert.deepEqual(lines(source, "app.example.com", "/x/%2e./api/v2"), [
    "app.example.com Prefix /api",
    "app.example.com Exact /api/v1: Exact /api/v1 matches this path only",
    "app.example.com Prefix /ap: Prefix /ap matches whole segments, and the path ends within one",
    "app.example.com Prefix /web: Prefix /web does not match the start of the path",
    "app.example.com Prefix /: the longer Prefix /api takes precedence over /",
    "*.example.com Prefix /api: its host *.example.com is less specific than app.example.com, " +
    "which decides alone",
    "* Prefix /: its host * is less specific than app.example.com, which decides alone",
  ]);
  assert.deepEqual(lines(source, "app.example.com", "/api/v1").slice(0, 2), [
    "app.example.com Exact /api/v1",
    "app.example.com Prefix /api: an Exact path takes precedence over every Prefix",
  ]);
});

Deno.test("explain reports that the deciding host has no matching path, and less specific hosts are not used", () => {
  const routes = ["app.example.com Prefix /web", "*.example.com Prefix /"];
  const lost = [
    "app.example.com Prefix /web: Prefix /web does not match the start of the path",
    "*.example.com Prefix /: its host *.example.com is less specific than app.example.com, " +
    "which decides alone",
  ];
  assert.deepEqual(lines(snapshot(routes), "app.example.com", "/"), ["none", ...lost]);
  const answer = { kind: "reply", status: 503, reason: "no backend" } as const;
  const source = snapshot(routes, { defaultAction: answer });
  assert.deepEqual(lines(source, "app.example.com", "/"), ["default", ...lost]);
  assert.deepEqual(explain(source, "nobody.org", "/").outcome, { kind: "default", action: answer });
});

Deno.test("explain names a route that duplicates an earlier one", () => {
  const source = snapshot(["h Prefix /a", "h Prefix /a"]);
  assert.deepEqual(lines(source, "h", "/a"), [
    "h Prefix /a",
    "h Prefix /a: a route before it has the same host and path",
  ]);
});

Deno.test("explain says why a path is rejected", () => {
  const source = snapshot(["h Prefix /"]);
  assert.deepEqual(explain(source, "h", "/a/%2e%2e/../x"), {
    host: "h",
    rawPath: "/a/%2e%2e/../x",
    path: { ok: false, reason: "leads above the root" },
    outcome: { kind: "refused", reason: "the path leads above the root" },
    considered: [],
    aliasOf: null,
    certificate: {
      by: "none",
      certificate: null,
      because: "no certificate names it and there is no default",
    },
    redirect: null,
  });
});

Deno.test("explain says which certificate a name gets", () => {
  const certificates = [
    certificate("first", "app.example.com"),
    certificate("second", "app.example.com", "*.example.com"),
    certificate("third", "third.org"),
  ];
  const source = snapshot([], { certificates, defaultCertificate: "third" });
  const chosen = (host: string, from = source) => {
    const { by, certificate, because } = explain(from, host, "/").certificate;
    return `${certificate?.id} by ${by}: ${because}`;
  };
  assert.equal(chosen("app.example.com"), "first by exact: it names app.example.com");
  assert.equal(
    chosen("web.example.com"),
    "second by wildcard: its *.example.com takes web.example.com",
  );
  assert.equal(
    chosen("a.b.example.com"),
    "third by default: no certificate names it, so it gets the default",
  );
  assert.equal(
    chosen("other.org", snapshot([], { certificates })),
    "undefined by none: no certificate names it and there is no default",
  );
});

/** A route as `text` has it, with more conditions. */
function conditional(
  text: string,
  more: Omit<Partial<Route>, "match"> & { match?: Partial<RouteMatch> },
): Route {
  const plain = route(text);
  return { ...plain, ...more, match: { ...plain.match, ...more.match } };
}

const CONDITIONAL: readonly Route[] = [
  conditional("a.test Prefix / secure", { listeners: ["https"] }),
  conditional("a.test Prefix /b method", { match: { method: "POST" } }),
  conditional("a.test Prefix /b absent", {
    match: { headers: [{ name: "x-beta", type: "Exact", value: "yes" }] },
  }),
  conditional("a.test Prefix /b value", {
    match: { headers: [{ name: "x-tag", type: "Exact", value: "blue" }] },
  }),
  conditional("a.test Prefix /b pattern", {
    match: { headers: [{ name: "x-tag", type: "Regex", value: "(" }], method: "PUT" },
  }),
  conditional("a.test Prefix /b parameter", {
    match: { query: [{ name: "tag", type: "Exact", value: "a b" }] },
  }),
  conditional("a.test StringPrefix /bc", {}),
  conditional("a.test Regex /b(", {}),
  conditional("a.test Prefix /b winner", {}),
  conditional("a.test Prefix /b later", {
    match: { headers: [{ name: "x-tag", type: "Exact", value: "green,red" }] },
  }),
  conditional("a.test Prefix /", {}),
];

const DETAILS = {
  listener: "http",
  method: "GET",
  query: "?tag=a%2Bb",
  headers: [["X-Tag", "green"], ["x-tag", "red"]],
} as const;

/** The outcome, then why each other route lost. */
function reasons(
  source: Snapshot,
  details: RequestDetails,
  host = "a.test",
  path = "/b",
): string[] {
  const { outcome, considered } = explain(source, host, path, undefined, details);
  const first = outcome.kind === "route" ? outcome.route.id : outcome.kind;
  return [first, ...considered.map(({ route, lostBecause }) => `${route.id}: ${lostBecause}`)];
}

Deno.test("explain says which condition a request does not meet", () => {
  const source = { ...snapshot([]), routes: CONDITIONAL };
  const [first, ...others] = reasons(source, DETAILS);
  assert.equal(first, "a.test Regex /b(");
  assert.deepEqual(others, [
    "a.test Prefix / secure: it is on https only, not on http",
    "a.test Prefix /b method: its method is POST, and the request's is GET",
    "a.test Prefix /b absent: the header x-beta is missing",
    'a.test Prefix /b value: the header x-tag is "green,red", not "blue"',
    "a.test Prefix /b pattern: its method is PUT, and the request's is GET",
    'a.test Prefix /b parameter: the query parameter tag is "a+b", not "a b"',
    "a.test StringPrefix /bc: StringPrefix /bc does not match the start of the path",
    "a.test Prefix /b winner: a.test Regex /b( matches the request too, and takes precedence",
    "a.test Prefix /b later: a.test Regex /b( matches the request too, and takes precedence",
    "a.test Prefix /: a.test Regex /b( matches the request too, and takes precedence",
  ]);
});

Deno.test("explain says that a route whose pattern does not compile responds with 500, and why", () => {
  const source = { ...snapshot([]), routes: CONDITIONAL };
  const { outcome } = explain(source, "a.test", "/b", undefined, DETAILS);
  assert.ok(outcome.kind === "route");
  assert.match(outcome.problem!, /^the regular expression "\/b\(" /);
  const plain = explain(source, "a.test", "/", undefined, DETAILS).outcome;
  assert.ok(plain.kind === "route" && !("problem" in plain));
});

Deno.test("explain compares all hosts of a listener that falls through, by its wildcards", () => {
  const listener = {
    id: "http",
    port: 80,
    socket: "http",
    protocol: "HTTP",
    wildcards: "suffix",
    fallThrough: true,
    origin: ORIGIN,
  } as const;
  const source = {
    ...snapshot([
      "a.b.test Prefix /api",
      "*.b.test Exact /",
      "*.test Prefix /b",
      "* Prefix /",
    ]),
    listeners: [listener],
  };
  assert.deepEqual(reasons(source, DETAILS, "a.b.test"), [
    "*.test Prefix /b",
    "a.b.test Prefix /api: Prefix /api does not match the start of the path",
    "*.b.test Exact /: Exact / matches this path only",
    "* Prefix /: its host * is less specific than *.test, which has a route for it",
  ]);
  const named = { ...source, listeners: [{ ...listener, hostname: "*.other" }] };
  assert.deepEqual(reasons(named, DETAILS, "a.b.test").slice(0, 2), [
    "none",
    "a.b.test Prefix /api: the listener http is for *.other only",
  ]);
});

Deno.test("explain gives a reason for every route of random tables, and names the winner", () => {
  const random = new Random(1);
  for (let i = 0; i < 300; i++) {
    const routes = Array.from({ length: 12 }, () => random.pick(CONDITIONAL))
      .map((route, id) => ({
        ...route,
        id: String(id),
        host: random.pick(["a.test", "*.test", "*"]),
      }));
    const source = { ...snapshot([]), routes };
    const details = {
      ...DETAILS,
      method: random.pick(["GET", "POST"]),
      listener: random.pick(["http", "https"]),
    };
    const { outcome, considered } = explain(
      source,
      "a.test",
      random.pick(["/b", "/bc", "/"]),
      undefined,
      details,
    );
    assert.equal(considered.length, outcome.kind === "route" ? 11 : 12);
    assert.ok(considered.every(({ lostBecause }) => lostBecause.length > 0));
  }
});

Deno.test("explain says which setting redirects plain HTTP, or keeps it", () => {
  const source = snapshot(["a.test Prefix /", "b.test Prefix /"], {
    certificates: [
      certificate("a", "*.test", "a.test"),
      { ...certificate("b", "unnamed.org"), plain: ["unnamed.org"] },
      certificate("default"),
    ],
    defaultCertificate: "default",
    hostSettings: [
      { id: "*.test", httpsRedirect: false },
      { id: "c.test" },
      { id: "d.test", httpsRedirect: true },
    ],
  });
  const [a, b] = source.routes;
  const overridden = {
    ...source,
    routes: [{ ...a, httpsRedirect: true }, { ...b, httpsRedirect: false }],
  };
  const table: [Snapshot, host: string, redirects: boolean, by: string, because: string][] = [
    [source, "a.test", false, "host", "the settings of host *.test say no redirect"],
    [source, "c.test", false, "host", "the settings of host *.test say no redirect"],
    [source, "d.test", true, "host", "the settings of host d.test say so"],
    [{ ...source, hostSettings: [] }, "a.test", true, "certificate", "the host has a certificate"],
    [source, "other.org", false, "certificate", "no certificate names the host"],
    [source, "unnamed.org", false, "certificate", "its certificate does not name the host"],
    [overridden, "a.test", true, "route", "the route a.test Prefix / says so"],
    [overridden, "b.test", false, "route", "the route b.test Prefix / says no redirect"],
  ];
  for (const [source, host, redirects, by, because] of table) {
    const found = explain(source, host, "/").redirect;
    assert.deepEqual([found?.redirects, found?.by, found?.because], [redirects, by, because], host);
  }
});

Deno.test("explain says that a spelling of a redirected path is redirected, too", () => {
  const source = snapshot(["a.test Prefix /p", "a.test Prefix /"], {
    certificates: [certificate("a", "a.test")],
    policies: [{ id: "plain", httpsRedirect: { when: "never" } }],
  });
  const [redirected, open] = source.routes;
  const routes = [redirected, { ...open, policy: "plain" }];
  const redirectOf = (path: string) => explain({ ...source, routes }, "a.test", path).redirect;
  const { redirects, because } = redirectOf("//p")!;
  assert.equal(redirects, true);
  assert.match(
    because,
    /^the decoded path \/p leads to a\.test Prefix \/p, and the host has a certificate$/,
  );
  assert.equal(redirectOf("//q")?.redirects, false);
});

Deno.test("explain shows how a route redirects plain HTTP, and to which URL", () => {
  const source = snapshot(["a.test Prefix /", "b.test Prefix /"], {
    certificates: [certificate("a", "a.test")],
    hostSettings: [{ id: "a.test", httpsRedirect: false }],
  });
  type HttpsRedirect = NonNullable<NonNullable<Snapshot["policies"]>[number]["httpsRedirect"]>;
  const table: [HttpsRedirect, url: string, isForced: boolean, location: string | null][] = [
    [{ when: "never" }, "a.test/x/", false, null],
    [{}, "a.test/x/", false, null],
    [{ when: "certificate" }, "a.test/x/", true, "https://a.test/x/"],
    [{ when: "certificate", cutsSlash: true }, "a.test/x/", true, "https://a.test/x"],
    [{ when: "certificate", port: true }, "a.test/", true, "https://a.test:443/"],
    [{ when: "certificate" }, "a.test/.well-known/acme-challenge/x", false, null],
    [{ when: "certificate" }, "b.test/", false, null],
    [{ when: "tls" }, "b.test/", true, "https://b.test/"],
    [{ when: "tls" }, "b.test/.well-known/acme-challenge/x", false, null],
    [{ when: "always" }, "b.test/", true, "https://b.test/"],
    [{ when: "always" }, "b.test/.well-known/acme-challenge/x", true, "https://b.test/.well-kn"],
  ];
  for (const [httpsRedirect, url, isForced, location] of table) {
    const policies = [{ id: "p", httpsRedirect }];
    const routes = source.routes.map((route) => ({ ...route, policy: "p" }));
    const [host] = url.split("/");
    const explanation = explain({ ...source, policies, routes }, host, url.slice(host.length));
    assert.equal(explanation.redirect?.isForced, isForced, url);
    const found = redirectUrl(explanation, "", 443);
    assert.equal(found?.slice(0, location?.length) ?? null, location, url);
  }
});
