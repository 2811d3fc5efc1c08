import assert from "node:assert/strict";
import { judge, type Mark, MARKS } from "./marks.ts";
import { CASES } from "./case.ts";
import { PEERS } from "./peer.ts";
import { type PeerRounds, type Round } from "./report.ts";
import { type CaseResults } from "./results.ts";

function round(user: number, more: Partial<Round> = {}): Round {
  return {
    ...{ user, system: 0, perSecond: 1000, p50: 1, p99: 2, p999: 3 },
    ...{ memory: 2 ** 20, heldBytes: null, restCpu: null, errors: 0 },
    ...more,
  };
}

function peer(name: string, rounds: Round[], baseline: Round[] | null = null): PeerRounds {
  return { peer: name, rounds, baseline, saturation: null };
}

function results(name: string, peers: readonly PeerRounds[]): CaseResults {
  return {
    ...{ case: name, about: name, unit: "request", connections: 1, streams: 1 },
    ...{
      disturbance: null,
      baseline: null,
      pace: null,
      rate: null,
      date: "2026-01-02",
      machine: "",
      load: "",
    },
    ...{ schedule: { rounds: 1, seconds: 1 }, versions: {}, peers },
  };
}

function markOf(name: string, about: string): Mark {
  const mark = MARKS.find((one) => one.case === name && one.about === about);
  assert.ok(mark !== undefined, `${name}: ${about}`);
  return mark;
}

Deno.test("every target is for a case and peers that exist", () => {
  const cases = CASES.map(({ name }) => name);
  const peers = PEERS.map(({ name }) => name);
  for (const { case: name, about } of MARKS) {
    assert.ok(cases.includes(name), name);
    const [, peer] = /^(?:CPU|p99|p99\.9) × (\S+)$/.exec(about) ?? [];
    if (peer !== undefined && !peer.startsWith("routes-")) assert.ok(peers.includes(peer), about);
  }
});

Deno.test("a target holds up to its bound, and is distinguished from the aim", () => {
  const mark = markOf("h1-small", "CPU × nginx");
  const verdict = (ours: number) => {
    const peers = [peer("pingress", [round(ours)]), peer("nginx", [round(100)])];
    return judge(mark, results("h1-small", peers)).verdict;
  };
  assert.equal(verdict(126), "missed");
  assert.equal(verdict(125), "must");
  assert.equal(verdict(111), "must");
  assert.equal(verdict(110), "aim");
});

Deno.test("the median of the rounds decides, and its spread is shown", () => {
  const ours = [round(10), round(12), round(50)];
  const peers = [peer("pingress", ours), peer("nginx", [round(10), round(10), round(10)])];
  const { figure } = judge(markOf("h1-small", "CPU × nginx"), results("h1-small", peers));
  assert.deepEqual(figure, { median: 1.2, low: 1, high: 5 });
});

Deno.test("a case that was not measured neither holds nor misses its target", () => {
  const mark = markOf("h1-small", "CPU × envoy");
  assert.equal(judge(mark, undefined).verdict, "not measured");
  const peers = [peer("pingress", [round(1)]), peer("nginx", [round(1)])];
  assert.equal(judge(mark, results("h1-small", peers)).verdict, "not measured");
  for (const one of MARKS) {
    for (const none of [[], [peer("pingress", [])], [peer("nginx", [round(1)], [round(1)])]]) {
      const { verdict } = judge(one, results(one.case, none));
      assert.equal(verdict, "not measured", `${one.case}: ${one.about}`);
    }
  }
});

Deno.test("failed requests, tails over the baseline, and memory have targets", () => {
  const lossy = results("reload-10k", [
    peer("pingress", [round(1, { p999: 8, errors: 1 })], [round(1, { p999: 4 })]),
    peer("nginx", [round(1, { errors: 300 })], [round(1)]),
  ]);
  const failed = judge(markOf("reload-10k", "failed requests"), lossy);
  assert.deepEqual([failed.figure?.median, failed.verdict], [1, "missed"]);
  const tails = judge(markOf("reload-10k", "p99.9 × without reloads"), lossy);
  assert.deepEqual([tails.figure?.median, tails.verdict], [2, "must"]);
  const held = results("idle-10k-plain", [peer("pingress", [round(1, { heldBytes: 7 * 1024 })])]);
  const memory = judge(markOf("idle-10k-plain", "memory of a connection"), held);
  assert.deepEqual([memory.figure?.median, memory.verdict], [7, "aim"]);
});

Deno.test("tails of WebSockets and events are compared round by round", () => {
  for (const name of ["websocket-1k", "sse-1k"]) {
    const verdict = (p99: number) => {
      const peers = [
        peer("pingress", [round(1, { p99 })]),
        peer("nginx", [round(1, { p99: 100 })]),
      ];
      return judge(markOf(name, "p99 × nginx"), results(name, peers)).verdict;
    };
    assert.deepEqual([verdict(151), verdict(150)], ["missed", "must"], name);
  }
});
