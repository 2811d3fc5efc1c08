import assert from "node:assert/strict";
import { type IngressAddress } from "../../controller/outputs/status/address.ts";
import { hasOurStatus } from "../../controller/outputs/status/ingress.ts";
import { StatusWriter, type StatusWriterOptions } from "../../controller/outputs/status/writer.ts";
import type { KubeObject } from "../../controller/kube/types.ts";
import { type After, systemAfter } from "../../controller/outputs/write/queue.ts";
import { ManualClock } from "../../shared/clock.ts";
import { clusterTest } from "./support/cluster_case.ts";
import { eventually } from "./support/condition.ts";
import { failure, tooManyRequests } from "./support/gateway_answers.ts";
import { type Replica, WritingScene } from "./support/writing_scene.ts";

const ADDRESSES: IngressAddress[] = [{ ip: "203.0.113.1" }, { hostname: "lb.example.com" }];
const OTHERS: IngressAddress[] = [{ ip: "203.0.113.2" }];

/** A writer that serves what has the class `pingress`, as `translate` would decide. */
class Serving {
  readonly writer: StatusWriter;
  readonly #replica: Replica;

  constructor(replica: Replica, options: Partial<StatusWriterOptions> = {}) {
    const { client, fence, log } = replica;
    const ingresses = replica.ingresses.store;
    this.#replica = replica;
    this.writer = replica.owns(new StatusWriter({ client, fence, log, ingresses, ...options }));
  }

  /** @param unready Names of Ingresses of which no path reaches a backend. */
  sync(addresses: readonly IngressAddress[] | null, unready: readonly string[] = []): void {
    const ingresses = this.#replica.ingresses.store.list();
    const served = ingresses.filter(isOurs).map(({ metadata: { namespace = "", name } }) => ({
      kind: "Ingress",
      namespace,
      name,
    }));
    this.writer.sync({
      ingresses,
      served,
      unready: served.filter(({ name }) => unready.includes(name)),
      addresses,
    });
  }
}

function isOurs(ingress: KubeObject): boolean {
  const { spec } = ingress as { spec?: { ingressClassName?: string } };
  return spec?.ingressClassName === "pingress";
}

/** Waits until an Ingress shows these addresses. */
async function shows(scene: WritingScene, name: string, addresses: readonly IngressAddress[]) {
  await eventually(
    `${name} with ${JSON.stringify(addresses)}`,
    async () => JSON.stringify(await scene.addresses(name)) === JSON.stringify(addresses),
  );
}

clusterTest("served Ingresses have the addresses, others have none", async (cluster) => {
  await using scene = await WritingScene.create(cluster);
  await scene.ingress("web");
  await scene.ingress("foreign", "nginx");
  const replica = await scene.replica();
  const serving = new Serving(replica);
  serving.sync(ADDRESSES);
  await shows(scene, "web", ADDRESSES);
  assert.deepEqual(await scene.addresses("foreign"), []);
  assert.deepEqual(scene.writes().map(({ name, subresource }) => [name, subresource]), [
    ["web", "status"],
  ]);
});

clusterTest(
  "an Ingress without a reachable backend gets no address at first, and keeps an existing one",
  async (cluster) => {
    await using scene = await WritingScene.create(cluster);
    for (const name of ["served", "closed", "later"]) await scene.ingress(name);
    const replica = await scene.replica();
    const serving = new Serving(replica);
    serving.sync(ADDRESSES, ["closed", "later"]);
    await shows(scene, "served", ADDRESSES);
    serving.sync(ADDRESSES, ["closed"]);
    await shows(scene, "later", ADDRESSES);
    assert.deepEqual(await scene.addresses("closed"), []);
    for (const name of ["served", "later"]) await replica.caughtUp(scene, name);
    // Its backends are gone for a while: DNS goes on leading to it, and follows a new address.
    serving.sync(OTHERS, ["served", "closed"]);
    await shows(scene, "served", OTHERS);
    await shows(scene, "later", OTHERS);
    assert.deepEqual(await scene.addresses("closed"), []);
  },
);

clusterTest(
  "while status is off for a class, neither our addresses nor those of another are touched",
  async (cluster) => {
    await using scene = await WritingScene.create(cluster);
    for (const name of ["written", "foreign", "bare"]) await scene.ingress(name);
    const replica = await scene.replica();
    const { store } = replica.ingresses;
    const serving = new Serving(replica);
    serving.sync(ADDRESSES, ["foreign", "bare"]);
    await shows(scene, "written", ADDRESSES);
    await replica.caughtUp(scene, "written");
    const served = ["written", "foreign", "bare"].map((name) => ({
      kind: "Ingress",
      namespace: scene.namespace,
      name,
    }));
    const off = () =>
      serving.writer.sync({
        ingresses: store.list(),
        served,
        untouched: served,
        addresses: OTHERS,
      });
    const before = scene.calls;
    off();
    await scene.writeAs("nginx-ingress-controller", "foreign", "198.51.100.7");
    await replica.caughtUp(scene, "foreign");
    off();
    assert.equal(serving.writer.backlog, 0);
    assert.deepEqual(scene.writes(before), []);
    assert.deepEqual(await scene.addresses("written"), ADDRESSES);
    assert.deepEqual(await scene.addresses("bare"), []);
    assert.deepEqual(await scene.addresses("foreign"), [{ ip: "198.51.100.7" }]);
    // On again.
    serving.sync(OTHERS);
    for (const name of ["written", "foreign", "bare"]) await shows(scene, name, OTHERS);
  },
);

clusterTest("a correct status is not written again, not even by a new leader", async (cluster) => {
  await using scene = await WritingScene.create(cluster);
  for (let i = 0; i < 5; i++) await scene.ingress(`web${i}`);
  const replica = await scene.replica();
  const serving = new Serving(replica);
  serving.sync(ADDRESSES);
  for (let i = 0; i < 5; i++) await shows(scene, `web${i}`, ADDRESSES);
  for (let i = 0; i < 5; i++) await replica.caughtUp(scene, `web${i}`);
  serving.sync(ADDRESSES);
  const next = new Serving(await scene.replica());
  next.sync(ADDRESSES);
  assert.deepEqual([serving.writer.backlog, next.writer.backlog], [0, 0]);
  assert.equal(scene.writes().length, 5);
});

clusterTest("new addresses replace the old ones, and an unknown one does not", async (cluster) => {
  await using scene = await WritingScene.create(cluster);
  await scene.ingress("web");
  const replica = await scene.replica();
  const serving = new Serving(replica);
  serving.sync(ADDRESSES);
  await shows(scene, "web", ADDRESSES);
  await replica.caughtUp(scene, "web");
  serving.sync(null);
  serving.sync(OTHERS);
  await shows(scene, "web", OTHERS);
  await replica.caughtUp(scene, "web");
  serving.sync([]);
  await shows(scene, "web", []);
});

clusterTest("a status of another controller is replaced where we serve", async (cluster) => {
  await using scene = await WritingScene.create(cluster);
  await scene.ingress("web");
  await scene.writeAs("nginx-ingress-controller", "web", "198.51.100.7", "198.51.100.8");
  const replica = await scene.replica();
  const serving = new Serving(replica);
  // As long as we have no address, that of another is better than none.
  serving.sync([]);
  serving.sync(ADDRESSES);
  await shows(scene, "web", ADDRESSES);
  assert.equal(scene.writes().length, 1);
  await replica.caughtUp(scene, "web");
  serving.sync([]);
  await shows(scene, "web", []);
});

clusterTest(
  "an Ingress that changes its class loses our addresses, also after a restart",
  async (cluster) => {
    await using scene = await WritingScene.create(cluster);
    await scene.ingress("here");
    await scene.ingress("while-away");
    const first = await scene.replica();
    const serving = new Serving(first);
    serving.sync(ADDRESSES);
    await shows(scene, "here", ADDRESSES);
    await shows(scene, "while-away", ADDRESSES);
    await scene.ingress("here", "nginx");
    await first.caughtUp(scene, "here");
    serving.sync(ADDRESSES);
    await shows(scene, "here", []);
    await serving.writer.close();
    await scene.ingress("while-away", "nginx");
    const second = await scene.replica();
    new Serving(second).sync(ADDRESSES);
    await shows(scene, "while-away", []);
    for (const name of ["here", "while-away"]) {
      const { metadata } = (await scene.get(name))!;
      assert.equal(hasOurStatus({ metadata }), false);
    }
  },
);

clusterTest("the status written by the new class's controller stays", async (cluster) => {
  await using scene = await WritingScene.create(cluster);
  await scene.ingress("web");
  const replica = await scene.replica();
  const serving = new Serving(replica);
  serving.sync(ADDRESSES);
  await shows(scene, "web", ADDRESSES);
  await scene.ingress("web", "nginx");
  await scene.writeAs("nginx-ingress-controller", "web", "198.51.100.7");
  await replica.caughtUp(scene, "web");
  const before = scene.calls;
  serving.sync(OTHERS);
  assert.equal(serving.writer.backlog, 0);
  assert.deepEqual(await scene.addresses("web"), [{ ip: "198.51.100.7" }]);
  assert.deepEqual(scene.writes(before), []);
});

clusterTest("a class that changes before the write prevents it", async (cluster) => {
  await using scene = await WritingScene.create(cluster);
  await scene.ingress("web");
  const replica = await scene.replica();
  const serving = new Serving(replica);
  const decided = replica.ingresses.store.list();
  await scene.ingress("web", "nginx");
  // The informer has not seen it: it still says what it said.
  const stale = {
    ...replica.ingresses.store,
    list: () => decided,
    get: () => decided[0],
    versionOf: () => decided[0].metadata.resourceVersion ?? "",
    subscribe: () => () => {},
  };
  const blind = new StatusWriter({
    ...replica,
    ingresses: stale as unknown as typeof replica.ingresses.store,
  });
  const served = [{ kind: "Ingress", namespace: scene.namespace, name: "web" }];
  blind.sync({ ingresses: decided, served, addresses: ADDRESSES });
  await eventually("a refused write", () => scene.writes().some(({ status }) => status === 409));
  await blind.close();
  // And one that has seen it does not even try.
  await replica.caughtUp(scene, "web");
  const before = scene.calls;
  serving.writer.sync({ ingresses: decided, served, addresses: ADDRESSES });
  assert.equal(serving.writer.backlog, 0);
  assert.deepEqual(scene.writes(before), []);
  assert.deepEqual(await scene.addresses("web"), []);
});

clusterTest("two controllers that write the same status do not fight", async (cluster) => {
  await using scene = await WritingScene.create(cluster);
  await scene.ingress("web");
  const replica = await scene.replica();
  const clock = new ManualClock();
  // Looks often at a clock that only this test moves.
  const after: After = (_ms, run) => systemAfter(5, run);
  const serving = new Serving(replica, { clock, after });
  serving.sync(ADDRESSES);
  await shows(scene, "web", ADDRESSES);
  // 10 s, then twice as long each time.
  for (const [round, peace] of [10_000, 20_000, 40_000, 80_000].entries()) {
    const written = scene.writes().length;
    assert.equal(written, round + 1);
    await scene.writeAs("other", "web", `198.51.100.${round}`);
    await replica.caughtUp(scene, "web");
    clock.advance(peace - 1);
    await eventually("a decision to wait", () => serving.writer.backlog === 0);
    assert.equal(scene.writes().length, written);
    clock.advance(1);
    await shows(scene, "web", ADDRESSES);
    await replica.caughtUp(scene, "web");
  }
  assert.deepEqual(replica.lines.map(({ message, fields }) => [message, fields.ingress]), [
    [
      "Another controller also writes the status of a served Ingress",
      `${scene.namespace}/web`,
    ],
  ]);
});

clusterTest("a single overwrite of our addresses is reverted once", async (cluster) => {
  await using scene = await WritingScene.create(cluster);
  await scene.ingress("web");
  const replica = await scene.replica();
  const serving = new Serving(replica, { firstPeace: 50 });
  serving.sync(ADDRESSES);
  await shows(scene, "web", ADDRESSES);
  await scene.writeAs("somebody", "web", "198.51.100.7");
  await eventually("a second write", () => scene.writes(0, "web").length === 2);
  await shows(scene, "web", ADDRESSES);
  await replica.caughtUp(scene, "web");
  assert.equal(serving.writer.backlog, 0);
  assert.equal(scene.writes(0, "web").length, 2);
});

clusterTest(
  "a replica that does not lead writes no status, and all of them once it leads",
  async (cluster) => {
    await using scene = await WritingScene.create(cluster);
    for (let i = 0; i < 3; i++) await scene.ingress(`web${i}`);
    const replica = await scene.replica();
    replica.fence.leads = false;
    const serving = new Serving(replica);
    serving.sync(OTHERS);
    serving.sync(ADDRESSES);
    assert.equal(serving.writer.backlog, 3);
    replica.fence.leads = true;
    for (let i = 0; i < 3; i++) await shows(scene, `web${i}`, ADDRESSES);
    assert.equal(scene.writes().length, 3);
  },
);

clusterTest("a failed write is retried until it succeeds", async (cluster) => {
  await using scene = await WritingScene.create(cluster);
  await scene.ingress("web");
  const replica = await scene.replica();
  const serving = new Serving(replica);
  const match = { resource: "ingresses", verb: "patch" } as const;
  scene.gateway.inject(match, failure(500), 1);
  scene.gateway.inject(match, tooManyRequests(1), 1);
  scene.gateway.inject(match, failure(409, "Conflict"), 1);
  serving.sync(ADDRESSES);
  await shows(scene, "web", ADDRESSES);
  assert.deepEqual(await scene.statuses(), [409, 429, 500, 200]);
});

clusterTest("a deleted Ingress is not retried", async (cluster) => {
  await using scene = await WritingScene.create(cluster);
  await scene.ingress("web");
  const replica = await scene.replica();
  const serving = new Serving(replica);
  const match = { resource: "ingresses", verb: "patch" } as const;
  scene.gateway.inject(match, failure(404, "NotFound"));
  serving.sync(ADDRESSES);
  await eventually("a write", () => scene.writes().length > 0);
  await eventually("an end", () => serving.writer.backlog === 0);
  assert.equal(scene.writes().length, 1);
});

clusterTest(
  "three hundred Ingresses do not flood the API, nor delay a new one",
  async (cluster) => {
    await using scene = await WritingScene.create(cluster);
    for (let i = 0; i < 300; i += 20) {
      await Promise.all(Array.from({ length: 20 }, (_, n) => scene.ingress(`web${i + n}`)));
    }
    const replica = await scene.replica();
    const serving = new Serving(replica, { pace: { rate: 50, burst: 20, inFlight: 4 } });
    let most = 0;
    serving.sync(ADDRESSES);
    const watching = setInterval(() => {
      most = Math.max(most, scene.writes().filter(({ answered }) => answered === null).length);
    }, 5);
    try {
      await eventually("some writes", () => scene.writes().length > 40);
      await scene.ingress("urgent");
      await replica.caughtUp(scene, "urgent");
      const before = scene.writes().length;
      serving.sync(ADDRESSES);
      await shows(scene, "urgent", ADDRESSES);
      const position = scene.writes().findIndex(({ name }) => name === "urgent") - before;
      assert.ok(position < 20, `${position} others were written first`);
      await eventually("all", () => scene.writes().length === 301, 60_000);
    } finally {
      clearInterval(watching);
    }
    assert.ok(most <= 4, `${most} at once`);
  },
);

clusterTest("if no class is served any more, none of our addresses is left", async (cluster) => {
  await using scene = await WritingScene.create(cluster);
  for (const name of ["web", "api"]) await scene.ingress(name);
  await scene.ingress("foreign", "nginx");
  await scene.writeAs("nginx-ingress-controller", "foreign", "198.51.100.7");
  const replica = await scene.replica();
  const serving = new Serving(replica);
  serving.sync(ADDRESSES);
  for (const name of ["web", "api"]) await shows(scene, name, ADDRESSES);
  const last = await scene.replica();
  const ingresses = last.ingresses.store.list();
  new Serving(last).writer.sync({ ingresses, served: [], addresses: null });
  for (const name of ["web", "api"]) await shows(scene, name, []);
  assert.deepEqual(await scene.addresses("foreign"), [{ ip: "198.51.100.7" }]);
});
