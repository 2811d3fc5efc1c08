import assert from "node:assert/strict";
import { ProxyError } from "../errors.ts";
import { Cancellation } from "../http/cancellation.ts";
import { type PendingOutcome, PendingRequests } from "./pending_requests.ts";

/** An upstream without endpoints, until the test says otherwise. */
class FakeUpstream {
  isEmpty = true;
  isTold = true;
  readonly #told = new Set<(isFilled: boolean) => void>();

  whenFilled(told: (isFilled: boolean) => void): () => void {
    this.#told.add(told);
    return () => this.#told.delete(told);
  }

  get waiting(): number {
    return this.#told.size;
  }

  tell(isFilled: boolean): void {
    for (const told of [...this.#told]) told(isFilled);
  }
}

const GONE = new ProxyError("client_gone");

class FakeExchange {
  isOver = false;
  readonly cancellation = new Cancellation();
}

class Scene {
  readonly upstream = new FakeUpstream();
  readonly holds: PendingRequests;
  /** How many wait, as it was counted. */
  now = 0;
  readonly outcomes: PendingOutcome[] = [];

  constructor(holdTimeout: number, holdLimit = 10) {
    this.holds = new PendingRequests({ holdTimeout, holdLimit }, {
      holdBegun: () => this.now++,
      holdEnded: () => this.now--,
      held: (outcome) => this.outcomes.push(outcome),
    });
  }

  wait(exchange = new FakeExchange(), since = performance.now()): Promise<PendingOutcome> {
    return this.holds.wait(this.upstream, exchange, since);
  }

  waitFor(upstream: FakeUpstream): Promise<PendingOutcome> {
    return this.holds.wait(upstream, new FakeExchange(), performance.now());
  }

  /** Nothing is left of any wait. */
  assertOver(...outcomes: PendingOutcome[]): void {
    assert.deepEqual([this.now, this.holds.size, this.upstream.waiting], [0, 0, 0]);
    assert.deepEqual(this.outcomes, outcomes);
  }
}

Deno.test("requests wait only if configured, and only if there is no endpoint", () => {
  const { upstream } = new Scene(0);
  const { holds } = new Scene(1000);
  for (const isUnreachable of [true, false]) {
    assert.equal(new Scene(0).holds.concerns(upstream, isUnreachable), false);
    assert.equal(holds.concerns(upstream, isUnreachable), true);
  }
  upstream.isEmpty = false;
  assert.equal(holds.concerns(upstream, false), false);
  assert.equal(holds.concerns(upstream, true), true);
  upstream.isTold = false;
  assert.equal(holds.concerns(upstream, true), false);
});

Deno.test("pending requests continue once there is an endpoint, in order of arrival", async () => {
  const scene = new Scene(60_000);
  const order: number[] = [];
  const waits = [1, 2, 3].map((n) => scene.wait().then(() => order.push(n)));
  assert.equal(scene.now, 3);
  scene.upstream.tell(true);
  await Promise.all(waits);
  assert.deepEqual(order, [1, 2, 3]);
  scene.assertOver("served", "served", "served");
});

Deno.test("a wait ends at its timeout, which counts from the first wait", async () => {
  const scene = new Scene(20);
  assert.equal(await scene.wait(), "timeout");
  assert.equal(await scene.wait(new FakeExchange(), performance.now() - 21), "timeout");
  scene.assertOver("timeout", "timeout");
});

Deno.test("a wait ends when its client disconnects", async () => {
  const scene = new Scene(60_000);
  const exchange = new FakeExchange();
  const wait = scene.wait(exchange);
  exchange.cancellation.cancel(GONE);
  assert.equal(await wait, "client_gone");
  assert.equal(exchange.cancellation.isAwaited, false);
  exchange.isOver = true;
  assert.equal(await scene.wait(exchange), "client_gone");
  scene.assertOver("client_gone", "client_gone");
});

Deno.test("a request over the limit is rejected at once, and one is accepted again when another has ended", async () => {
  const scene = new Scene(60_000, 2);
  const [first, second] = [new FakeExchange(), new FakeExchange()];
  const waits = [scene.wait(first), scene.wait(second)];
  assert.equal(await scene.wait(), "no_room");
  first.cancellation.cancel(GONE);
  assert.equal(await waits[0], "client_gone");
  const third = scene.wait();
  assert.equal(scene.now, 2);
  scene.upstream.tell(true);
  assert.deepEqual(await Promise.all([waits[1], third]), ["served", "served"]);
  scene.assertOver("no_room", "client_gone", "served", "served");
});

Deno.test("requests to one upstream leave room for those to another", async () => {
  const scene = new Scene(60_000, 5);
  const [other, third] = [new FakeUpstream(), new FakeUpstream()];
  const waits = [1, 2, 3, 4, 5].map(() => scene.wait());
  const others = [scene.waitFor(other), scene.waitFor(other)];
  // The newest to the first upstream end, as long as it has more than the other would have then.
  assert.deepEqual(await Promise.all(waits.slice(3)), ["no_room", "no_room"]);
  assert.equal(await scene.waitFor(other), "no_room");
  const thirds = [scene.waitFor(third)];
  assert.equal(await waits[2], "no_room");
  assert.equal(await scene.wait(), "no_room");
  assert.deepEqual([scene.now, scene.holds.size], [5, 5]);
  for (const upstream of [scene.upstream, other, third]) upstream.tell(true);
  const outcomes = await Promise.all([...waits.slice(0, 2), ...others, ...thirds]);
  assert.deepEqual(outcomes, Array(5).fill("served"));
  scene.assertOver(...Array(5).fill("no_room"), ...Array(5).fill("served"));
});

Deno.test("the newest request that still waits makes room, however many have ended", async () => {
  const scene = new Scene(60_000, 100);
  const other = new FakeUpstream();
  const begin = () => {
    const exchange = new FakeExchange();
    return { exchange, outcome: scene.wait(exchange) };
  };
  const waits = Array.from({ length: 100 }, begin);
  const end = async (gone: typeof waits) => {
    for (const { exchange } of gone) exchange.cancellation.cancel(GONE);
    for (const { outcome } of gone) assert.equal(await outcome, "client_gone");
  };
  await end(waits.filter((_, i) => i % 10 !== 0));
  const later = Array.from({ length: 90 }, begin);
  const others = [scene.waitFor(other)];
  assert.equal(await later[89].outcome, "no_room");
  await end([later[88], later[87]]);
  others.push(scene.waitFor(other), scene.waitFor(other), scene.waitFor(other));
  assert.equal(await later[86].outcome, "no_room");
  assert.equal(scene.holds.size, 100);
  scene.holds.release();
  const left = [...waits.filter((_, i) => i % 10 === 0), ...later.slice(0, 86)];
  const outcomes = await Promise.all([...left.map(({ outcome }) => outcome), ...others]);
  assert.deepEqual(outcomes, Array(100).fill("ended"));
});

Deno.test("a wait ends when the upstream is removed or the proxy stops, and no request waits afterwards", async () => {
  const scene = new Scene(60_000);
  const wait = scene.wait();
  scene.upstream.tell(false);
  assert.equal(await wait, "ended");
  const waits = [scene.wait(), scene.wait()];
  scene.holds.release();
  assert.deepEqual(await Promise.all(waits), ["ended", "ended"]);
  assert.equal(await scene.wait(), "ended");
  scene.assertOver("ended", "ended", "ended", "ended");
});
