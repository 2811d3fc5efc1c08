import assert from "node:assert/strict";
import {
  EVENT_TIMING,
  EventWriter,
  type EventWriterOptions,
} from "../../controller/outputs/events/writer.ts";
import { INGRESS_CLASSES, INGRESSES } from "../../controller/kube/types.ts";
import { type After, systemAfter } from "../../controller/outputs/write/queue.ts";
import { ManualClock } from "../../shared/clock.ts";
import type { Problem } from "../../shared/problem.ts";
import type { KubeObject } from "./support/api_client.ts";
import { startCluster } from "./support/cluster.ts";
import { clusterTest } from "./support/cluster_case.ts";
import { eventually } from "./support/condition.ts";
import { failure } from "./support/gateway_answers.ts";
import { type Replica, WritingScene } from "./support/writing_scene.ts";

/** As the API server has it. */
interface LiveEvent extends KubeObject {
  readonly reason: string;
  readonly message: string;
  readonly type: string;
  readonly count: number;
  readonly firstTimestamp: string;
  readonly lastTimestamp: string;
  readonly reportingComponent: string;
  readonly reportingInstance: string;
  readonly source: { readonly component?: string };
  readonly involvedObject: Readonly<Record<string, string>>;
}

/** Looks often at a clock that only the test moves; wide enough a pace that it needs no moving. */
function manualTime() {
  const clock = new ManualClock(Date.now());
  const after: After = (_ms, run) => systemAfter(5, run);
  return { clock, after, random: () => 0, pace: { rate: 1000, burst: 1000, inFlight: 4 } };
}

function writerOf(replica: Replica, options: Partial<EventWriterOptions> = {}): EventWriter {
  const { client, fence, log } = replica;
  return replica.owns(
    new EventWriter({
      client,
      fence,
      log,
      instance: "pingress-controller-0",
      subjects: {
        Ingress: { resource: INGRESSES, view: replica.ingresses.store },
        IngressClass: { resource: INGRESS_CLASSES, view: replica.classes.store },
      },
      ...options,
      timing: { patience: 0, ...options.timing },
    }),
  );
}

function problem(scene: WritingScene, name: string, fields: Partial<Problem> = {}): Problem {
  return {
    object: { kind: "Ingress", namespace: scene.namespace, name },
    field: "spec.defaultBackend.service.name",
    reason: "ServiceNotFound",
    message: "there is no Service web, so requests get 503",
    remedy: "Create it",
    severity: "error",
    ...fields,
  };
}

async function eventsOf(scene: WritingScene, name?: string, namespace = scene.namespace) {
  const fieldSelector = name === undefined ? undefined : `involvedObject.name=${name}`;
  return await scene.cluster.list<LiveEvent>("v1", "Event", { namespace, fieldSelector });
}

/** Waits until nothing waits to be written. */
async function written(writer: EventWriter): Promise<void> {
  await eventually("end of writing", () => writer.backlog === 0);
}

clusterTest(
  "a problem is an Event on its object, visible in kubectl describe",
  async (cluster) => {
    await using scene = await WritingScene.create(cluster);
    await scene.ingress("web");
    const replica = await scene.replica();
    const writer = writerOf(replica);
    writer.sync([problem(scene, "web")]);
    await written(writer);
    const uid = (await scene.get("web"))!.metadata.uid!;
    // What describe selects by.
    const found = await cluster.list<LiveEvent>("v1", "Event", {
      namespace: scene.namespace,
      fieldSelector:
        `involvedObject.kind=Ingress,involvedObject.name=web,involvedObject.uid=${uid}`,
    });
    assert.equal(found.length, 1);
    const [event] = found;
    assert.match(event.metadata.name, /^web\.[0-9a-f]{16}$/);
    assert.equal(event.type, "Warning");
    assert.equal(event.reason, "ServiceNotFound");
    assert.equal(
      event.message,
      "spec.defaultBackend.service.name: there is no Service web, so requests get 503. Create it.",
    );
    assert.equal(event.count, 1);
    assert.equal(event.firstTimestamp, event.lastTimestamp);
    assert.equal(event.source.component, "pingress-controller");
    assert.equal(event.reportingComponent, "pingress-controller");
    assert.equal(event.reportingInstance, "pingress-controller-0");
    assert.equal(event.involvedObject.apiVersion, "networking.k8s.io/v1");
    assert.match(event.involvedObject.resourceVersion, /^\d+$/);
  },
);

clusterTest(
  "each object and reason has one Event, and a second sync writes none",
  async (cluster) => {
    await using scene = await WritingScene.create(cluster);
    for (const name of ["web", "api"]) await scene.ingress(name);
    const replica = await scene.replica();
    const writer = writerOf(replica);
    const problems = [
      problem(scene, "web"),
      problem(scene, "web", { field: "spec.rules[0]" }),
      problem(scene, "web", { reason: "HostInvalid", severity: "warning" }),
      problem(scene, "api"),
    ];
    writer.sync(problems);
    await written(writer);
    const reasons = async (name: string) =>
      (await eventsOf(scene, name)).map(({ reason }) => reason).sort();
    assert.deepEqual(await reasons("web"), ["HostInvalid", "ServiceNotFound"]);
    assert.deepEqual(await reasons("api"), ["ServiceNotFound"]);
    for (let i = 0; i < 10; i++) writer.sync(problems);
    assert.equal(writer.backlog, 0);
    assert.equal(scene.writes().length, 3);
  },
);

clusterTest(
  "other replicas, and this one after a restart, find the existing Event",
  async (cluster) => {
    await using scene = await WritingScene.create(cluster);
    await scene.ingress("web");
    const first = writerOf(await scene.replica());
    first.sync([problem(scene, "web")]);
    await written(first);
    const [before] = await eventsOf(scene);
    const second = writerOf(await scene.replica());
    second.sync([problem(scene, "web")]);
    await written(second);
    const [after, ...others] = await eventsOf(scene);
    assert.deepEqual(others, []);
    assert.equal(after.metadata.resourceVersion, before.metadata.resourceVersion);
    // One that knows more.
    const third = writerOf(await scene.replica());
    third.sync([problem(scene, "web", { message: "there is no port 80" })]);
    await written(third);
    const [changed] = await eventsOf(scene);
    assert.match(changed.message, /there is no port 80/);
    assert.equal(changed.count, 2);
  },
);

clusterTest(
  "a new message, or a problem that returns, increments the count, and not at once",
  async (cluster) => {
    await using scene = await WritingScene.create(cluster);
    await scene.ingress("web");
    const time = manualTime();
    const replica = await scene.replica();
    const writer = writerOf(replica, time);
    const countIs = (wanted: number) =>
      eventually(`count of ${wanted}`, async () => (await eventsOf(scene))[0]?.count === wanted);
    writer.sync([problem(scene, "web")]);
    await countIs(1);
    await written(writer);
    for (let i = 0; i < 5; i++) writer.sync([problem(scene, "web", { message: `attempt ${i}` })]);
    time.clock.advance(29_999);
    await written(writer);
    assert.equal(scene.writes().length, 1);
    time.clock.advance(1);
    await countIs(2);
    await written(writer);
    assert.match((await eventsOf(scene))[0].message, /attempt 4/);
    writer.sync([]);
    writer.sync([problem(scene, "web", { message: "attempt 4" })]);
    time.clock.advance(30_000);
    await countIs(3);
    await written(writer);
    writer.sync([]);
    time.clock.advance(40 * 60_000);
    writer.sync([]);
    assert.equal(scene.writes().length, 3);
  },
);

clusterTest("the Event of a lasting problem is updated every half hour", async (cluster) => {
  await using scene = await WritingScene.create(cluster);
  await scene.ingress("web");
  const time = manualTime();
  const replica = await scene.replica();
  const writer = writerOf(replica, time);
  writer.sync([problem(scene, "web")]);
  await written(writer);
  const [first] = await eventsOf(scene);
  time.clock.advance(29 * 60_000);
  writer.sync([problem(scene, "web")]);
  assert.equal(writer.backlog, 0);
  time.clock.advance(60_000);
  const event = await eventually("second count", async () => {
    const [event] = await eventsOf(scene);
    return event.count === 2 ? event : null;
  });
  assert.equal(event.firstTimestamp, first.firstTimestamp);
  assert.equal(Date.parse(event.lastTimestamp) - Date.parse(first.lastTimestamp), 30 * 60_000);
  // Gone by its age, or by hand: there must be one again.
  await cluster.delete("v1", "Event", event.metadata.name, scene.namespace);
  time.clock.advance(30 * 60_000);
  const again = await eventually("new Event", async () => (await eventsOf(scene))[0]);
  assert.equal(again.metadata.name, event.metadata.name);
  assert.notEqual(again.metadata.uid, event.metadata.uid);
  assert.equal(again.count, 1);
});

clusterTest("a recreated object gets its own Event", async (cluster) => {
  await using scene = await WritingScene.create(cluster);
  await scene.ingress("web");
  const replica = await scene.replica();
  const writer = writerOf(replica);
  writer.sync([problem(scene, "web")]);
  await written(writer);
  await cluster.delete("networking.k8s.io/v1", "Ingress", "web", scene.namespace);
  await scene.ingress("web");
  await replica.caughtUp(scene, "web");
  writer.sync([problem(scene, "web")]);
  await written(writer);
  const uids = (await eventsOf(scene, "web")).map(({ involvedObject }) => involvedObject.uid);
  assert.equal(new Set(uids).size, 2);
});

clusterTest("a problem of a class is an Event in the namespace default", async (cluster) => {
  await using scene = await WritingScene.create(cluster);
  await cluster.apply({
    apiVersion: "networking.k8s.io/v1",
    kind: "IngressClass",
    metadata: { name: scene.namespace },
    spec: { controller: "pingress.io/ingress-controller" },
  });
  const replica = await scene.replica();
  const object = { kind: "IngressClass", namespace: "", name: scene.namespace };
  const writer = writerOf(replica);
  writer.sync([problem(scene, "", { object, reason: "MultipleDefaultClasses" })]);
  await written(writer);
  const [event] = await eventsOf(scene, scene.namespace, "default");
  assert.equal(event.reason, "MultipleDefaultClasses");
  assert.equal(event.involvedObject.namespace, undefined);
});

clusterTest(
  "a problem without an object, or of a missing or unknown one, gets no Event",
  async (cluster) => {
    await using scene = await WritingScene.create(cluster);
    const writer = writerOf(await scene.replica());
    writer.sync([
      problem(scene, "web", { object: null }),
      problem(scene, "missing"),
      problem(scene, "web", { object: { kind: "Secret", namespace: scene.namespace, name: "x" } }),
      problem(scene, "web", { object: { kind: "toString", namespace: "", name: "x" } }),
    ]);
    assert.equal(writer.backlog, 0);
  },
);

clusterTest(
  "a replica that does not lead writes no Events, and all of them once it leads",
  async (cluster) => {
    await using scene = await WritingScene.create(cluster);
    await scene.ingress("web");
    const replica = await scene.replica();
    replica.fence.leads = false;
    const writer = writerOf(replica);
    writer.sync([problem(scene, "web")]);
    assert.equal(writer.backlog, 1);
    replica.fence.leads = true;
    await written(writer);
    assert.equal((await eventsOf(scene)).length, 1);
  },
);

clusterTest("a problem resolved before its Event is written gets none", async (cluster) => {
  await using scene = await WritingScene.create(cluster);
  await scene.ingress("web");
  const replica = await scene.replica();
  replica.fence.leads = false;
  const writer = writerOf(replica);
  writer.sync([problem(scene, "web")]);
  writer.sync([]);
  replica.fence.leads = true;
  await written(writer);
  assert.deepEqual(scene.writes(), []);
});

clusterTest(
  "a problem gets an Event once it has lasted for a second, and not before",
  async (cluster) => {
    await using scene = await WritingScene.create(cluster);
    for (const name of ["web", "api"]) await scene.ingress(name);
    const time = manualTime();
    const { patience } = EVENT_TIMING;
    const writer = writerOf(await scene.replica(), { ...time, timing: { patience } });
    writer.sync([problem(scene, "web"), problem(scene, "api")]);
    time.clock.advance(patience - 1);
    // The one has been mended, and the other is the same.
    writer.sync([problem(scene, "api")]);
    assert.deepEqual(scene.writes(), []);
    assert.ok(writer.backlog > 0);
    time.clock.advance(1);
    await written(writer);
    assert.deepEqual((await eventsOf(scene)).map(({ involvedObject: { name } }) => name), ["api"]);
    writer.sync([problem(scene, "web"), problem(scene, "api")]);
    time.clock.advance(patience);
    await eventually("the other Event", async () => (await eventsOf(scene)).length === 2);
  },
);

clusterTest("an Event that cannot be written is retried", async (cluster) => {
  await using scene = await WritingScene.create(cluster);
  await scene.ingress("web");
  const writer = writerOf(await scene.replica());
  scene.gateway.inject({ resource: "events" }, failure(500), 1);
  scene.gateway.inject({ resource: "events" }, failure(403, "Forbidden"), 1);
  writer.sync([problem(scene, "web")]);
  await eventually("an Event", async () => (await eventsOf(scene)).length === 1);
  assert.deepEqual(await scene.statuses(), [403, 500, 201]);
});

clusterTest(
  "hundreds of broken Ingresses do not flood the API, and a new one gets its Event soon",
  async (cluster) => {
    await using scene = await WritingScene.create(cluster);
    await scene.ingress("web");
    const replica = await scene.replica();
    const writer = writerOf(replica, { pace: { rate: 20, burst: 5, inFlight: 2 } });
    const problems = Array.from(
      { length: 500 },
      (_, i) => problem(scene, "web", { reason: `Reason${i}` }),
    );
    writer.sync(problems);
    await eventually("some Events", () => scene.writes().length >= 10);
    const before = scene.writes().length;
    writer.sync([...problems, problem(scene, "web", { reason: "Urgent" })]);
    await eventually("the new one", () => {
      return scene.writes().some(({ body, status }) => status === 201 && body.includes('"Urgent"'));
    });
    const place = scene.writes().findIndex(({ body }) => body.includes('"Urgent"'));
    assert.ok(place - before < 10, `${place - before} others were first`);
    assert.ok(writer.backlog > 400, "the others still wait");
  },
);

clusterTest(
  "problems beyond the limit of Events are only in /problems, which is logged once",
  async (cluster) => {
    await using scene = await WritingScene.create(cluster);
    await scene.ingress("web");
    const replica = await scene.replica();
    const writer = writerOf(replica, { timing: { maxRecords: 3 } });
    const problems = Array.from(
      { length: 5 },
      (_, i) => problem(scene, "web", { reason: `Reason${i}` }),
    );
    for (let i = 0; i < 3; i++) writer.sync(problems);
    await written(writer);
    assert.equal((await eventsOf(scene)).length, 3);
    assert.deepEqual(replica.lines.map(({ fields }) => fields), [{ left: 2 }]);
  },
);

Deno.test("an Event that the API server has expired is recreated", async () => {
  const cluster = await startCluster({
    name: "an Event that the API server has forgotten is made again",
    apiServerFlags: ["--event-ttl=3s"],
  });
  if (cluster === null) return;
  await using _ = cluster;
  await using scene = await WritingScene.create(cluster);
  await scene.ingress("web");
  const writer = writerOf(await scene.replica(), { timing: { renewal: 5_000 } });
  writer.sync([problem(scene, "web")]);
  await written(writer);
  const [first] = await eventsOf(scene);
  const again = await eventually("new Event", async () => {
    const [event] = await eventsOf(scene);
    return event !== undefined && event.metadata.uid !== first.metadata.uid ? event : null;
  });
  assert.equal(again.reason, "ServiceNotFound");
});
