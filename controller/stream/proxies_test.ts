import assert from "node:assert/strict";
import type { RefusalCode } from "../../shared/stream/messages.ts";
import { VERSION } from "../../shared/version.ts";
import {
  programmed,
  refusalProblems,
  type ShownSession,
  showProxies,
  tooLargeProblems,
} from "./proxies.ts";

const WORKLOAD = { kind: "DaemonSet", namespace: "pingress-system", name: "pingress-proxy-server" };
const NOW = 1_000_000;
const VERSION_OF_IT = { epoch: "e", seen: { Ingress: "1" } };

function session(name: string, more: Partial<ShownSession> = {}): ShownSession {
  return {
    name,
    peer: "10.0.0.1",
    identity: { pod: name, podUid: name, node: "node-1" },
    zone: null,
    openedAt: NOW - 60_000,
    build: VERSION,
    inForce: { version: VERSION_OF_IT, hash: "a" },
    isInSync: true,
    syncedAt: NOW - 1_000,
    unsent: 0,
    refusal: null,
    obstacles: [],
    ...more,
  };
}

function refusing(name: string, code: RefusalCode, more: Partial<ShownSession> = {}) {
  const refusal = {
    version: VERSION_OF_IT,
    hash: "b",
    code,
    reason: "$.hosts: no",
    told: { reason: "$.hosts: no", at: NOW - 1_000 },
    at: NOW - 1_000,
  };
  return session(name, { isInSync: false, refusal, ...more });
}

Deno.test("objects are programmed when at least one proxy is connected and all have applied them", () => {
  const behind = session("b", { isInSync: false });
  assert.deepEqual(programmed([]), { programmed: false, connected: 0, inSync: 0 });
  assert.deepEqual(programmed([session("a")]), { programmed: true, connected: 1, inSync: 1 });
  assert.deepEqual(programmed([session("a"), behind]), {
    programmed: false,
    connected: 2,
    inSync: 1,
  });
});

Deno.test("each proxy is a line of JSON with readable times", () => {
  const wall = Date.parse("2026-01-01T00:01:00Z");
  const slow = session("b", { unsent: 65_536 });
  const text = showProxies([slow, refusing("a", "invalid")], null, NOW, wall);
  const lines = text.split("\n");
  assert.equal(lines.length, 4);
  const { proxies, programmed, hash } = JSON.parse(text);
  assert.deepEqual([programmed, hash, proxies.map(({ name }: ShownSession) => name)], [
    false,
    null,
    ["a", "b"],
  ]);
  assert.deepEqual(proxies.map((one: { unsentBytes: number }) => one.unsentBytes), [0, 65_536]);
  assert.equal(proxies[1].connected, "2026-01-01T00:00:00.000Z");
  assert.deepEqual(proxies[0].refused, {
    code: "invalid",
    reason: "$.hosts: no",
    since: "2026-01-01T00:00:59.000Z",
    hash: "b",
  });
  assert.deepEqual(JSON.parse(showProxies([], null, NOW, wall)).proxies, []);
});

Deno.test("proxies that reject for the same reason are one problem, which names some of them", () => {
  const names = ["e", "d", "c", "b", "a"];
  const problems = refusalProblems(
    [...names.map((name) => refusing(name, "invalid", { build: "0.0.1" })), session("f")],
    WORKLOAD,
    NOW,
  );
  assert.equal(problems.length, 1);
  assert.deepEqual(problems[0].object, WORKLOAD);
  assert.match(problems[0].message, /^a \(0\.0\.1\), b \(0\.0\.1\), c \(0\.0\.1\) and 2 more: /);
  assert.match(problems[0].remedy, /controller's version/);
});

Deno.test("proxies that reject for several reasons are one problem, with the first reason", () => {
  const told = (reason: string, at: number) => {
    const { refusal } = refusing("a", "invalid");
    return { refusal: { ...refusal!, told: { reason, at } } };
  };
  const problems = refusalProblems(
    [refusing("a", "invalid", told("second", 2)), refusing("b", "invalid", told("first", 1))],
    WORKLOAD,
    NOW,
  );
  assert.equal(problems.length, 1);
  assert.match(
    problems[0].message,
    /^a, b: .*: first, and others; \/proxies has all; the previous one/,
  );
});

Deno.test("each code has its own remedy", () => {
  const codes: RefusalCode[] = ["invalid", "loss", "empty", "failed"];
  const problems = codes.flatMap((code) => refusalProblems([refusing("a", code)], WORKLOAD, NOW));
  assert.equal(new Set(problems.map(({ remedy }) => remedy)).size, codes.length);
});

Deno.test("an older version is a problem only if it lasts", () => {
  const refused = refusing("a", "older");
  assert.deepEqual(refusalProblems([refused], WORKLOAD, NOW), []);
  assert.equal(refusalProblems([refused], WORKLOAD, NOW + 60_000).length, 1);
});

Deno.test("a configuration that is too large stays one problem when it changes", () => {
  assert.deepEqual(tooLargeProblems(null, WORKLOAD), []);
  const [problem] = tooLargeProblems(70 * 1024 ** 2, WORKLOAD);
  assert.match(problem.message, /has 70 MiB, and the stream takes 64 MiB/);
  assert.deepEqual(tooLargeProblems(70 * 1024 ** 2 - 10, WORKLOAD), [problem]);
});
