/**
 * The whole controller while something between it and the cluster's state is broken: what is published
 * stays, the log says what is wrong, and what has changed meanwhile follows by itself.
 *
 * PINGRESS_FULL=1 makes each fault last a minute.
 */
import assert from "node:assert/strict";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { CI_PATIENCE } from "../../tools/ci/patience.ts";
import type { KubeObject } from "./support/api_client.ts";
import type { TestCluster } from "./support/cluster.ts";
import { clusterTest } from "./support/cluster_case.ts";
import { eventually } from "./support/condition.ts";
import { STEADY_ELECTION } from "./support/elections.ts";
import {
  assertBorne,
  FAULT,
  type FaultReport,
  FaultScene,
  IS_FULL,
  isComplaint,
  leadsAgain,
} from "./support/fault_scene.ts";
import { type Answer, failure, tooManyRequests } from "./support/gateway_answers.ts";

/** Debian's package `faketime`. */
const FAKETIME = "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1";

const HOUR = 3_600_000;

/** In ms: the time limit of a call that keeps the lease, and the most of one that needs it. */
const LEASE_CALL_LIMIT = 1_000 * CI_PATIENCE;

clusterTest("an API server that returns errors is waited for", async (cluster, context) => {
  const leaderChanged = failure(503, "ServiceUnavailable", "etcdserver: leader changed");
  await together(context, {
    "429 with Retry-After": () => bearsAnswer(cluster, tooManyRequests(2)),
    "500 to everything": () => bearsAnswer(cluster, failure(500)),
    "503 to everything": () => bearsAnswer(cluster, leaderChanged),
    "writes alone are refused": () => bearsRefusedWrites(cluster),
  });
});

clusterTest("network failures do no harm", async (cluster, context) => {
  await together(context, {
    "resets at random": () => bearsResets(cluster),
    "silence": () => bearsSilence(cluster),
    // A watch is given up after 58 s of silence.
    ...(IS_FULL ? { "connections that are forgotten": () => bearsForgetting(cluster) } : {}),
  });
});

clusterTest("credentials and permissions change at run time", async (cluster, context) => {
  await together(context, {
    "a token is renewed in time": () => bearsRenewal(cluster),
    "a token is good no more": () => bearsRevocation(cluster),
    "rights are taken away": () => bearsLostRights(cluster),
    "the clock jumps": () => bearsClock(cluster),
  });
});

clusterTest("a stopped API server is waited for", async (cluster, context) => {
  await using faults = await FaultScene.start(cluster, { direct: true });
  const outages: Readonly<Record<string, () => Promise<void>>> = {
    "stopped and started": async () => {
      await cluster.stopApiServer();
      await sleep(IS_FULL ? FAULT : 2_000);
      await cluster.startApiServer();
    },
    "killed and started": async () => {
      await cluster.stopApiServer("SIGKILL");
      await sleep(IS_FULL ? FAULT : 2_000);
      await cluster.startApiServer();
    },
    "frozen and thawed": async () => {
      cluster.pause();
      await sleep(FAULT);
      cluster.resume();
      await cluster.waitUntilReady();
    },
    "without its etcd": async () => {
      await cluster.stopEtcd();
      await sleep(IS_FULL ? FAULT : 8_000);
      await cluster.startEtcd();
      await cluster.waitUntilReady();
    },
  };
  for (const [name, outage] of Object.entries(outages)) {
    await context.step(name, async () => {
      const { scene } = faults;
      const before = await scene.indexVersion();
      const watch = faults.observe();
      await outage();
      assert.equal(await scene.indexVersion(), before);
      const report = await watch.end();
      const host = name.replaceAll(" ", "-");
      await scene.ingress(host);
      tell(name, report, await faults.published(host));
      assertBorne(report);
      await leadsAgain(scene);
    });
  }
  await context.step("a controller stops while the server is silent", async () => {
    const { scene } = faults;
    const before = scene.controller.lines.length;
    cluster.pause();
    try {
      // Whatever it waits for, it waits for it now.
      await scene.controller.line("Cannot access the lease, will retry", before);
      const started = performance.now();
      assert.equal(await scene.controller.stop(), 0);
      console.log(`ended after ${Math.round(performance.now() - started)} ms`);
    } finally {
      // Nothing could be cleaned up, and the test would never end.
      cluster.resume();
    }
    await cluster.waitUntilReady();
  });
  await context.step("a controller may start before the server", async () => {
    const { scene } = faults;
    const before = await scene.indexVersion();
    await cluster.stopApiServer("SIGKILL");
    const controller = await scene.spawnController();
    await controller.line("Listening");
    // Refused connections are complained about as soon as it listens.
    const watch = faults.observe(0);
    await sleep(FAULT);
    assert.equal((await controller.admin("/readyz")).status, 503);
    const report = await watch.end();
    await cluster.startApiServer();
    assert.equal(await scene.indexVersion(), before);
    await scene.ingress("after-start");
    tell("started before the server", report, await faults.published("after-start"));
    assertBorne(report);
    await controller.ready();
  });
});

async function bearsAnswer(cluster: TestCluster, answer: Answer): Promise<void> {
  await using faults = await FaultScene.start(cluster);
  const { scene, gateway } = faults;
  const before = await scene.indexVersion();
  const watch = faults.observe();
  const bad = gateway!.inject({}, answer);
  gateway!.endStreams();
  await scene.ingress("meanwhile");
  await sleep(FAULT);
  assert.equal(await scene.indexVersion(), before);
  const report = await watch.end();
  bad.remove();
  tell("bad answers", report, await faults.published("meanwhile"));
  assertBorne(report);
  await leadsAgain(scene);
}

async function bearsRefusedWrites(cluster: TestCluster): Promise<void> {
  await using faults = await FaultScene.start(cluster, { args: [] });
  const { scene, gateway } = faults;
  const namespace = scene.system;
  const watch = faults.observe();
  const bad = ["configmaps", "secrets", "ingresses", "events", "daemonsets"].map((resource) =>
    gateway!.inject({ verb: ["create", "update", "patch", "delete"], resource }, failure(500))
  );
  await cluster.apply({
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "pingress-config-v2" },
    data: { "proxy-v2.json": "{}" },
  } as Partial<KubeObject>, { namespace, fieldManager: "somebody" });
  await eventually("refused repair", () => bad[0].hits > 0);
  await cluster.delete("v1", "ConfigMap", "pingress-config-v2", namespace);
  await cluster.delete("apps/v1", "DaemonSet", "pingress-proxy-server", namespace);
  await scene.ingress("meanwhile");
  await sleep(FAULT);
  const report = await watch.end();
  for (const one of bad) one.remove();
  tell("refused writes", report, await faults.published("meanwhile"));
  assertBorne(report);
  await faults.published("shop");
  await eventually(
    "DaemonSet",
    () => cluster.get("apps/v1", "DaemonSet", "pingress-proxy-server", namespace),
  );
  assert.equal(scene.controller.lines.filter(({ message }) => message === "Leading").length, 1);
}

async function bearsResets(cluster: TestCluster): Promise<void> {
  await using faults = await FaultScene.start(cluster, { args: [] });
  const { scene, network } = faults;
  const watch = faults.observe();
  const end = performance.now() + FAULT;
  const names: string[] = [];
  while (performance.now() < end) {
    await sleep(Math.random() * 600);
    network.reset();
    if (Math.random() < 0.3) {
      names.push(`web-${names.length}`);
      await scene.ingress(names.at(-1)!);
    }
  }
  names.push("last");
  await scene.ingress("last");
  const report = await watch.end();
  tell("resets", report, await faults.published("last"));
  await scene.eventuallyPublished(
    "all that was made meanwhile",
    ({ routes }) => routes.length === names.length + 1,
  );
  // Each reset breaks what has just begun to work, so there is more than one thing to say.
  assertBorne({ ...report, repeated: [] }, { isSilent: true });
  assert.ok(report.complaints.length < 20 * (1 + FAULT / 10_000), String(report.complaints.length));
  await leadsAgain(scene);
}

async function bearsSilence(cluster: TestCluster): Promise<void> {
  await using faults = await FaultScene.start(cluster);
  const { scene, network } = faults;
  const before = await scene.indexVersion();
  const watch = faults.observe();
  network.stall(true);
  await scene.ingress("meanwhile");
  await sleep(FAULT);
  assert.equal(await scene.indexVersion(), before);
  const report = await watch.end();
  network.stall(false);
  tell("silence", report, await faults.published("meanwhile"));
  assertBorne(report);
  await leadsAgain(scene);
}

/** As if a firewall had been restarted on the way. */
async function bearsForgetting(cluster: TestCluster): Promise<void> {
  await using faults = await FaultScene.start(cluster, { args: [] });
  const { scene, network } = faults;
  const watch = faults.observe();
  network.forget();
  const from = performance.now();
  await scene.ingress("meanwhile");
  const milliseconds = await faults.published("meanwhile", from);
  const report = await watch.end();
  tell("forgotten connections", report, milliseconds);
  assertBorne(report, { isSilent: true });
}

async function bearsRenewal(cluster: TestCluster): Promise<void> {
  const { account, tokenFile, token } = await newAccount(cluster);
  await using faults = await FaultScene.start(cluster, { token: { tokenFile } });
  const { scene, gateway } = faults;
  const next = await cluster.serviceAccountToken(account, "controller");
  await Deno.writeTextFile(tokenFile, next);
  const from = gateway!.requests.length;
  // As a token that has run out: the file is read at once, without waiting for its minute.
  gateway!.inject({ token }, failure(401, "Unauthorized", "Unauthorized"));
  gateway!.endStreams({ verb: "watch" });
  await scene.ingress("meanwhile");
  const milliseconds = await faults.published("meanwhile");
  console.log(`a renewed token: published after ${milliseconds} ms`);
  assert.ok(gateway!.recorded({ token: next }, from).length > 0);
  const complaints = scene.controller.lines.filter(isComplaint)
    // The lease limits calls to 1 s and less, which a busy API server exceeds with any token.
    .filter(({ reason }) => {
      const limit = /no answer within ([\d.]+) ms/.exec(String(reason))?.[1];
      return limit === undefined || Number(limit) > LEASE_CALL_LIMIT;
    });
  assert.deepEqual(complaints, []);
}

async function bearsRevocation(cluster: TestCluster): Promise<void> {
  const { account, tokenFile } = await newAccount(cluster);
  await using faults = await FaultScene.start(cluster, { token: { tokenFile } });
  const { scene, gateway } = faults;
  const before = await scene.indexVersion();
  const watch = faults.observe();
  const from = gateway!.requests.length;
  // The token names the UID of its account.
  await cluster.delete("v1", "ServiceAccount", "controller", account);
  const next = await cluster.serviceAccountToken(account, "controller");
  // The API server remembers good tokens for ten seconds.
  await eventually(
    "refused call for the lease",
    () => gateway!.recorded({ resource: "leases" }, from).some(({ status }) => status === 401),
  );
  gateway!.endStreams({ verb: "watch" });
  await scene.ingress("meanwhile");
  await sleep(FAULT);
  assert.equal(await scene.indexVersion(), before);
  const report = await watch.end();
  await Deno.writeTextFile(tokenFile, next);
  tell("a revoked token", report, await faults.published("meanwhile"));
  assertBorne(report);
  await leadsAgain(scene);
}

async function bearsLostRights(cluster: TestCluster): Promise<void> {
  const { token, binding } = await newAccount(cluster);
  await using faults = await FaultScene.start(cluster, { token });
  const { scene, gateway } = faults;
  const before = await scene.indexVersion();
  const watch = faults.observe();
  const from = gateway!.requests.length;
  await cluster.delete(RBAC, "ClusterRoleBinding", binding.metadata!.name);
  await eventually(
    "refused call for the lease",
    () => gateway!.recorded({ resource: "leases" }, from).some(({ status }) => status === 403),
  );
  gateway!.endStreams({ verb: "watch" });
  await scene.ingress("meanwhile");
  await sleep(FAULT);
  assert.equal(await scene.indexVersion(), before);
  const report = await watch.end();
  await cluster.apply(binding);
  tell("rights that are lost", report, await faults.published("meanwhile"));
  assertBorne(report);
  await leadsAgain(scene);
}

async function bearsClock(cluster: TestCluster): Promise<void> {
  if (!await Deno.lstat(FAKETIME).then(() => true, () => false)) {
    console.log("skipped: the clock jumps: Debian's package faketime is not installed");
    return;
  }
  const folder = await Deno.makeTempDir();
  const file = join(folder, "offset");
  await Deno.writeTextFile(file, "+0");
  try {
    await using faults = await FaultScene.start(cluster, {
      args: STEADY_ELECTION,
      env: {
        LD_PRELOAD: FAKETIME,
        FAKETIME_TIMESTAMP_FILE: file,
        FAKETIME_NO_CACHE: "1",
        // The monotonic clock is what no clock on the wall can change.
        FAKETIME_DONT_FAKE_MONOTONIC: "1",
      },
    });
    const { scene } = faults;
    for (const [offset, hours] of [["+48h", 48], ["-30m", -0.5], ["+0", 0]] as const) {
      const before = await scene.indexVersion();
      const watch = faults.observe();
      await Deno.writeTextFile(`${file}.new`, offset);
      await Deno.rename(`${file}.new`, file);
      await sleep(FAULT / 2);
      assert.equal(await scene.indexVersion(), before);
      const name = `at${hours * 60}`.replace("-", "minus");
      await scene.ingress(name);
      const milliseconds = await faults.published(name);
      const report = await watch.end();
      tell(`a clock that is ${hours} h off`, report, milliseconds);
      assertBorne(report, { isSilent: true });
      assert.deepEqual(report.complaints, []);
      await scene.controller.line(({ time }) =>
        Math.abs((Date.parse(String(time)) - Date.now()) / HOUR - hours) < 0.1
      );
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

const RBAC = "rbac.authorization.k8s.io/v1";

/** A service account that may do everything, and a token of it in a file. */
async function newAccount(cluster: TestCluster) {
  const account = await cluster.newNamespace("account");
  const token = await cluster.serviceAccountToken(account, "controller");
  const binding = {
    apiVersion: RBAC,
    kind: "ClusterRoleBinding",
    metadata: { name: account },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "cluster-admin" },
    subjects: [{ kind: "ServiceAccount", namespace: account, name: "controller" }],
  } as Partial<KubeObject>;
  await cluster.apply(binding);
  return { account, token, binding, tokenFile: await cluster.writeFile(token) };
}

/** At a time, since most of their time is waiting. */
async function together(
  context: Deno.TestContext,
  cases: Readonly<Record<string, () => Promise<void>>>,
): Promise<void> {
  const unguarded = { sanitizeOps: false, sanitizeResources: false, sanitizeExit: false };
  const ended = await Promise.all(
    Object.entries(cases).map(([name, fn]) => context.step({ name, fn, ...unguarded })),
  );
  assert.ok(ended.every((isGood) => isGood), "see above");
}

function tell(what: string, { total, milliseconds, complaints }: FaultReport, after: number) {
  const perMinute = Math.round(total / milliseconds * 60_000);
  console.log(
    `${what}: ${total} calls in ${Math.round(milliseconds)} ms (${perMinute} a minute), ` +
      `${complaints.length} complaints; published ${after} ms later`,
  );
}
