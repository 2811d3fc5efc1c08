import assert from "node:assert/strict";
import { silentLogger } from "../shared/log.ts";
import { eventually } from "../tests/cluster/support/condition.ts";
import { CatchUp } from "./catch_up.ts";
import type { RelistResult } from "./kube/informer.ts";
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
  const catchUp = new CatchUp({
    epoch: "e",
    kinds: [kind, counter],
    log: silentLogger,
    changed: () => void changes++,
    watchPatience: 1,
  });
  return {
    kind,
    counter,
    catchUp,
    changes: () => changes,
    claim: (revision: string, epoch = "e") => catchUp.claim({ epoch, seen: { Ingress: revision } }),
    version: () => nextVersion("e", catchUp.seen(null), null, catchUp.claimed).version.seen.Ingress,
  };
}

Deno.test("what a proxy has from another replica is caught up with by a list", async () => {
  const { kind, catchUp, claim, version, changes } = scene();
  claim("300");
  await eventually("catch-up", () => changes() > 0);
  assert.equal(kind.lists, 1);
  assert.equal(version(), "500");
  catchUp.stop();
});

Deno.test("a proxy cannot raise a version beyond what a list bears out", async () => {
  const { kind, catchUp, claim, version } = scene();
  claim("99999999999999999999");
  await eventually("list", () => kind.lists > 0);
  claim("99999999999999999999");
  assert.equal(version(), "500");
  assert.equal(catchUp.claimed.size, 0);
  catchUp.stop();
});

Deno.test("a wrong claim does not hide a true one", async () => {
  const { kind, catchUp, claim, changes, version } = scene();
  // As where Secrets are asked for one by one: a list does not tell how far it got.
  kind.relist = () => Promise.resolve({ ok: true });
  claim("99999999999999999999");
  claim("300");
  claim("400");
  await eventually("catch-up", () => changes() > 0);
  assert.equal(version(), "400");
  catchUp.stop();
});

Deno.test("what a bookmark bears out needs no list", async () => {
  const { kind, catchUp, claim, changes, version } = scene();
  kind.revision = "300";
  claim("250");
  await eventually("catch-up", () => changes() > 0);
  assert.deepEqual([kind.lists, version()], [0, "250"]);
  catchUp.stop();
});

Deno.test("what the watch tells in the meantime needs no list", async () => {
  const { kind, catchUp, claim, version } = scene();
  claim("200");
  kind.seen = kind.revision = "200";
  await new Promise((resolve) => setTimeout(resolve, 50));
  assert.deepEqual([kind.lists, version()], [0, "200"]);
  catchUp.stop();
});

Deno.test("another cluster's numbers, and what is no number, are no claims", async () => {
  const { kind, catchUp, claim } = scene();
  claim("300", "other");
  claim("x");
  claim("-1");
  catchUp.claim({ epoch: "e", seen: { Gateway: "300" } });
  catchUp.claim({ epoch: "e", seen: JSON.parse('{"__proto__":"300","constructor":"300"}') });
  await new Promise((resolve) => setTimeout(resolve, 50));
  assert.equal(kind.lists, 0);
  catchUp.stop();
});

Deno.test("without an API server nothing is believed, and it is asked more and more seldom", async () => {
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
