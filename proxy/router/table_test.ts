import assert from "node:assert/strict";
import { canonicalPath } from "../../shared/path/canonical_path.ts";
import type { Action, Route, Snapshot } from "../../shared/snapshot/types.ts";
import { Random } from "../../tests/fuzz/random.ts";
import { inIngressOrder, matchLinearly } from "../../tests/support/linear_matcher.ts";
import { compileTable } from "./table.ts";

/** `"app.example.com Prefix /api"` as a route that forwards to an upstream of the same name. */
function route(text: string): Route {
  const [host, type, value] = text.split(" ");
  return {
    id: text,
    host,
    match: { path: { type: type as "Exact" | "Prefix", value } },
    action: { kind: "forward", backends: [{ upstream: text }] },
    origin: { kind: "Ingress", namespace: "default", name: "web", field: "" },
  };
}

function snapshot(routes: readonly Route[], defaultAction: Action | null = null): Snapshot {
  return {
    format: 2,
    version: { epoch: "test", seen: {} },
    routes,
    defaultAction,
    upstreams: [],
    certificates: [],
    defaultCertificate: null,
  };
}

function compile(routes: readonly Route[], defaultAction: Action | null = null) {
  return compileTable(snapshot(routes, defaultAction), (_action, route) => route?.id ?? "default");
}

interface Rule {
  readonly says: string;
  readonly routes: readonly string[];
  /** `"host path"` → the id of the winner, or null. */
  readonly requests: Readonly<Record<string, string | null>>;
}

const rules: readonly Rule[] = [
  {
    says: "an exact host precedes a wildcard, which precedes any host",
    routes: ["* Prefix /", "*.example.com Prefix /", "app.example.com Prefix /"],
    requests: {
      "app.example.com /": "app.example.com Prefix /",
      "web.example.com /": "*.example.com Prefix /",
      "example.com /": "* Prefix /",
      "other.org /": "* Prefix /",
      " /": "* Prefix /",
    },
  },
  {
    says: "a wildcard matches exactly one label",
    routes: ["*.example.com Prefix /"],
    requests: {
      "a.example.com /": "*.example.com Prefix /",
      "a.b.example.com /": null,
      "example.com /": null,
      ".example.com /": null,
      "aexample.com /": null,
      "a.example.com.evil.org /": null,
    },
  },
  {
    says: "the most specific host decides alone",
    routes: ["* Prefix /", "*.example.com Prefix /api", "app.example.com Prefix /web"],
    requests: {
      "app.example.com /api": null,
      "app.example.com /web": "app.example.com Prefix /web",
      "x.example.com /api": "*.example.com Prefix /api",
      "x.example.com /web": null,
      "other.org /web": "* Prefix /",
    },
  },
  {
    says: "a prefix matches whole segments only",
    routes: ["h Prefix /foo"],
    requests: {
      "h /foo": "h Prefix /foo",
      "h /foo/": "h Prefix /foo",
      "h /foo/bar": "h Prefix /foo",
      "h /foo//": "h Prefix /foo",
      "h /foobar": null,
      "h /fo": null,
      "h /": null,
      "h /Foo": null,
      "h //foo": null,
      "h /foo%2Fbar": null,
    },
  },
  {
    says: "the longest prefix wins",
    routes: ["h Prefix /", "h Prefix /a", "h Prefix /a/b/c", "h Prefix /a/b/d/e"],
    requests: {
      "h /": "h Prefix /",
      "h /x": "h Prefix /",
      "h /a": "h Prefix /a",
      "h /a/": "h Prefix /a",
      "h /a/b": "h Prefix /a",
      "h /a/b/": "h Prefix /a",
      "h /a/b/c": "h Prefix /a/b/c",
      "h /a/b/c/d": "h Prefix /a/b/c",
      "h /a/b/cc": "h Prefix /a",
      "h /a/b/d": "h Prefix /a",
      "h /a/b/d/e/f": "h Prefix /a/b/d/e",
      "h /a/b/d/ee": "h Prefix /a",
    },
  },
  {
    says: "an Exact path precedes every Prefix, and matches only itself",
    routes: ["h Prefix /foo/bar", "h Exact /foo/bar", "h Exact /foo/", "h Prefix /"],
    requests: {
      "h /foo/bar": "h Exact /foo/bar",
      "h /foo/bar/": "h Prefix /foo/bar",
      "h /foo/": "h Exact /foo/",
      "h /foo": "h Prefix /",
    },
  },
  {
    says: "empty segments count",
    routes: ["h Prefix //a", "h Prefix /a//b", "h Prefix /a"],
    requests: {
      "h //a": "h Prefix //a",
      "h //a/b": "h Prefix //a",
      "h /a//b": "h Prefix /a//b",
      "h /a//b/c": "h Prefix /a//b",
      "h /a/b": "h Prefix /a",
      "h /a//": "h Prefix /a",
      "h ///a": null,
      "h //": null,
    },
  },
  {
    says: "names of JavaScript's own are names like others",
    routes: ["constructor Prefix /__proto__", "h Prefix /constructor/toString"],
    requests: {
      "constructor /__proto__/x": "constructor Prefix /__proto__",
      "constructor /constructor": null,
      "__proto__ /__proto__": null,
      "toString /": null,
      "h /constructor/toString": "h Prefix /constructor/toString",
      "h /constructor": null,
      "h /__proto__": null,
    },
  },
];

Deno.test("a route is chosen by the rules of Ingress", async (t) => {
  for (const { says, routes, requests } of rules) {
    await t.step(says, () => {
      for (const order of [routes, routes.toReversed()]) {
        const table = compile(inIngressOrder(order.map(route)));
        for (const [request, winner] of Object.entries(requests)) {
          const [host, path] = request.split(" ");
          assert.equal(table.match(host, path), winner, request);
        }
      }
    });
  }
});

Deno.test("requests without a route get the default action, which is bound once", () => {
  let bound = 0;
  const table = compileTable(
    snapshot([route("h Prefix /a")], { kind: "reply", status: 503, reason: "none" }),
    (action, route) => {
      if (route === null) bound++;
      return action;
    },
  );
  assert.deepEqual(table.match("h", "/b"), { kind: "reply", status: 503, reason: "none" });
  assert.equal(table.match("other", "/a"), table.match("h", "/b"));
  assert.deepEqual(table.match("h", "/a"), {
    kind: "forward",
    backends: [{ upstream: "h Prefix /a" }],
  });
  assert.equal(bound, 1);
});

Deno.test("of two routes with the same host and path the first one wins", () => {
  for (const type of ["Exact", "Prefix"]) {
    for (const path of ["/", "/a", "/a/b"]) {
      const first = { ...route(`h ${type} ${path}`), id: "first" };
      const second = { ...first, id: "second" };
      assert.equal(compile([first, second]).match("h", path), "first");
    }
  }
});

Deno.test("an empty table matches nothing", () => {
  assert.equal(compile([]).match("h", "/"), null);
});

Deno.test("long hostile paths against long hostile routes are matched at once", () => {
  const slashes = "/".repeat(32 * 1024);
  const names = "/a".repeat(16 * 1024);
  const routes = [];
  for (let i = 1; i <= 4000; i++) routes.push(`h Prefix ${"/".repeat(i)}x`);
  for (let i = 1; i <= 4000; i++) routes.push(`h Prefix ${"/a".repeat(i)}`);
  const table = compile(inIngressOrder(routes.map(route)));
  for (let i = 0; i < 20; i++) {
    assert.equal(table.match("h", slashes), null);
    assert.equal(table.match("h", names), `h Prefix ${"/a".repeat(4000)}`);
    assert.equal(table.match("h", `${"/".repeat(3999)}x`), `h Prefix ${"/".repeat(3999)}x`);
  }
});

const SEGMENTS = [
  "",
  "a",
  "b",
  "ab",
  "A",
  "%2F",
  "a%2Fb",
  "%5C",
  "__proto__",
  "constructor",
  "toString",
  "*",
  "a;b",
  "...",
  "{}",
  // Of one hash in `segments.ts`.
  "Aa",
  "BB",
  "c",
  "d",
  "cd",
];
const HOSTS = [
  "example.com",
  "a.example.com",
  "b.example.com",
  "a.b.example.com",
  "com",
  "__proto__",
  "constructor",
  "a.__proto__",
  "10.0.0.1",
];
const PATTERNS = [...HOSTS, "*", "*.example.com", "*.b.example.com", "*.com", "*.__proto__"];

/** A canonical path of up to 5 segments, often ending in a slash; short ones often repeat. */
function randomPath(random: Random, alphabet: number): string {
  let path = "";
  for (let i = random.between(1, 5); i > 0; i--) path += `/${SEGMENTS[random.below(alphabet)]}`;
  assert.deepEqual(canonicalPath(path), { ok: true, path });
  return path;
}

function randomRoutes(random: Random, count: number, hosts: readonly string[]) {
  const routes = new Map<string, Route>();
  const alphabet = random.between(2, SEGMENTS.length);
  for (let i = 0; i < count; i++) {
    const path = randomPath(random, alphabet);
    const prefix = path.replace(/\/+$/, "") || "/";
    const match = random.oneIn(3) ? `Exact ${path}` : `Prefix ${prefix}`;
    const id = `${random.pick(hosts)} ${match}`;
    routes.set(id, route(id));
  }
  return { routes: [...routes.values()], alphabet };
}

const PLAIN = { method: "GET", headers: [], query: "", listener: "http" } as const;

function assertAgreement(seed: number, count: number, hosts: readonly string[], requests: number) {
  const random = new Random(seed);
  const made = randomRoutes(random, count, hosts);
  const routes = inIngressOrder(made.routes);
  const { alphabet } = made;
  const source = snapshot(routes);
  const table = compile(routes);
  let hits = 0;
  for (let i = 0; i < requests; i++) {
    const near = random.oneIn(4) ? null : random.pick(routes);
    const pattern = near?.host ?? random.pick(hosts);
    const host = pattern.startsWith("*") ? random.pick(HOSTS) : pattern;
    const path = near === null
      ? randomPath(random, alphabet)
      : near.match.path.value + random.pick(["", "/", "x", "/a"]);
    const winner = matchLinearly(source, { ...PLAIN, host, path });
    assert.equal(table.match(host, path), winner?.id ?? null, `seed ${seed}: ${host} ${path}`);
    if (winner !== null) hits++;
  }
  return { hits, size: routes.length };
}

Deno.test("the compiled router agrees with a linear scan on 1,000 random tables", () => {
  let hits = 0;
  for (let seed = 1; seed <= 1000; seed++) {
    hits += assertAgreement(seed, 1 + seed % 100, PATTERNS, 100).hits;
  }
  assert.ok(hits > 30_000 && hits < 90_000, `${hits} of 100,000 requests took a route`);
});

Deno.test("the compiled router agrees with a linear scan on a table of 10,000", () => {
  const hosts = [...PATTERNS];
  for (let i = 0; i < 500; i++) hosts.push(`app-${i}.example.com`);
  const { hits, size } = assertAgreement(1, 16_000, hosts, 500);
  assert.ok(size > 10_000, `${size} routes`);
  assert.ok(hits > 100 && hits < 500, `${hits} of 500 requests took a route`);
});
