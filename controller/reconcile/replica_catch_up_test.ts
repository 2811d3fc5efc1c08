import assert from "node:assert/strict";
import { silentLogger } from "../../shared/log.ts";
import { eventually } from "../../tests/cluster/support/condition.ts";
import { ReplicaCatchUp } from "./replica_catch_up.ts";
import type { RelistResult } from "../kube/informer.ts";
import { nextVersion } from "./version.ts";

/** A kind of an API server that has got as far as `now` says. */
class Kind {
  seen = "100";
  revision = "100";
  lists = 0;
  isAway = false;

  constructor(readonly kind: string, readonly now: () => string) {}

  readonly isSynced = true;

  relist(): Promise<RelistResult> {
    this.lists++;
    if (this.isAway) {
      const error = { code: 0, reason: "Unreachable", message: "away", retryAfter: null };
      return Promise.resolve({ ok: false, error });
    }
    this.seen = this.revision = this.now();
    return Promise.resolve({ ok: true });
  }
}

function scene(now = "500") {
  const kind = new Kind("Ingress", () => now);
  const counter = new Kind("IngressClass", () => now);
  let changes = 0;
  let time = 0;
  const warnings: string[] = [];
  const catchUp = new ReplicaCatchUp({
    epoch: "e",
    kinds: [kind, counter],
    log: { ...silentLogger, warn: (message: string) => void warnings.push(message) },
    changed: () => void changes++,
    watchPatience: 1,
    now: () => time,
  });
  return {
    kind,
    counter,
    catchUp,
    changes: () => changes,
    warnings,
    /** Lets milliseconds pass for the pauses of those whose word was wrong. */
    pass: (milliseconds: number) => time += milliseconds,
    claim: (revision: string, proxy = "proxy-1", epoch = "e") =>
      catchUp.claim({ epoch, seen: { Ingress: revision } }, proxy),
    version: () =>
      nextVersion("e", catchUp.seen(null), null, { claimed: catchUp.claimed }).version.seen.Ingress,
  };
}

Deno.test("a version that a proxy has from another replica is confirmed by listing again", async () => {
  const { kind, catchUp, claim, version, changes } = scene();
  claim("300");
  await eventually("catch-up", () => changes() > 0);
  assert.equal(kind.lists, 1);
  assert.equal(version(), "500");
  catchUp.stop();
});

Deno.test("a proxy cannot raise the version beyond what a list confirms", async () => {
  const { kind, catchUp, claim, version } = scene();
  claim("99999999999999999999");
  await eventually("list", () => kind.lists > 0);
  claim("99999999999999999999");
  assert.equal(version(), "500");
  assert.equal(catchUp.claimed.size, 0);
  catchUp.stop();
});

Deno.test("a false claim does not hide a true one", async () => {
  const { kind, catchUp, claim, changes, version } = scene();
  // As where Secrets are asked for one by one: a list does not tell how far it got.
  kind.relist = () => Promise.resolve({ ok: true });
  claim("99999999999999999999", "liar");
  claim("300", "a");
  claim("400", "b");
  await eventually("catch-up", () => changes() > 0);
  assert.equal(version(), "400");
  catchUp.stop();
});

Deno.test("a claim that a bookmark confirms needs no list", async () => {
  const { kind, catchUp, claim, changes, version } = scene();
  kind.revision = "300";
  claim("250");
  await eventually("catch-up", () => changes() > 0);
  assert.deepEqual([kind.lists, version()], [0, "250"]);
  catchUp.stop();
});

Deno.test("a version known to have changed nothing is accepted at once from any proxy", async () => {
  const { kind, catchUp, claim, version } = scene("200");
  claim("99999", "liar");
  await eventually("list", () => kind.lists > 0);
  kind.revision = "300";
  claim("250", "liar");
  assert.equal(version(), "250");
  catchUp.stop();
});

Deno.test("a proxy with a false claim does not delay the others", async () => {
  const { kind, catchUp, claim, version, pass, warnings } = scene("200");
  kind.relist = () => {
    kind.lists++;
    return Promise.resolve({ ok: true });
  };
  const looked = async (lists: number) =>
    await eventually("lists", () => Promise.resolve(kind.lists >= lists));
  // For so long that its pauses are as long as they get.
  for (let lists = 1; lists <= 2; lists++) {
    claim("99999", "liar");
    await looked(lists);
    pass(120_000);
  }
  claim("99999", "liar");
  await looked(3);
  // In its pause it is not looked into, whatever it says.
  for (let i = 0; i < 5; i++) {
    claim(`99999${i}`, "liar");
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  claim("150", "honest");
  await eventually("catch-up", () => Promise.resolve(version() === "150"));
  assert.equal(kind.lists, 4);
  assert.deepEqual(warnings.length, 1);
  catchUp.stop();
});

Deno.test("a claim that the watch confirms meanwhile needs no list", async () => {
  const { kind, catchUp, claim, version } = scene();
  claim("200");
  kind.seen = kind.revision = "200";
  await new Promise((resolve) => setTimeout(resolve, 50));
  assert.deepEqual([kind.lists, version()], [0, "200"]);
  catchUp.stop();
});

Deno.test("versions of another cluster and invalid numbers are not claims", async () => {
  const { kind, catchUp, claim } = scene();
  claim("300", "proxy-1", "other");
  claim("x");
  claim("-1");
  catchUp.claim({ epoch: "e", seen: { Gateway: "300" } }, "proxy-1");
  const odd = JSON.parse('{"__proto__":"300","constructor":"300"}');
  catchUp.claim({ epoch: "e", seen: odd }, "proxy-1");
  await new Promise((resolve) => setTimeout(resolve, 50));
  assert.equal(kind.lists, 0);
  catchUp.stop();
});

Deno.test("without an API server no claim is accepted, and lists are retried with growing delays", async () => {
  const { kind, catchUp, claim, version } = scene();
  kind.isAway = true;
  const end = performance.now() + 1500;
  while (performance.now() < end) {
    claim("300");
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  assert.ok(kind.lists >= 1 && kind.lists <= 2, `${kind.lists} lists`);
  assert.equal(version(), "100");
  catchUp.stop();
});
