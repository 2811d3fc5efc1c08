import assert from "node:assert/strict";
import { type Backend } from "./backend.ts";
import { Child } from "./child.ts";
import { measure, takesPart } from "./measure.ts";
import { type Surroundings } from "./start.ts";
import type { Beside, Case, Load, Peer, Setup } from "./model.ts";

const SERVER = new URL("sink_server.ts", import.meta.url).pathname;

/** What a backend answers is right for a proxy too. */
function peer(name: string, more: Partial<Peer> = {}): Peer {
  return {
    name,
    find: () => Promise.resolve({ kind: "found", version: "1" }),
    start: ({ listen }: Setup) =>
      Promise.resolve(
        Child.start([Deno.execPath(), "run", "-A", "--quiet", SERVER, String(listen.port)]),
      ),
    ...more,
  };
}

/** Tells what it was asked for, and asks for nothing. */
function load(asked: string[]): Load {
  return {
    find: () => Promise.resolve({ kind: "found", version: "1" }),
    run: ({ address }, { name, connections }, _seconds, _folder, meter) => {
      asked.push(`${name} ${connections} ${address.port}`);
      meter.begin();
      meter.end();
      const times = { p50: 1, p99: 2, p999: name === "plain" ? 3 : null };
      return Promise.resolve({ count: 10, perSecond: 5, ...times, errors: 1, note: "late" });
    },
  };
}

const CASE: Case = {
  ...{ name: "case", about: "", unit: "request", path: "/small", http: 1, upstream: "http" },
  ...{ connections: 100, streams: 1, uploadBytes: 0, tls: false, workers: 1 },
};

async function measured(what: Case, peers: readonly Peer[], rounds: number) {
  const folder = await Deno.makeTempDir();
  const backend: Backend = {
    addressFor: () => Promise.resolve({ hostname: "127.0.0.1", port: 1 }),
    stop: () => Promise.resolve(),
  };
  const tls = { authority: "", chain: "", key: "", pair: "", clientConfiguration: "" };
  const surroundings: Surroundings = { backend, tls, folder };
  try {
    return await measure(what, peers, { rounds, seconds: 1 }, surroundings, () => {});
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("a peer runs the selected cases that it supports, with its baseline", () => {
  const one = peer("one");
  const plain = peer("plain", { can: ({ accessLog }) => accessLog !== true });
  const logged = { ...CASE, accessLog: true };
  const table: [Peer, Case, boolean][] = [
    [one, CASE, true],
    [one, { ...CASE, peers: ["one", "two"] }, true],
    [one, { ...CASE, peers: ["two"] }, false],
    [plain, CASE, true],
    [plain, logged, false],
    [plain, { ...CASE, baseline: logged }, false],
  ];
  for (const [who, what, expected] of table) assert.equal(takesPart(who, what), expected);
});

Deno.test("peers take turns, each next to its baseline, after a warm-up with few connections", async () => {
  const asked: string[] = [];
  const what = {
    ...CASE,
    load: load(asked),
    held: { connections: 10, streams: 1 },
    baseline: { ...CASE, name: "plain", load: load(asked) },
  };
  const { peers, leftOut, rate } = await measured(what, [peer("one"), peer("two")], 2);
  assert.deepEqual([leftOut, rate], [[], null]);
  const ports = asked.slice(0, 4).map((line) => line.split(" ")[2]);
  assert.equal(new Set(ports).size, 4);
  const [one, onePlain, two, twoPlain] = ports;
  assert.deepEqual(asked, [
    ...[`case 10 ${one}`, `plain 100 ${onePlain}`, `case 10 ${two}`, `plain 100 ${twoPlain}`],
    ...[`case 100 ${one}`, `plain 100 ${onePlain}`, `case 100 ${two}`, `plain 100 ${twoPlain}`],
    ...[`plain 100 ${onePlain}`, `case 100 ${two}`, `plain 100 ${twoPlain}`, `case 100 ${one}`],
  ]);
  assert.deepEqual(peers.map(({ peer }) => peer), ["one", "two"]);
  for (const { rounds, baseline, saturation } of peers) {
    assert.deepEqual(rounds.map(({ p99, p999, errors }) => [p99, p999, errors]), [
      [2, null, 1],
      [2, null, 1],
    ]);
    assert.deepEqual(baseline?.map(({ p999, heldBytes }) => [p999, heldBytes]), [
      [3, null],
      [3, null],
    ]);
    assert.ok(rounds.every(({ heldBytes, note }) => heldBytes !== null && note === "late"));
    assert.equal(saturation, null);
  }
});

Deno.test("a warm-up is as long as a round, or as the case sets", async () => {
  const lasted: number[] = [];
  const timed: Load = {
    ...load([]),
    run(target, what, seconds, ...rest) {
      lasted.push(seconds);
      return load([]).run(target, what, seconds, ...rest);
    },
  };
  const what = { ...CASE, warmUp: 8, load: timed, baseline: { ...CASE, load: timed } };
  await measured(what, [peer("one")], 1);
  assert.deepEqual(lasted, [8, 1, 1, 1]);
});

Deno.test("work beside a load ends after it, and its failures count", async () => {
  const order: string[] = [];
  const beside: Beside = {
    start({ peer }) {
      order.push(`begin beside ${peer.name}`);
      return Promise.resolve({
        stop() {
          order.push("end");
          return Promise.resolve({ errors: 7 });
        },
      });
    },
  };
  const { peers } = await measured({ ...CASE, load: load(order), beside }, [peer("one")], 1);
  // Warming up goes alone.
  assert.match(order[0], /^case 100/);
  assert.equal(order[1], "begin beside one");
  assert.match(order[2], /^case 100/);
  assert.deepEqual(order.slice(3), ["end"]);
  assert.equal(peers[0].rounds[0].errors, 8);
});

Deno.test("a peer that does not start is skipped, and the others are measured", async () => {
  const broken = peer("broken", { start: () => Promise.reject(new Error("no such option")) });
  const what = { ...CASE, load: load([]) };
  const { peers, leftOut } = await measured(what, [broken, peer("two")], 1);
  assert.deepEqual(leftOut, ["case through broken: no such option"]);
  assert.deepEqual(peers.map(({ peer }) => peer), ["two"]);
});
