/** Tables with all conditions and listeners agree with a linear scan, also after changes. */
import assert from "node:assert/strict";
import type {
  HostSettings,
  Listener,
  PathMatch,
  Route,
  Snapshot,
} from "../../shared/snapshot/types.ts";
import { Random } from "../../tests/fuzz/random.ts";
import {
  type LinearRequest,
  matchLinearly,
  redirectsLinearly,
} from "../../tests/support/linear_matcher.ts";
import { type CompiledPattern, wholeText } from "./patterns/pattern.ts";
import type { MatchedRequest } from "./request_view.ts";
import { compileTable } from "./table.ts";

const ORIGIN = { kind: "HTTPRoute", namespace: "a", name: "web", field: "" };
const HOSTS = ["example.com", "a.example.com", "b.a.example.com", "c.b.a.example.com", "com", ""];
const PATTERNS = [...HOSTS.slice(0, 4), "*", "*.example.com", "*.a.example.com", "*.com"];
const PATHS: readonly PathMatch[] = [
  ...["/", "/a", "/a/b", "/a/b/c", "/b"].map((value) => ({ type: "Prefix", value }) as const),
  ...["/", "/a", "/a/", "/a/b", "/b"].map((value) => ({ type: "Exact", value }) as const),
  ...["/", "/a", "/a/b", "/ab"].map((value) => ({ type: "StringPrefix", value }) as const),
  ...["/a.*", "/[ab]+/c?", "/(a|ab)", ".*"].map((value) => ({ type: "Regex", value }) as const),
];
const REQUEST_PATHS = ["/", "/a", "/a/", "/ab", "/abc", "/a/b", "/a/b/c", "/a/bc", "/b", "/c/d"];
const METHODS = ["GET", "POST", "PUT"];
const NAMES = ["x-one", "x-two"];
const VALUES = ["1", "2", "1,2"];
const ENDINGS = ["1.*", "[12]", ".*", "1,2|2,1"];
const QUERIES = ["", "?", "?x-one=1", "?x-one=2&x-one=1", "?x-two=1%2C2", "?x%2Dtwo=1+2", "?x-one"];
const LISTENERS = ["http", "https", "8080", "8443"];

function randomMatches(random: Random) {
  const name = random.pick(NAMES);
  return NAMES.filter((one) => one === name || random.oneIn(4)).map((name) =>
    random.oneIn(3)
      ? { name, type: "Regex" as const, value: random.pick(ENDINGS) }
      : { name, type: "Exact" as const, value: random.pick(VALUES) }
  );
}

function randomRoute(random: Random, host: string, conditions: number): Route {
  const headers = random.below(100) < conditions ? randomMatches(random) : [];
  const query = random.below(100) < conditions ? randomMatches(random) : [];
  return {
    id: "",
    host,
    ...(random.oneIn(8)
      ? { listeners: LISTENERS.filter(() => random.oneIn(2)).concat("8080") }
      : {}),
    match: {
      // Plain paths more often, so that many tables have few others.
      path: PATHS[random.below(random.oneIn(3) ? PATHS.length : 10)],
      ...(random.below(100) < conditions ? { method: random.pick(METHODS) } : {}),
      ...(headers.length > 0 ? { headers } : {}),
      ...(query.length > 0 ? { query } : {}),
    },
    action: { kind: "reply", status: 503, reason: "" },
    ...(random.oneIn(4) ? { httpsRedirect: random.oneIn(2) } : {}),
    origin: ORIGIN,
  };
}

/** Some settle nothing. */
function randomSettings(random: Random): HostSettings[] {
  return PATTERNS.filter(() => random.oneIn(3)).map((id) => {
    return {
      id,
      ...(random.oneIn(4) ? {} : { httpsRedirect: random.oneIn(2) }),
      ...(random.oneIn(3) ? { aliasOf: random.pick(PATTERNS) } : {}),
    };
  });
}

function randomListeners(random: Random): Listener[] {
  return LISTENERS.filter(() => random.oneIn(3)).map((id) => ({
    id,
    port: 80,
    socket: id,
    protocol: "HTTP",
    ...(random.oneIn(4) ? { hostname: random.pick(["*.example.com", "a.example.com"]) } : {}),
    wildcards: random.pick(["one-label", "suffix"]),
    fallThrough: random.oneIn(2),
    origin: ORIGIN,
  }));
}

function randomRequest(random: Random): LinearRequest {
  return {
    host: random.pick(HOSTS),
    path: random.pick(REQUEST_PATHS),
    method: random.pick(METHODS),
    headers: NAMES.flatMap((name) =>
      Array.from(
        { length: random.pick([0, 1, 1, 1, 2]) },
        () => [random.oneIn(2) ? name : name.toUpperCase(), random.pick(VALUES)] as const,
      )
    ),
    query: random.pick(QUERIES),
    listener: random.oneIn(2) ? "http" : random.pick(LISTENERS),
  };
}

function matched({ method, query, headers }: LinearRequest): MatchedRequest {
  return {
    method,
    query,
    header: (name) => {
      const values = headers.filter(([one]) => one.toLowerCase() === name).map(([, one]) => one);
      return values.length === 0 ? null : values.join(",");
    },
  };
}

/** This process may have been started without V8's flags. */
function compileUnchecked(pattern: string): CompiledPattern {
  return { ok: true, matches: wholeText(pattern) };
}

function snapshotOf(
  routes: readonly Route[],
  listeners: readonly Listener[],
  hostSettings: readonly HostSettings[],
): Snapshot {
  return {
    format: 2,
    version: { epoch: "test", seen: {} },
    ...(listeners.length === 0 ? {} : { listeners }),
    ...(hostSettings.length === 0 ? {} : { hostSettings }),
    routes: routes.map((route, i) => ({ ...route, id: String(i) })),
    defaultAction: null,
    upstreams: [],
    certificates: [],
    defaultCertificate: null,
  };
}

Deno.test("routes with conditions are chosen as by a linear scan, in 1,000 random tables", () => {
  let hits = 0;
  let other = 0;
  let stays = 0;
  for (let seed = 1; seed <= 1000; seed++) {
    const random = new Random(seed);
    const conditions = random.pick([0, 40, 90]);
    const hosts = PATTERNS.filter(() => random.oneIn(2));
    let routes = Array.from(
      { length: 1 + random.below(40) },
      () => randomRoute(random, random.pick([...hosts, "*"]), conditions),
    );
    let source = snapshotOf(
      routes,
      random.oneIn(2) ? [] : randomListeners(random),
      randomSettings(random),
    );
    const bind = (route: Route) => ({ target: route.id, counters: 0 });
    const table = compileTable(source, (_, route) => route!.id, compileUnchecked);
    for (let turn = 0; turn < 3; turn++) {
      for (let i = 0; i < 50; i++) {
        const request = randomRequest(random);
        const { host, path, listener } = request;
        const route = matchLinearly(source, request);
        const winner = route?.id ?? null;
        const found = table.match(host, path, matched(request), listener);
        assert.equal(found, winner, `seed ${seed}: ${JSON.stringify(request)}`);
        const redirects = source.routes[Number(found ?? -1)]?.httpsRedirect ??
          table.redirectsToHttps(host);
        assert.equal(redirects, redirectsLinearly(source, request, route), `seed ${seed}: ${host}`);
        if (!redirects) stays++;
        if (winner === null) continue;
        hits++;
        const { match } = source.routes[Number(winner)];
        if (match.headers !== undefined || match.query !== undefined) other++;
      }
      // Some routes go, others come, and listeners change.
      routes = routes.filter(() => !random.oneIn(3));
      for (let i = random.below(5); i > 0; i--) {
        const route = randomRoute(random, random.pick(PATTERNS), conditions);
        routes.splice(random.below(routes.length + 1), 0, route);
      }
      const before = source.hostSettings ?? [];
      source = snapshotOf(
        routes,
        random.oneIn(2) ? [] : randomListeners(random),
        randomSettings(random),
      );
      const after = source.hostSettings ?? [];
      const settle = () => {
        table.updateHostSettings(
          after,
          before.map(({ id }) => id).filter((id) => after.every((other) => other.id !== id)),
        );
      };
      const isFirst = random.oneIn(2);
      if (isFirst) settle();
      table.replaceListeners(source.listeners ?? []);
      for (const host of PATTERNS) {
        table.replaceHost(host, source.routes.filter((route) => route.host === host), bind);
      }
      if (!isFirst) settle();
    }
  }
  assert.ok(hits > 20_000 && hits < 140_000, `${hits} of 150,000 requests took a route`);
  assert.ok(stays > 20_000 && stays < 130_000, `${stays} of 150,000 requests stay on plain HTTP`);
  assert.ok(other > 2_000, `${other} took one with conditions on headers or the query`);
});
