import assert from "node:assert/strict";
import { Random } from "../../tests/fuzz/random.ts";
import type {
  Action,
  PathMatch,
  Route,
  RouteMatch,
  Snapshot,
} from "../../shared/snapshot/types.ts";
import { matcherOf } from "./patterns/pattern.ts";
import { type MatchedRequest, PLAIN_REQUEST } from "./request_view.ts";
import { compileTable, NO_ROUTE, type RouteTable, TOO_MUCH_WORK } from "./table.ts";

const FORWARD: Action = { kind: "forward", backends: [{ upstream: "test/web:80" }] };

function tableOf(
  matches: readonly (RouteMatch & { readonly host?: string })[],
  more: Partial<Snapshot> = {},
): RouteTable<string> {
  const routes = matches.map(({ host = "a.test", ...match }, i): Route => ({
    ...{ id: String(i), host, match, action: FORWARD },
    origin: { kind: "Ingress", namespace: "test", name: "web", field: "spec" },
  }));
  const snapshot: Snapshot = {
    ...{ format: 2, version: { epoch: "test", seen: {} }, defaultAction: null, upstreams: [] },
    ...{ certificates: [], defaultCertificate: null, routes },
    ...more,
  };
  // This process may have been started without V8's flags.
  const compile = (pattern: string) => ({ ok: true, matches: matcherOf(pattern) }) as const;
  return compileTable(snapshot, (_, route) => route?.id ?? "default", compile);
}

/** The id of the route; `none`, or `too long`. */
function found(
  table: RouteTable<string>,
  path: string,
  request: Partial<MatchedRequest> = {},
  listener?: string,
): string {
  const place = table.find("a.test", path, { ...PLAIN_REQUEST, ...request }, listener);
  if (place === TOO_MUCH_WORK) return "too long";
  return place === NO_ROUTE ? "none" : table.target(place);
}

function letters(count: number): string {
  const random = new Random(3);
  return Array.from({ length: count }, () => random.pick([..."ab"])).join("");
}

const regex = (value: string): { readonly path: PathMatch } => ({ path: { type: "Regex", value } });
const OPEN: RouteMatch = { path: { type: "Prefix", value: "/" } };

/** Follows 120 ways at once, and has more states than an automaton keeps. */
const DEAR = "[ab]*".repeat(120) + "a[ab]{16}z";

Deno.test("a path that is too much work for one regular expression gets no other route", () => {
  const table = tableOf([regex(`/${DEAR}`), OPEN]);
  assert.equal(found(table, `/${letters(30_000)}`), "too long");
  assert.equal(found(table, `/${letters(200)}`), "1");
  assert.equal(found(table, `/a${"b".repeat(16)}z`), "0");
});

Deno.test("a short path that is too much work for all regular expressions of a host gets no route", () => {
  const matches = Array.from(
    { length: 1000 },
    (_, i) => regex(`/(?:a|b)*(?:a|ab)*c${i}/[a-z]+[0-9]*z`),
  );
  const table = tableOf([...matches, OPEN]);
  assert.equal(found(table, `/${"ab".repeat(100)}`), "too long");
  assert.equal(found(table, "/hello"), "1000");
  assert.equal(found(table, "/abc999/abcz"), "999");
});

Deno.test("a thousand ordinary regular expressions of a host match ordinary paths", () => {
  const matches = Array.from(
    { length: 1000 },
    (_, i) => regex(i % 2 === 0 ? `/[aA][pP][iI]/v${i}(?:/|$).*` : `/[^/]+/orders${i}/.*`),
  );
  const table = tableOf([...matches, OPEN]);
  assert.equal(found(table, `/api/v998/${"a/".repeat(1000)}`), "998");
  assert.equal(found(table, `/api/orders999/${"a/".repeat(1000)}`), "999");
  assert.equal(found(table, `/api/${"a/".repeat(1000)}`), "1000");
});

Deno.test("the work of a request is that of all its patterns: of paths, headers and parameters", () => {
  const value = `${DEAR}|yes`;
  const table = tableOf([
    { ...OPEN, headers: [{ name: "x-tag", type: "Regex", value }] },
    { ...OPEN, query: [{ name: "tag", type: "Regex", value }] },
    OPEN,
  ]);
  const long = letters(30_000);
  assert.equal(found(table, "/", { header: () => long }), "too long");
  assert.equal(found(table, "/", { query: `?tag=${long}` }), "too long");
  assert.equal(found(table, "/", { query: "?tag=yes", header: () => "no" }), "1");
  assert.equal(found(table, "/", { header: () => "yes" }), "0");
  // Each of them by itself is little enough.
  const half = letters(650);
  assert.equal(found(table, "/", { header: () => half }), "2");
  assert.equal(found(table, "/", { query: `?tag=${half}` }), "2");
  assert.equal(found(table, "/", { query: `?tag=${half}`, header: () => half }), "too long");
});

Deno.test("both forms of a path, and all hosts that a request falls through, are one request's work", () => {
  const half = `/${letters(650)}`;
  const decoded = { path: { type: "Regex", value: `/${DEAR}`, decoded: true } } as const;
  assert.equal(found(tableOf([decoded]), half, { received: half }), "none");
  const mixed = tableOf([decoded, regex("/x")]);
  assert.equal(found(mixed, half, { received: half }), "too long");
  const origin = { kind: "Gateway", namespace: "a", name: "a", field: "" } as const;
  const listener = { id: "http", port: 80, socket: "http", protocol: "HTTP", origin } as const;
  const listeners = [{ ...listener, wildcards: "suffix", fallThrough: true } as const];
  const one = { ...regex(`/${DEAR}`), host: "*" };
  assert.equal(found(tableOf([one], { listeners }), half, {}, "http"), "none");
  const two = tableOf([one, { ...one, host: "*.test" }, { ...OPEN, host: "*" }], { listeners });
  assert.equal(found(two, half, {}, "http"), "too long");
});

Deno.test("a pattern that no automaton reads is charged before V8 matches it", () => {
  const table = tableOf([regex("/\\u0061[ab]*z"), OPEN]);
  assert.equal(found(table, "/abz"), "0");
  assert.equal(found(table, `/a${letters(1000)}`), "1");
  assert.equal(found(table, `/a${letters(30_000)}`), "too long");
});
