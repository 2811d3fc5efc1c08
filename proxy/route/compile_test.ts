import assert from "node:assert/strict";
import type { Action, FilterSet, Policy } from "../../shared/snapshot/types.ts";
import type { PartDelta } from "../config/part_diff.ts";
import { type FilterMakers, MAKERS } from "../filters/registry.ts";
import { DEFAULT_LIMITS } from "../http/limits.ts";
import { RouteCompiler } from "./compile.ts";
import type { CompiledRoute, HttpUpstream } from "./route.ts";

const NONE = { changed: [], removed: [] };
const FILTERS: FilterSet = {
  id: "f",
  filters: [{ kind: "request-headers", set: [{ name: "x", value: "y" }] }],
};
const POLICY: Policy = { id: "p", tries: 1, timeouts: { connect: 5 } };

function compilerOf(
  filterSets: PartDelta<FilterSet> = { changed: [FILTERS], removed: [] },
  policies: PartDelta<Policy> = { changed: [POLICY], removed: [] },
  makers: FilterMakers = MAKERS,
): RouteCompiler {
  const upstreams = new Map(
    ["a", "b"].map((id) => [id, { id, isEmpty: false } as HttpUpstream]),
  );
  const compiler = new RouteCompiler(upstreams, DEFAULT_LIMITS, makers);
  compiler.begin(filterSets, policies);
  return compiler;
}

const TO_A: Action = { kind: "forward", backends: [{ upstream: "a" }] };
const SPLIT: Action = { kind: "forward", backends: [{ upstream: "a" }, { upstream: "b" }] };

Deno.test("routes with equal settings share one object, and one policy object if they set nothing", () => {
  const compiler = compilerOf();
  const plain = compiler.compile(TO_A);
  assert.equal(compiler.compile(structuredClone(TO_A), {}), plain);
  assert.ok(Object.isFrozen(plain));
  assert.equal(plain.filters.chain, null);
  const filtered = compiler.compile(TO_A, { filterSet: "f" });
  assert.notEqual(filtered, plain);
  assert.equal(compiler.compile(TO_A, { filterSet: "f" }), filtered);
  assert.equal(filtered.policy, plain.policy);
  const toB = compiler.compile({ kind: "forward", backends: [{ upstream: "b" }] });
  assert.equal(toB.policy, plain.policy);
  assert.equal(compiler.compile(SPLIT), compiler.compile(structuredClone(SPLIT)));
});

Deno.test("a policy overrides what it sets, and inherits the rest from the process", () => {
  const { policy } = compilerOf().compile(TO_A, { policy: "p" });
  const { writeTimeout, responseHeadTimeout, responseBodyTimeout, tunnelIdleTimeout } =
    DEFAULT_LIMITS;
  assert.deepEqual(policy, {
    timeouts: {
      connectTimeout: 5,
      ...{ writeTimeout, responseHeadTimeout, responseBodyTimeout, tunnelIdleTimeout },
    },
    tries: 1,
    bodyLimit: DEFAULT_LIMITS.bodyBytes,
    retry: null,
    requestBuffer: 0,
    upstreamKeepAlive: true,
    accessLog: true,
    httpsRedirect: null,
    tracing: null,
  });
});

Deno.test("a removed or changed filter set or policy is not used again", () => {
  const compiler = compilerOf();
  const before = compiler.compile(TO_A, { policy: "p" });
  compiler.begin(NONE, { changed: [{ id: "p", tries: 3 }], removed: [] });
  assert.equal(compiler.compile(TO_A, { policy: "p" }).policy.tries, 3);
  assert.equal(before.policy.tries, 1);
  compiler.end({ changed: [], removed: ["f"] }, NONE);
  compiler.begin(NONE, NONE);
  assert.throws(() => compiler.compile(SPLIT, { filterSet: "f" }), /no filter set f/);
});

Deno.test("a missing backend fails only its own share of requests", () => {
  const action: Action = { kind: "forward", backends: [{ upstream: "a" }, { upstream: "gone" }] };
  const { action: split } = compilerOf().compile(action);
  assert.ok(split.kind === "split");
  const kinds = Array.from({ length: 4 }, () => split.backends.choose() as CompiledRoute)
    .map(({ action }) => action.kind);
  assert.deepEqual(kinds.sort(), ["forward", "forward", "reply", "reply"]);
});

Deno.test("routes that override the redirect to HTTPS are objects of their own, shared by equals", () => {
  const compiler = compilerOf();
  const plain = compiler.compile(TO_A);
  const stays = compiler.compile(TO_A, { httpsRedirect: false });
  const redirects = compiler.compile(TO_A, { httpsRedirect: true });
  assert.deepEqual(
    [plain, stays, redirects].map(({ httpsRedirect }) => httpsRedirect),
    [null, false, true],
  );
  assert.equal(compiler.compile(TO_A, { httpsRedirect: false }), stays);
  assert.equal(compiler.compile(TO_A), plain);
  assert.equal(compiler.compile(SPLIT, { httpsRedirect: false }).httpsRedirect, false);
  assert.equal(compiler.compile(SPLIT).httpsRedirect, null);
  const reply: Action = { kind: "reply", status: 503, reason: "" };
  assert.equal(compiler.compile(reply, { httpsRedirect: true }).httpsRedirect, true);
});

Deno.test("routes that redirect to a slash have chains of their own, of filters that are made once", () => {
  let made = 0;
  const makers: FilterMakers = {
    ...MAKERS,
    "request-headers": (spec, services) => {
      made++;
      return MAKERS["request-headers"](spec, services);
    },
  };
  const compiler = compilerOf({ changed: [FILTERS], removed: [] }, undefined, makers);
  const routes = ["/a", "/b", "/b"].map((value) => {
    const path = { type: "Prefix", value, decoded: true, slash: "absolute" } as const;
    return compiler.compile(TO_A, { filterSet: "f", match: { path } });
  });
  const names = routes.map(({ filters }) => filters.chain?.requestNames);
  assert.deepEqual(names, routes.map(() => ["received-path", "redirect", "request-headers"]));
  assert.equal(made, 1);
  assert.equal(new Set(routes).size, routes.length);
});
