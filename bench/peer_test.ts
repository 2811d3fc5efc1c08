import assert from "node:assert/strict";
import { CASES } from "./case.ts";
import { PEERS } from "./peer.ts";
import type { Case } from "./model.ts";

function peersOf(what: Case): string[] {
  return PEERS.filter(({ can }) => can === undefined || can(what)).map(({ name }) => name);
}

function caseOf(changes: Partial<Case>): Case {
  return { ...CASES[0], ...changes };
}

Deno.test("each peer has its own name", () => {
  assert.equal(new Set(PEERS.map(({ name }) => name)).size, PEERS.length);
});

Deno.test("a case names only peers that exist", () => {
  const names = PEERS.map(({ name }) => name);
  for (const { name, peers = [] } of CASES) {
    for (const peer of peers) assert.ok(names.includes(peer), `${name}: ${peer}`);
  }
});

Deno.test("a proxy skips only the cases that it does not support", () => {
  const left = (changes: Partial<Case>) => {
    const able = peersOf(caseOf(changes));
    return PEERS.map(({ name }) => name).filter((name) => !able.includes(name));
  };
  const bare = ["deno-relay", "direct"];
  const programs = ["pingora", "deno-serve", "node-http", ...bare];
  assert.deepEqual(left({}), ["nginx-tuned", ...bare]);
  assert.deepEqual(left({ path: "/1mib" }), bare);
  assert.deepEqual(left({ path: "/upload" }), bare);
  assert.deepEqual(left({ path: "/echo" }), ["nginx-tuned", "deno-serve"]);
  assert.deepEqual(left({ path: "/events" }), ["nginx-tuned"]);
  assert.deepEqual(left({ path: "/events", http: 2, tls: true }).slice(-2), bare);
  assert.deepEqual(left({ path: "/grpc", upstream: "grpc" }), [
    "nginx-tuned",
    "deno-serve",
    "node-http",
    ...bare,
  ]);
  assert.deepEqual(left({ accessLog: true }), ["nginx-tuned", ...programs]);
  assert.deepEqual(left({ endpoints: 1000 }), ["nginx-tuned", ...programs]);
  assert.deepEqual(left({ routes: 10_000 }), ["nginx-tuned", ...programs]);
  assert.deepEqual(
    left({ routes: 100_000 }).sort(),
    ["nginx-tuned", "traefik", "caddy", ...programs].sort(),
  );
});
