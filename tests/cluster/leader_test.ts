import assert from "node:assert/strict";
import { KubeClient } from "../../controller/kube/client.ts";
import { loadCredentials } from "../../controller/kube/credentials.ts";
import type { LeaseSpec } from "../../controller/kube/lease.ts";
import { LeaderElector, type LeaderElectorOptions } from "../../controller/kube/leader.ts";
import { Term } from "../../controller/kube/term.ts";
import { CONFIG_MAPS } from "../../controller/kube/types.ts";
import { type Clock, ManualClock, systemClock } from "../../shared/clock.ts";
import { createLogger, type LogLevel } from "../../shared/log.ts";
import { startGateway } from "./support/api_gateway.ts";
import type { KubeObject } from "./support/api_client.ts";
import type { TestCluster } from "./support/cluster.ts";
import { clusterTest } from "./support/cluster_case.ts";
import { eventually } from "./support/condition.ts";
import { startFaultProxy } from "./support/fault_proxy.ts";
import { doneButFailed, failure, heldUntil, tooManyRequests } from "./support/gateway_answers.ts";

const LEASES = "coordination.k8s.io/v1";
const NAME = "pingress-controller";
const TIMINGS = { leaseDuration: 3_000, renewDeadline: 2_000, retryPeriod: 400 };

type StoredLease = KubeObject & { readonly spec?: LeaseSpec };

type LogLine = Readonly<Record<string, unknown>> & { level: LogLevel; message: string };

interface Replica extends AsyncDisposable {
  readonly name: string;
  readonly elector: LeaderElector;
  readonly lines: LogLine[];
  /** What `onChange` was told. */
  readonly changes: boolean[];
}

interface ReplicaOptions extends Partial<LeaderElectorOptions> {
  /** Default: the administrator's. */
  readonly kubeconfig?: string;
}

function clientFor(kubeconfig: string): KubeClient {
  const reading = loadCredentials({ kind: "kubeconfig", file: kubeconfig, context: null });
  if (!reading.ok) throw new Error(reading.message);
  return new KubeClient(reading.credentials);
}

/** One that tries to lead, in this process. */
function startReplica(
  cluster: TestCluster,
  namespace: string,
  name: string,
  { kubeconfig = cluster.kubeconfig, ...options }: ReplicaOptions = {},
): Replica {
  const client = clientFor(kubeconfig);
  const lines: LogLine[] = [];
  const changes: boolean[] = [];
  const elector = new LeaderElector({
    client,
    namespace,
    identity: name,
    log: createLogger({
      level: "debug",
      format: "json",
      write: (line) => lines.push(JSON.parse(line)),
    }),
    onChange: (isLeader) => changes.push(isLeader),
    ...TIMINGS,
    ...options,
  });
  elector.start();
  const end = async () => {
    await elector.stop();
    client.close();
  };
  return { name, elector, lines, changes, [Symbol.asyncDispose]: end };
}

async function leaseIn(cluster: TestCluster, namespace: string): Promise<StoredLease | null> {
  return await cluster.get<StoredLease>(LEASES, "Lease", NAME, namespace);
}

/** Replaces the whole record, as `kubectl edit` does. */
async function edit(cluster: TestCluster, namespace: string, spec: LeaseSpec): Promise<void> {
  const path = await cluster.pathOf(LEASES, "Lease", NAME, namespace);
  const patch = [{ op: "replace", path: "/spec", value: spec }];
  const answer = await cluster.request("PATCH", path, patch, "application/json-patch+json");
  assert.equal(answer.status, 200, answer.text);
}

/** Waits until its holder has renewed the lease so many times. */
async function renewals(cluster: TestCluster, namespace: string, count: number): Promise<void> {
  const seen = new Set<string>();
  await eventually(`${count} renewals`, async () => {
    seen.add((await leaseIn(cluster, namespace))?.spec?.renewTime ?? "");
    return seen.size > count;
  });
}

function messages(replica: Replica): string[] {
  return replica.lines.map(({ message }) => message);
}

clusterTest("one of three replicas leads, and another when it is stopped", async (cluster) => {
  const namespace = await cluster.newNamespace();
  await using a = startReplica(cluster, namespace, "a", { labels: { one: "two" } });
  assert.equal(await a.elector.acquired(), true);
  await using b = startReplica(cluster, namespace, "b");
  await using c = startReplica(cluster, namespace, "c");
  await renewals(cluster, namespace, 3);
  assert.deepEqual([a, b, c].map(({ elector }) => elector.isLeader), [true, false, false]);
  assert.deepEqual([a, b, c].map(({ elector }) => elector.mayWrite()), [true, false, false]);
  await eventually("word of the leader", () => messages(b).includes("Another replica leads"));
  assert.equal(b.lines.find(({ message }) => message === "Another replica leads")?.identity, "a");
  assert.equal(b.elector.statistics().holder, "a");
  assert.ok(a.elector.statistics().renewedAgo! < TIMINGS.renewDeadline);

  const { spec, metadata } = (await leaseIn(cluster, namespace))!;
  assert.deepEqual(metadata.labels, { one: "two" });
  assert.deepEqual({ ...spec, acquireTime: null, renewTime: null }, {
    holderIdentity: "a",
    leaseDurationSeconds: 3,
    leaseTransitions: 0,
    acquireTime: null,
    renewTime: null,
  });
  assert.ok(spec!.acquireTime! < spec!.renewTime!, "renewals keep the time of acquisition");

  const started = performance.now();
  await a.elector.stop();
  const released = performance.now();
  await Promise.race([b, c].map(({ elector }) => elector.acquired()));
  const taken = performance.now();
  console.log(
    `released in ${Math.round(released - started)} ms, taken over after another ` +
      `${Math.round(taken - released)} ms with a retry period of ${TIMINGS.retryPeriod} ms`,
  );
  assert.deepEqual([a.elector.isLeader, a.elector.mayWrite()], [false, false]);
  assert.deepEqual(a.changes, [true, false]);
  assert.equal([b, c].filter(({ elector }) => elector.isLeader).length, 1);
  // Long before the time after which a lease that was not released may be taken.
  assert.ok(taken - started < TIMINGS.leaseDuration, "the lease was released");
  const after = (await leaseIn(cluster, namespace))!.spec!;
  assert.ok(["b", "c"].includes(after.holderIdentity!));
  assert.equal(after.leaseTransitions, 1);
});

clusterTest("other replicas read what the leader annotates its lease with", async (cluster) => {
  const namespace = await cluster.newNamespace();
  const address = (value: string) => ({ annotations: () => ({ "pingress.io/address": value }) });
  await using a = startReplica(cluster, namespace, "a", address("one"));
  assert.equal(await a.elector.acquired(), true);
  await using b = startReplica(cluster, namespace, "b", address("two"));
  const read = ({ elector }: Replica) => elector.annotationOfOther("pingress.io/address");
  await eventually("the address", () => read(b) === "one");
  assert.equal(read(a), null);
  // Those of others stay.
  const path = await cluster.pathOf(LEASES, "Lease", NAME, namespace);
  const annotations = { "example.com/note": "x", "pingress.io/address": "edited" };
  await cluster.request(
    "PATCH",
    path,
    { metadata: { annotations } },
    "application/merge-patch+json",
  );
  await eventually("the address again", async () => {
    const { metadata } = (await leaseIn(cluster, namespace))!;
    return metadata.annotations?.["pingress.io/address"] === "one" &&
      metadata.annotations["example.com/note"] === "x";
  });
  await a.elector.stop();
  assert.equal(await b.elector.acquired(), true);
  await eventually("the new address", async () => {
    const { metadata } = (await leaseIn(cluster, namespace))!;
    return metadata.annotations?.["pingress.io/address"] === "two";
  });
  assert.equal(read(b), null);
});

clusterTest("a lease is released when writes have ended, and not before", async (cluster) => {
  const namespace = await cluster.newNamespace();
  await using a = startReplica(cluster, namespace, "a");
  await a.elector.acquired();
  await using b = startReplica(cluster, namespace, "b");
  const running = a.elector.writeSignal();
  const writes = Promise.withResolvers<void>();
  const stopped = a.elector.stop(writes.promise);
  assert.equal(a.elector.mayWrite(), false, "no write may start");
  assert.equal(a.elector.writeDeadline(), 0);
  assert.equal(a.elector.writeSignal().aborted, true);
  assert.equal(running.aborted, false, "those that run may end");
  await eventually("look of the other", () => b.elector.statistics().holder === "a");
  assert.equal((await leaseIn(cluster, namespace))?.spec?.holderIdentity, "a");
  writes.resolve();
  await stopped;
  assert.ok(messages(a).includes("Released the lease"));
  await b.elector.acquired();
});

clusterTest("a lease is left to expire if writes do not end in time", async (cluster) => {
  const namespace = await cluster.newNamespace();
  const endings = {
    a: () => new Promise(() => {}),
    b: () => Promise.reject(new Error("a write has failed")),
  };
  for (const [name, writes] of Object.entries(endings)) {
    await using replica = startReplica(cluster, namespace, name);
    await replica.elector.acquired();
    const running = replica.elector.writeSignal();
    await replica.elector.stop(writes());
    assert.equal(running.aborted, true);
    assert.equal((await leaseIn(cluster, namespace))?.spec?.holderIdentity, name);
    assert.ok(!messages(replica).includes("Released the lease"));
    assert.deepEqual(replica.changes, [true, false]);
  }
});

clusterTest("changed system clocks have no effect", async (cluster) => {
  const namespace = await cluster.newNamespace();
  let offset = 0;
  const clock: Clock = {
    now: () => Date.now() + offset,
    monotonic: () => systemClock.monotonic(),
  };
  await using a = startReplica(cluster, namespace, "a", { clock });
  await a.elector.acquired();
  await using b = startReplica(cluster, namespace, "b", { clock });
  for (const jump of [86_400_000, -86_400_000, 3_600_000]) {
    offset = jump;
    await renewals(cluster, namespace, 2);
  }
  assert.deepEqual([a.changes, b.changes], [[true], []]);
});

clusterTest(
  "a suspended replica may not write before it has renewed the lease",
  async (cluster) => {
    const namespace = await cluster.newNamespace();
    // Time of its own, which stands still: the renewals go on, and time is over when we say so.
    const clock = new ManualClock(Date.now());
    await using a = startReplica(cluster, namespace, "a", { clock });
    await a.elector.acquired();
    const { elector } = a;
    const running = elector.writeSignal();
    assert.equal(elector.writeDeadline(), TIMINGS.renewDeadline);
    clock.advance(TIMINGS.renewDeadline - 1);
    assert.equal(elector.mayWrite(), true);
    clock.advance(1);
    assert.equal(elector.mayWrite(), false);
    assert.equal(elector.isLeader, false);
    assert.equal(elector.writeDeadline(), 0);
    assert.equal(running.aborted, true);
    await eventually("new term", () => elector.mayWrite());
    assert.equal(running.aborted, true, "what began before stays aborted");
    assert.equal(elector.writeSignal().aborted, false);
    assert.deepEqual(a.changes, [true, false, true]);
    assert.equal((await leaseIn(cluster, namespace))?.spec?.leaseTransitions, 0);
  },
);

clusterTest("a write whose deadline passes during the connect is not sent", async (cluster) => {
  const namespace = await cluster.newNamespace();
  await using proxy = await startFaultProxy(cluster.port);
  const kubeconfig = cluster.kubeconfigFor(cluster.adminToken, proxy.server);
  const client = clientFor(await cluster.writeFile(kubeconfig));
  // The clock alone says that time is over, as in a process that goes on after a pause.
  const clock = new ManualClock();
  const term = new Term(clock, TIMINGS.renewDeadline, () => {});
  proxy.stall(true);
  const object = { metadata: { name: "late", namespace } };
  const writing = client.create(CONFIG_MAPS, object, { signal: term.signal });
  await eventually("connection", () => proxy.accepted > 0);
  clock.advance(TIMINGS.renewDeadline);
  proxy.stall(false);
  const result = await writing;
  assert.equal(result.ok, false);
  assert.equal(await cluster.get("v1", "ConfigMap", "late", namespace), null);
  term.end();
  client.close();
});

clusterTest("an aborted write is not sent again", async (cluster) => {
  const namespace = await cluster.newNamespace();
  await using gateway = await startGateway(cluster);
  const client = clientFor(await gateway.kubeconfigFor(cluster.adminToken));
  const look = () => client.get(CONFIG_MAPS, namespace, "late");
  // A connection that was used before, which Deno takes for stale when a request on it breaks off.
  await look();
  const answered = Promise.withResolvers<void>();
  gateway.inject({ verb: "create" }, heldUntil(answered.promise));
  const stop = new AbortController();
  const calls = [{ deadline: 500 }, { signal: stop.signal }];
  for (const [index, options] of calls.entries()) {
    const object = { metadata: { name: `late-${index}`, namespace } };
    const writing = client.create(CONFIG_MAPS, object, options);
    await eventually("write", () => gateway.recorded({ verb: "create" }).length > index);
    if (index === 1) stop.abort();
    assert.equal((await writing).ok, false);
    for (let time = 0; time < 3; time++) await look();
    assert.equal(gateway.recorded({ verb: "create" }).length, index + 1);
  }
  answered.resolve();
  client.close();
});

clusterTest(
  "a deleted lease is recreated by its holder, and taken by nobody else",
  async (cluster) => {
    const namespace = await cluster.newNamespace();
    await using a = startReplica(cluster, namespace, "a");
    await a.elector.acquired();
    await using b = startReplica(cluster, namespace, "b");
    await eventually("look of the other", () => b.elector.statistics().holder === "a");
    for (let time = 0; time < 3; time++) {
      const { metadata } = (await leaseIn(cluster, namespace))!;
      assert.equal(await cluster.delete(LEASES, "Lease", NAME, namespace), true);
      await eventually("new lease", async () => {
        const lease = await leaseIn(cluster, namespace);
        return lease !== null && lease.metadata.uid !== metadata.uid;
      });
      assert.equal((await leaseIn(cluster, namespace))?.spec?.holderIdentity, "a");
    }
    assert.deepEqual([a.changes, b.changes], [[true], []]);
  },
);

clusterTest(
  "a replica that first finds no lease waits if another may lead, and then leads",
  async (cluster) => {
    const namespace = await cluster.newNamespace();
    await using gateway = await startGateway(cluster);
    const kubeconfig = await gateway.kubeconfigFor(cluster.adminToken);
    await using a = startReplica(cluster, namespace, "a", { kubeconfig });
    await a.elector.acquired();
    // Its renewals stay away, so that it does not know that the lease has gone.
    const released = Promise.withResolvers<void>();
    gateway.inject({ resource: "leases", verb: "update" }, heldUntil(released.promise));
    assert.equal(await cluster.delete(LEASES, "Lease", NAME, namespace), true);
    const order: string[] = [];
    a.elector.writeSignal().addEventListener("abort", () => order.push("a stopped"));
    await using b = startReplica(cluster, namespace, "b", { isNew: () => Promise.resolve(false) });
    await b.elector.acquired();
    order.push("b leads");
    released.resolve();
    assert.deepEqual(order, ["a stopped", "b leads"]);
    assert.equal(
      messages(b)[0],
      "The lease is missing, waiting in case its last holder still leads",
    );
  },
);

clusterTest("a holder stops when another holder is written into its lease", async (cluster) => {
  const namespace = await cluster.newNamespace();
  for (const holderIdentity of ["somebody", ""]) {
    await using a = startReplica(cluster, namespace, `a${holderIdentity}`);
    await a.elector.acquired();
    const { spec } = (await leaseIn(cluster, namespace))!;
    await edit(cluster, namespace, { ...spec, holderIdentity });
    await eventually("end of the term", () => a.changes.length === 2);
    const { reason } = a.lines.find(({ message }) => message === "Not leading any more")!;
    assert.match(String(reason), holderIdentity === "" ? /names no holder/ : /another holds/);
    // Nobody renews it: it is free when its time is over.
    await a.elector.acquired();
    assert.equal(a.elector.mayWrite(), true);
  }
});

clusterTest("an unreadable lease is free after a whole lease duration", async (cluster) => {
  const namespace = await cluster.newNamespace();
  await cluster.create({
    apiVersion: LEASES,
    kind: "Lease",
    metadata: { name: NAME, namespace },
  }, namespace);
  await using gateway = await startGateway(cluster);
  const clock = new ManualClock(Date.now());
  await using a = startReplica(cluster, namespace, "a", {
    clock,
    kubeconfig: await gateway.kubeconfigFor(cluster.adminToken),
  });
  const reads = () => gateway.recorded({ resource: "leases", verb: "get" }).length;
  await eventually("first look", () => a.elector.statistics() && reads() >= 2);
  clock.advance(TIMINGS.leaseDuration - 1);
  const before = reads();
  await eventually("another look", () => reads() >= before + 2);
  assert.equal(a.elector.isLeader, false);
  assert.equal(gateway.recorded({ verb: ["create", "update"] }).length, 0);
  clock.advance(1);
  await a.elector.acquired();
});

clusterTest(
  "three permissions are needed, and a missing one is named",
  async (cluster) => {
    const namespace = await cluster.newNamespace();
    const kubeconfig = await cluster.serviceAccountKubeconfig(namespace, "controller");
    const grant = async (verb: string) => {
      const names = verb === "create" ? {} : { resourceNames: [NAME] };
      const rule = { apiGroups: ["coordination.k8s.io"], resources: ["leases"], verbs: [verb] };
      const rbac = "rbac.authorization.k8s.io";
      const metadata = { name: verb, namespace };
      await cluster.apply([
        { apiVersion: `${rbac}/v1`, kind: "Role", metadata, rules: [{ ...rule, ...names }] },
        {
          apiVersion: `${rbac}/v1`,
          kind: "RoleBinding",
          metadata,
          roleRef: { apiGroup: rbac, kind: "Role", name: verb },
          subjects: [{ kind: "ServiceAccount", name: "controller", namespace }],
        },
      ]);
    };
    await using a = startReplica(cluster, namespace, "a", { kubeconfig });
    const missing = () =>
      a.lines.flatMap((line) => line.missing === undefined ? [] : [line.missing]);
    for (const verb of ["get", "create", "update"]) {
      const names = verb === "create" ? "" : `, resourceNames [${NAME}]`;
      const rule = `apiGroups [coordination.k8s.io], resources [leases]${names}, verbs [${verb}] ` +
        `in namespace ${namespace}`;
      await eventually(`complaint about ${verb}`, () => missing().includes(rule));
      await grant(verb);
    }
    await eventually("second renewal", async () => {
      const spec = (await leaseIn(cluster, namespace))?.spec;
      return spec !== undefined && spec.renewTime !== spec.acquireTime && a.elector.mayWrite();
    });
    assert.equal(new Set(missing()).size, missing().length, "each is named once");
    assert.ok(messages(a).includes("The lease is accessible again"));
  },
);

clusterTest("a leader survives invalid responses", async (cluster) => {
  const namespace = await cluster.newNamespace();
  await using gateway = await startGateway(cluster);
  const kubeconfig = await gateway.kubeconfigFor(cluster.adminToken);
  await using a = startReplica(cluster, namespace, "a", { kubeconfig });
  await a.elector.acquired();
  const answers = [failure(500), tooManyRequests(1), doneButFailed(500), failure(409, "Conflict")];
  for (const answer of answers) {
    const injection = gateway.inject({ resource: "leases", verb: "update" }, answer, 1);
    await eventually("injected answer", () => injection.hits === 1);
    await renewals(cluster, namespace, 2);
    assert.equal(a.elector.mayWrite(), true);
  }
  assert.deepEqual(a.changes, [true]);
});

clusterTest("a server that rejects calls is not called in a loop", async (cluster) => {
  const namespace = await cluster.newNamespace();
  await using gateway = await startGateway(cluster);
  gateway.inject({ resource: "leases" }, failure(500));
  const kubeconfig = await gateway.kubeconfigFor(cluster.adminToken);
  await using a = startReplica(cluster, namespace, "a", { kubeconfig });
  await eventually("five requests", () => gateway.requests.length >= 5);
  const [first, , , , fifth] = gateway.requests;
  // A timer may fire late, never early.
  assert.ok(fifth.time - first.time >= 4 * TIMINGS.retryPeriod * 0.75);
  assert.equal(a.lines.length, 1, "the failure is told once");
});

clusterTest(
  "a leader that loses its connection stops, and another leads after it",
  async (cluster) => {
    const namespace = await cluster.newNamespace();
    await using proxy = await startFaultProxy(cluster.port);
    const kubeconfig = await cluster.writeFile(
      cluster.kubeconfigFor(cluster.adminToken, proxy.server),
    );
    await using a = startReplica(cluster, namespace, "a", { kubeconfig });
    await a.elector.acquired();
    const order: string[] = [];
    const lost = new Promise<void>((resolve) =>
      a.elector.writeSignal().addEventListener("abort", () => resolve(void order.push("a stopped")))
    );
    await using b = startReplica(cluster, namespace, "b");
    await eventually("look of the other", () => b.elector.statistics().holder === "a");
    proxy.stall(true);
    const cut = performance.now();
    await Promise.all([lost, b.elector.acquired().then(() => order.push("b leads"))]);
    console.log(
      `cut off: another leads after ${Math.round(performance.now() - cut)} ms ` +
        `with a lease of ${TIMINGS.leaseDuration} ms`,
    );
    assert.deepEqual(order, ["a stopped", "b leads"]);
    assert.equal(a.elector.mayWrite(), false);
    const { reason } = a.lines.find(({ message }) => message === "Not leading any more")!;
    assert.match(String(reason), /not renewed within 2000 ms/);
    proxy.stall(false);
    await eventually("word of the other", () => messages(a).includes("Another replica leads"));
    assert.deepEqual([a.changes, b.changes], [[true, false], [true]]);
  },
);
