import assert from "node:assert/strict";
import { ABUSE_TEXTS, type AbuseReason, PeerBudget } from "./abuse.ts";

const LIMITS = { http2Resets: 100, http2ControlFrames: 1_000, requestHeadBytes: 32 * 1024 };

/** Does a thing at this moment, in ms, and says what came of it. */
type Act = (budget: PeerBudget, now: number) => AbuseReason | null;

const reset: Act = (budget, now) => budget.reset(now, now);
const provoked: Act = (budget, now) => budget.provoked(now);
const control: Act = (budget, now) => budget.control(now);
const data = (bytes: number): Act => (budget, now) => budget.dataReceived(now, bytes);

/** How often `act` goes well in a row before the connection is to end, up to `tries`. */
function times(budget: PeerBudget, act: Act, now = 0, tries = 100_000): [number, string] {
  for (let i = 0; i < tries; i++) {
    const reason = act(budget, now);
    if (reason !== null) return [i, reason];
  }
  return [tries, ""];
}

const FLOODS: readonly { readonly says: string; readonly act: Act; readonly end: unknown }[] = [
  { says: "requests that are reset at once", act: reset, end: [100, "resets"] },
  { says: "stream errors", act: provoked, end: [100, "resets"] },
  { says: "control frames", act: control, end: [1_000, "control_frames"] },
  {
    says: "SETTINGS without parameters",
    act: (b, now) => b.settings(now, 0),
    end: [1_000, "control_frames"],
  },
  {
    says: "SETTINGS full of parameters",
    act: (b, now) => b.settings(now, 300),
    end: [3, "control_frames"],
  },
  {
    says: "acknowledgements that are not read",
    act: (b) => b.ackQueued(),
    end: [1_000, "unread_acks"],
  },
  { says: "empty DATA frames", act: data(0), end: [100, "empty_frames"] },
  { says: "DATA frames of one byte", act: data(1), end: [1_000, "tiny_frames"] },
  { says: "CONTINUATION frames", act: (b) => b.continuation(), end: [16, "continuations"] },
  {
    says: "window updates after window updates of one byte",
    act: (budget, now) => {
      budget.dataSent(1, true);
      return budget.control(now);
    },
    end: [1_000, "control_frames"],
  },
  {
    says: "21 control frames for each DATA frame of 16 KiB",
    act: (budget, now) => {
      budget.dataSent(16_384, false);
      return times(budget, control, now, 21)[1] as AbuseReason || null;
    },
    end: [1_000, "control_frames"],
  },
  {
    says: "opening a stream for each reset",
    act: (budget, now) => {
      budget.opened();
      return budget.reset(now, now);
    },
    end: [100, "resets"],
  },
];

for (const { says, act, end } of FLOODS) {
  Deno.test(`${says} end a connection: ${end}`, () => {
    assert.deepEqual(times(new PeerBudget(LIMITS, 0, false), act), end);
  });
}

const HONEST: readonly { readonly says: string; readonly act: Act }[] = [
  {
    says: "each DATA frame is followed by two WINDOW_UPDATE and a PING",
    act: (budget, now) => {
      budget.dataSent(20, false);
      return budget.control(now) ?? budget.control(now) ?? budget.control(now);
    },
  },
  {
    says: "frames as large as a small window each get a WINDOW_UPDATE",
    act: (budget, now) => {
      budget.dataSent(16_384, true);
      return budget.control(now) ?? budget.control(now);
    },
  },
  {
    says: "both windows are opened for every 4 KiB of large DATA frames",
    act: (budget, now) => {
      budget.dataSent(16_384, false);
      return times(budget, control, now, 8)[1] as AbuseReason || null;
    },
  },
  {
    says: "each request has a WINDOW_UPDATE and a PRIORITY",
    act: (budget, now) => {
      budget.opened();
      return budget.control(now) ?? budget.control(now);
    },
  },
  {
    says: "every second request is cancelled",
    act: (budget, now) => {
      budget.answered();
      return budget.reset(now, now);
    },
  },
  { says: "requests are cancelled after a second", act: (b, now) => b.reset(now, now - 1_000) },
  { says: "a gRPC stream has empty messages only", act: data(5) },
  {
    says: "single-byte commas separate records",
    act: (budget, now) => budget.dataReceived(now, 1) ?? budget.dataReceived(now, 200),
  },
  {
    says: "an empty frame follows each record",
    act: (budget, now) => budget.dataReceived(now, 200) ?? budget.dataReceived(now, 0),
  },
  {
    says: "acknowledgements are read",
    act: (budget) => {
      budget.acksWritten();
      return budget.ackQueued();
    },
  },
  {
    says: "each head has ten CONTINUATION frames",
    act: (budget) => {
      budget.headBegun();
      return times(budget, (b) => b.continuation(), 0, 10)[1] as AbuseReason || null;
    },
  },
];

for (const { says, act } of HONEST) {
  Deno.test(`a connection is never closed if ${says}`, () => {
    assert.deepEqual(times(new PeerBudget(LIMITS, 0, false), act), [100_000, ""]);
  });
}

const REFILLS: readonly { readonly act: Act; readonly perSecond: number; readonly size: number }[] =
  [
    { act: reset, perSecond: 33, size: 100 },
    { act: control, perSecond: 100, size: 1_000 },
    { act: data(0), perSecond: 1, size: 100 },
    { act: data(1), perSecond: 100, size: 1_000 },
  ];

for (const { act, perSecond, size } of REFILLS) {
  Deno.test(`a budget of ${size} refills ${perSecond} a second, and never exceeds its size`, () => {
    const budget = new PeerBudget(LIMITS, 0, false);
    times(budget, act);
    assert.equal(times(budget, act, 2_000)[0], 2 * perSecond);
    assert.equal(times(budget, act, 2_000)[0], 0);
    assert.equal(times(budget, act, 1e9)[0], size);
  });
}

Deno.test("the client's resets and those it causes share one budget", () => {
  const budget = new PeerBudget(LIMITS, 0, false);
  assert.deepEqual(times(budget, reset, 0, 60), [60, ""]);
  assert.deepEqual(times(budget, provoked), [40, "resets"]);
});

Deno.test("a backend may send a byte at a time, but not empty frames without end", () => {
  const budget = new PeerBudget(LIMITS, 0, true);
  assert.deepEqual(times(budget, data(1)), [100_000, ""]);
  assert.deepEqual(times(budget, data(0)), [100, "empty_frames"]);
});

Deno.test("a larger head may use as many CONTINUATION frames as it needs", () => {
  const budget = new PeerBudget({ ...LIMITS, requestHeadBytes: 1024 * 1024 }, 0, false);
  assert.deepEqual(times(budget, (b) => b.continuation()), [64, "continuations"]);
});

Deno.test("a clock that stops or runs backwards refills nothing", () => {
  const budget = new PeerBudget(LIMITS, 5_000, false);
  times(budget, reset, 5_000);
  assert.equal(times(budget, reset, 1_000)[0], 0);
  assert.equal(times(budget, reset, 5_000)[0], 0);
});

Deno.test("every reason has a text that fits a GOAWAY", () => {
  for (const text of Object.values(ABUSE_TEXTS)) assert.match(text, /^[ -~]{10,80}$/);
});
