import assert from "node:assert/strict";
import {
  type AgainstOptions,
  asBaselineOf,
  compareCase,
  describeResult,
  type MeasureBlock,
} from "./against.ts";
import { ACCESS_LOG } from "./cases/access_log.ts";
import { H1_SMALL } from "./cases/h1_small.ts";
import { ROUTES_100K } from "./cases/routes_100k.ts";
import { TRACES } from "./cases/traces.ts";
import { parseBenchOptions } from "./options.ts";
import { pingressAt } from "./peers/pingress.ts";
import { type Round } from "./report.ts";
import type { Peer, Setup } from "./model.ts";

const OURS = pingressAt("pingress", "/here");
const THEIRS = pingressAt("pingress@before", "/there");
const OPTIONS: AgainstOptions = {
  against: "before",
  pairs: 25,
  pairsPerStart: 10,
  seconds: 1,
  together: false,
  bound: 1.03,
};

function round(user: number, errors = 0): Round {
  const times = { perSecond: 1000, p50: 1, p99: 2, p999: 3 };
  return { user, system: 10, ...times, memory: 0, heldBytes: null, restCpu: null, errors };
}

/** Rounds that cost what `cost` says, and the blocks that were asked for. */
function measuring(cost: (peer: Peer) => Round) {
  const asked: string[] = [];
  const measureBlock: MeasureBlock = (peers, { rounds }, done) => {
    asked.push(`${done}: ${rounds} of ${peers.map(({ name }) => name).join(", ")}`);
    return Promise.resolve({
      rate: null,
      leftOut: [],
      peers: peers.map((peer) => ({
        peer: peer.name,
        rounds: Array.from({ length: rounds }, () => cost(peer)),
        baseline: null,
        saturation: null,
      })),
    });
  };
  return { asked, measureBlock };
}

Deno.test("both are restarted every few pairs, in alternating order", async () => {
  const { asked, measureBlock } = measuring((peer) => round(peer === OURS ? 92 : 90));
  const result = await compareCase(H1_SMALL, OURS, THEIRS, OPTIONS, measureBlock);
  assert.deepEqual(asked, [
    "0: 10 of pingress, pingress@before",
    "10: 10 of pingress@before, pingress",
    "20: 5 of pingress, pingress@before",
  ]);
  assert.equal(result.pairs, 25);
  assert.equal(result.median, 1.02);
  assert.deepEqual(result.blocks.map(({ ours }) => ours.length), [10, 10, 5]);
});

const VERDICTS: readonly [number, string][] = [
  [1.03, "h1-small: × 1.020 of before, 95 % 1.020 to 1.020, 25 pairs: within 1.03"],
  [
    1.01,
    "h1-small: × 1.020 of before, 95 % 1.020 to 1.020, 25 pairs: " +
    "NOT within 1.01: the whole interval is above it",
  ],
];

for (const [bound, line] of VERDICTS) {
  Deno.test(`a ratio of 1.02 is shown next to a bound of ${bound}`, async () => {
    const { measureBlock } = measuring((peer) => round(peer === OURS ? 92 : 90));
    const options = { ...OPTIONS, bound };
    const result = await compareCase(H1_SMALL, OURS, THEIRS, options, measureBlock);
    assert.deepEqual(describeResult(result, "before").split("\n"), [
      "",
      line,
      "  CPU per unit: 102.0 µs here, 100.0 µs there",
    ]);
  });
}

Deno.test("rounds with errors are not compared", async () => {
  const { measureBlock } = measuring((peer) => round(90, peer === OURS ? 1 : 0));
  await assert.rejects(
    compareCase(H1_SMALL, OURS, THEIRS, OPTIONS, measureBlock),
    /h1-small through pingress: errors/,
  );
});

const REFUSED: Record<string, RegExp> = {
  "--against main --write": /--against measures two versions of Pingress/,
  "--against main --peer nginx": /leave out --write, --quick and --peer/,
  "--bound 1.03 h1-small": /--bound holds for --against REF/,
  "--against main --bound much": /a ratio like 1\.03/,
  "--against main --pairs-per-start 3": /--pairs-per-start must be even/,
};

for (const [line, why] of Object.entries(REFUSED)) {
  Deno.test(`an invalid command line is rejected: ${line}`, () => {
    const parsed = parseBenchOptions(line.split(" "));
    assert.match(parsed.kind === "error" ? parsed.text : "accepted", why);
  });
}

Deno.test("without names, --against measures small requests, in rounds of one second", () => {
  const parsed = parseBenchOptions(["--against", "main"]);
  assert.equal(parsed.kind, "ok");
  if (parsed.kind !== "ok") return;
  const { cases, duration, pairs, pairsPerStart } = parsed.options;
  assert.deepEqual([cases, duration, pairs], [["h1-small", "h2-tls-small"], 1000, 40]);
  assert.equal(pairsPerStart, 10);
});

Deno.test("beside its baseline, a case is started without its access log or traces", async () => {
  for (const what of [ACCESS_LOG, TRACES]) {
    const started: Pick<Setup, "accessLog" | "traceRatio">[] = [];
    const peer: Peer = {
      ...OURS,
      start: ({ accessLog, traceRatio }) => {
        started.push({ accessLog, traceRatio });
        return Promise.reject(new Error("not started"));
      },
    };
    const { accessLog = false, traceRatio = 0 } = what;
    const setup = { accessLog, traceRatio } as Setup;
    await assert.rejects(asBaselineOf(what, peer).start(setup));
    assert.deepEqual(started, [{ accessLog: false, traceRatio: 0 }]);
  }
});

Deno.test("a case whose load is not that of its baseline is not measured beside it", () => {
  assert.throws(() => asBaselineOf(H1_SMALL, OURS), /h1-small has no baseline/);
  assert.throws(() => asBaselineOf(ROUTES_100K, OURS), /routes-100k .* differs in routes/);
});
