/** A session without sockets, by a clock that tests move. */
import assert from "node:assert/strict";
import { snapshot } from "../../tests/support/stream_server_scene.ts";
import { HELLO } from "../../tests/support/stream_client.ts";
import { Redacted } from "../../shared/redacted.ts";
import type { Report } from "../../shared/stream/messages.ts";
import type { Outlet } from "./outlet.ts";
import { Session, type SessionTiming } from "./session.ts";
import { Updates } from "./updates.ts";

const TIMING: SessionTiming = {
  heartbeat: 1_500,
  hello: 10_000,
  silence: 30_000,
  stall: 30_000,
  age: 3_600_000,
  wholeInterval: 1_000,
  reason: 60_000,
  behind: 10_000,
};

const HELLO_REPORT = HELLO as Report & { readonly kind: "hello" };

function scene(timing: Partial<SessionTiming> = {}) {
  let now = 0;
  let isCutOff = false;
  const written: string[] = [];
  const outlet = {
    isFree: true as boolean,
    progressAt: 0,
    bytes: 0,
    unsent: 0,
    send: (line: Uint8Array) => void written.push(new TextDecoder().decode(line)),
    end: () => {},
    destroy: () => {},
  } satisfies Outlet;
  const updates = new Updates(() => now);
  const told = { lost: 0, refused: [] as string[], ends: [] as string[] };
  const session = new Session({
    outlet,
    updates,
    identity: { pod: "proxy-1", podUid: "uid-1", node: null },
    peer: "10.0.0.1",
    zone: null,
    controller: "controller-0",
    build: "0.1.0",
    expiresAt: Infinity,
    timing: { ...TIMING, ...timing },
    now: () => now,
    random: () => 0.5,
    isCutOff: () => isCutOff,
    listener: {
      greeted: () => {},
      sent: () => {},
      applied: () => {},
      refused(_session, { reason }, isNews) {
        if (isNews) told.refused.push(reason);
      },
      lost: () => void told.lost++,
      claimed: () => {},
      token: () => {},
      ended: (_session, end) => void told.ends.push(end),
    },
  });
  return {
    session,
    outlet,
    updates,
    told,
    kinds: () => written.map((line) => JSON.parse(line).kind as string),
    set isCutOff(cut: boolean) {
      isCutOff = cut;
    },
    /** Lets time pass, with looks in between, and a proxy that says that it is there. */
    pass(milliseconds: number, each: () => void = () => {}) {
      for (const end = now + milliseconds; now < end;) {
        now += 250;
        outlet.progressAt = now;
        each();
        session.tick();
      }
    },
  };
}

Deno.test("a stream ends at its maximum age even if its proxy has unread data", () => {
  const { session, outlet, told, pass } = scene({ age: 20_000 });
  session.receive(HELLO_REPORT);
  outlet.isFree = false;
  pass(19_000);
  assert.deepEqual(told.ends, []);
  pass(2_000);
  assert.deepEqual(told.ends, ["aged"]);
});

Deno.test("a proxy that needs several full snapshots is logged once for each", () => {
  const { session, updates, told, kinds, pass } = scene();
  updates.take(snapshot(1));
  session.receive(HELLO_REPORT);
  pass(10_000, () => {
    for (let i = 0; i < 10; i++) session.receive({ kind: "lost", reason: `${i}` });
  });
  assert.deepEqual(told.ends, []);
  const wholes = kinds().filter((kind) => kind === "snapshot").length;
  assert.ok(wholes <= 11, `${wholes} whole ones`);
  assert.ok(told.lost <= wholes, `told ${told.lost} times, ${wholes} whole ones`);
});

Deno.test("a proxy that cannot read the format gets no snapshot, stays connected and counts as not in sync", () => {
  const { session, updates, told, kinds, pass } = scene();
  session.receive({ ...HELLO_REPORT, formats: [1] });
  updates.take(snapshot(1));
  pass(10_000, () => session.receive(aliveWith(null)));
  assert.deepEqual([...new Set(kinds())], ["hello", "ping"]);
  assert.deepEqual(told.ends, []);
  assert.equal(session.isInSync, false);
  assert.equal(session.refusal?.code, "invalid");
  const reason = "it reads snapshot format 1, and this controller sends format 2";
  assert.deepEqual(told.refused, [reason]);
  updates.take(snapshot(2));
  pass(10_000, () => session.receive(aliveWith(null)));
  assert.deepEqual(told.refused, [reason]);
  assert.equal(session.refusal?.hash, updates.current!.hash);
});

Deno.test("a proxy that also supports later formats gets the existing one", () => {
  const { session, updates, kinds } = scene();
  updates.take(snapshot(1));
  session.receive({ ...HELLO_REPORT, formats: [1, 2, 3] });
  assert.deepEqual(kinds(), ["hello", "snapshot"]);
});

function aliveWith(hash: string | null): Report {
  return { kind: "alive", token: new Redacted("a.b.c"), version: null, hash };
}

/** As of a proxy that has files which another replica wrote. */
function helloOf(seen: string): Report & { readonly kind: "hello" } {
  return {
    ...HELLO_REPORT,
    version: { epoch: "e", seen: { Ingress: seen } },
    hash: "f".repeat(64),
  };
}

const AHEAD: readonly [name: string, inForce: string, isCutOff: boolean, ends: string[]][] = [
  ["more, and this replica is cut off: it is sent elsewhere", "3", true, ["behind"]],
  ["more, and we are not: we catch up", "3", false, []],
  ["less, and we are cut off: it has what we have", "1", true, []],
];

for (const [name, inForce, isCutOff, ends] of AHEAD) {
  Deno.test(`a proxy has ${name}`, () => {
    const test = scene();
    test.updates.take(snapshot(2));
    test.isCutOff = isCutOff;
    test.session.receive(helloOf(inForce));
    // A proxy that finds nobody better does not come back at once, again and again.
    test.pass(9_500);
    assert.deepEqual(test.told.ends, []);
    test.pass(1_000);
    assert.deepEqual(test.told.ends, ends);
    assert.equal(test.kinds().includes("bye"), ends.length > 0);
  });
}

Deno.test("a proxy whose files become newer while the replica is cut off is sent to another replica", () => {
  const test = scene();
  test.updates.take(snapshot(2));
  test.session.receive(helloOf("1"));
  test.isCutOff = true;
  const alive = (seen: string) =>
    test.session.receive({
      kind: "alive",
      token: new Redacted("token"),
      version: { epoch: "e", seen: { Ingress: seen } },
      hash: null,
    });
  test.pass(20_000, () => alive("2"));
  assert.deepEqual(test.told.ends, []);
  alive("3");
  test.pass(250);
  assert.deepEqual(test.told.ends, ["behind"]);
});

Deno.test("ever-changing rejection reasons are logged once a minute, and shown as they are", () => {
  const { session, updates, told, pass } = scene();
  updates.take(snapshot(1));
  session.receive(HELLO_REPORT);
  const { version } = snapshot(1);
  let count = 0;
  const refuse = () =>
    session.receive({
      kind: "refused",
      version,
      hash: "f".repeat(64),
      // By turns, since a change of the code is no way around it either.
      code: count++ % 2 === 0 ? "invalid" : "loss",
      reason: `reason ${count}`,
    });
  pass(50_000, refuse);
  assert.deepEqual(told.refused, ["reason 1", "reason 2"]);
  assert.deepEqual(
    [session.refusal?.reason, session.refusal?.told.reason],
    ["reason 200", "reason 2"],
  );
  pass(20_000, refuse);
  assert.equal(told.refused.length, 4);
});

Deno.test("a session has the obstacles of the last applied update", () => {
  const { session, updates } = scene();
  updates.take(snapshot(1));
  session.receive(HELLO_REPORT);
  assert.deepEqual(session.obstacles, []);
  const about = { kind: "applied", version: snapshot(1).version, hash: "f".repeat(64) } as const;
  const obstacles = [{ socket: "10000", reason: "another program has the port" }];
  session.receive({ ...about, obstacles });
  assert.deepEqual(session.obstacles, obstacles);
  session.receive({ ...about, kind: "refused", code: "older", reason: "no" });
  assert.deepEqual(session.obstacles, obstacles);
  session.receive(about);
  assert.deepEqual(session.obstacles, []);
});

Deno.test("a rejection after an applied update is logged again, at most once a minute", () => {
  const { session, updates, told, pass } = scene();
  updates.take(snapshot(1));
  session.receive(HELLO_REPORT);
  const about = { version: snapshot(1).version, hash: "f".repeat(64) };
  const refuse = () =>
    session.receive({ kind: "refused", ...about, code: "invalid", reason: "the same" });
  pass(100_000, refuse);
  assert.equal(told.refused.length, 1);
  pass(50_000, () => {
    session.receive({ kind: "applied", ...about });
    refuse();
  });
  assert.equal(told.refused.length, 2);
});
