/** The stream with a real API server: real tokens, a real authority, controllers as processes. */
import assert from "node:assert/strict";
import type { KubeObject } from "./support/api_client.ts";
import { PROXY_SELECTOR } from "../../controller/outputs/workload/names.ts";
import { startCluster } from "./support/cluster.ts";
import { clusterTest } from "./support/cluster_case.ts";
import { eventually } from "./support/condition.ts";
import { ControllerScene } from "./support/controller_scene.ts";
import { FAST_ELECTION } from "./support/elections.ts";
import {
  connectProxy,
  proxyToken,
  shownProxies,
  streamPort,
  streamTrust,
} from "./support/stream_scene.ts";
import { heldUntil } from "./support/gateway_answers.ts";
import { Replicas } from "./support/replicas.ts";
import { compareVersions } from "../../shared/snapshot/version_order.ts";
import type { SnapshotVersion } from "../../shared/snapshot/types.ts";
import { HELLO, type Line } from "../support/stream_client.ts";

interface Carried extends Line {
  readonly hosts: readonly { readonly host: string }[];
  readonly upstreams: readonly { readonly id: string; readonly addresses: unknown }[];
  readonly removed: { readonly hosts: readonly string[] };
}

function hostsOf(line: Line): string[] {
  return (line as Carried).hosts.map(({ host }) => host);
}

clusterTest(
  "a proxy gets a full snapshot, then each change within moments",
  async (cluster) => {
    await using scene = await ControllerScene.prepare(cluster);
    await scene.service("web");
    await scene.ingress("first");
    await scene.startController();
    await using proxy = await connectProxy(scene);
    const whole = await proxy.line("snapshot");
    assert.deepEqual(hostsOf(whole), ["first.example.com"]);
    await scene.ingress("second");
    const added = await proxy.line("delta");
    assert.deepEqual([added.base, hostsOf(added)], [whole.hash, ["second.example.com"]]);
    let from = proxy.lines.length;
    await scene.endpoints("web", ["10.0.0.1", "10.0.0.2"]);
    const endpoints = await proxy.line("delta", from) as Carried;
    assert.deepEqual(hostsOf(endpoints), []);
    assert.match(JSON.stringify(endpoints.upstreams), /10\.0\.0\.2/);
    from = proxy.lines.length;
    await scene.remove("Ingress", "second");
    const removed = await proxy.line("delta", from) as Carried;
    assert.deepEqual(removed.removed.hosts, ["second.example.com"]);
    const shown = await eventually("programmed", async () => {
      const shown = await shownProxies(scene.controller);
      return shown.programmed ? shown : null;
    });
    assert.equal(shown.hash, proxy.latest?.hash);
    // The same as what is published for those who have no stream.
    const published = await scene.eventuallyPublished(
      "the same",
      ({ routes }) => routes.length === 1,
    );
    assert.deepEqual(
      published.routes.map(({ host }) => host),
      ["first.example.com"],
    );
  },
);

clusterTest("a token that is not a proxy's of this stream is rejected", async (cluster) => {
  await using scene = await ControllerScene.start(cluster);
  const { system, app } = scene;
  const good = await proxyToken(cluster, system);
  const [head, payload] = good.split(".");
  const cases: readonly [string, string | undefined, number][] = [
    ["none", undefined, 401],
    ["garbage", "garbage", 401],
    ["a forged signature", `${head}.${payload}.${btoa("forged").replaceAll("=", "")}`, 401],
    ["another audience", await proxyToken(cluster, system, { audience: "other" }), 401],
    ["the API server's audience", await cluster.serviceAccountToken(system, "web"), 401],
    ["another account", await proxyToken(cluster, system, { account: "web" }), 403],
    ["the account of another namespace", await proxyToken(cluster, app), 403],
  ];
  for (const [name, token, status] of cases) {
    await using proxy = await connectProxy(scene, { token });
    assert.equal(await proxy.answered(), status, name);
    await proxy.ended();
  }
  await using proxy = await connectProxy(scene, { token: good });
  await proxy.line("hello");
  const said = JSON.stringify(scene.controller.lines) + scene.controller.noise.join("\n");
  for (const part of good.split(".").slice(1)) assert.equal(said.includes(part), false);
  assert.deepEqual(scene.controller.noise, []);
});

clusterTest("a token without a bound pod is rejected", async (cluster) => {
  await using scene = await ControllerScene.start(cluster, {
    args: ["--allow-unbound-tokens=false"],
  });
  await using stranger = await connectProxy(scene, {
    token: await proxyToken(cluster, scene.system),
  });
  assert.equal(await stranger.answered(), 403);
  const pod = { name: "proxy-bound", node: "" };
  await using proxy = await connectProxy(scene, {
    token: await proxyToken(cluster, scene.system, { pod }),
  });
  await proxy.line("hello");
});

clusterTest("the stream of a pod's token ends when the pod is deleted", async (cluster) => {
  await using scene = await ControllerScene.start(cluster);
  const pod = { name: "proxy-deleted", node: "" };
  const token = await proxyToken(cluster, scene.system, { pod, labels: PROXY_SELECTOR });
  await using proxy = await connectProxy(scene, { token });
  await proxy.line("hello");
  await cluster.request(
    "DELETE",
    `/api/v1/namespaces/${scene.system}/pods/proxy-deleted?gracePeriodSeconds=0`,
  );
  assert.match(String((await proxy.line("bye")).reason), /pod .* is gone/);
  // What the API server has said of the token before is not believed any more.
  await using again = await connectProxy(scene, { token });
  assert.equal(await again.answered(), 401);
});

clusterTest(
  "the stream of a pod that is not watched ends a minute after the pod is deleted, and others continue",
  async (cluster) => {
    await using scene = await ControllerScene.start(cluster);
    const reports = new Map<Awaited<ReturnType<typeof connectProxy>>, Record<string, unknown>>();
    const connect = async (name: string) => {
      const pod = { name, node: "" };
      const token = await proxyToken(cluster, scene.system, { pod });
      const proxy = await connectProxy(scene, { token });
      await proxy.line("hello");
      reports.set(proxy, { kind: "alive", token, version: null, hash: null });
      return proxy;
    };
    await using gone = await connect("unwatched-deleted");
    await using kept = await connect("unwatched-kept");
    const alive = setInterval(() => {
      for (const [proxy, report] of reports) if (!proxy.isEnded) proxy.report(report);
    }, 1000);
    try {
      await cluster.request(
        "DELETE",
        `/api/v1/namespaces/${scene.system}/pods/unwatched-deleted?gracePeriodSeconds=0`,
      );
      await eventually("the stream has ended", () => gone.isEnded, 90_000);
      assert.match(String(gone.lines.at(-1)?.reason), /pod .* is gone/);
      assert.equal(kept.isEnded, false);
    } finally {
      clearInterval(alive);
    }
  },
);

clusterTest("a token of a deleted pod is rejected", async (cluster) => {
  await using scene = await ControllerScene.start(cluster);
  const pod = { name: "proxy-gone", node: "" };
  const token = await proxyToken(cluster, scene.system, { pod });
  await cluster.request(
    "DELETE",
    `/api/v1/namespaces/${scene.system}/pods/proxy-gone?gracePeriodSeconds=0`,
  );
  await using proxy = await connectProxy(scene, { token });
  assert.equal(await proxy.answered(), 401);
});

clusterTest("a proxy is told the zone of its node, and /proxies shows it", async (cluster) => {
  await cluster.apply({
    apiVersion: "v1",
    kind: "Node",
    metadata: { name: "node-z", labels: { "topology.kubernetes.io/zone": "zone-z" } },
  } as Partial<KubeObject>);
  await using scene = await ControllerScene.start(cluster);
  const pod = { name: "proxy-z", node: "node-z" };
  const token = await proxyToken(cluster, scene.system, { pod });
  await using proxy = await connectProxy(scene, { token });
  assert.equal((await proxy.line("hello")).zone, "zone-z");
  const [shown] = (await shownProxies(scene.controller)).proxies;
  assert.deepEqual([shown.name, shown.node, shown.zone], ["proxy-z", "node-z", "zone-z"]);
});

clusterTest(
  "a proxy that rejects updates is a problem of the workload, with its name, until it applies one",
  async (cluster) => {
    await using scene = await ControllerScene.prepare(cluster);
    await scene.service("web");
    await scene.ingress("first");
    await scene.startController();
    const pod = { name: "proxy-old", node: "" };
    const token = await proxyToken(cluster, scene.system, { pod });
    const hello = { ...HELLO, proxy: "0.0.1" };
    await using proxy = await connectProxy(scene, { token, hello, acknowledges: false });
    const { version, hash } = await proxy.line("snapshot");
    const reason = "$.hosts[0].routes[0].path.type: unknown";
    proxy.report({ kind: "refused", version, hash, code: "invalid", reason });
    const problem = await scene.eventuallyProblem("ConfigurationRejected");
    assert.equal(problem.object, `DaemonSet ${scene.system}/pingress-proxy-server`);
    assert.match(problem.message, /proxy-old \(0\.0\.1\).*\$\.hosts\[0\]/);
    await scene.eventuallyEvent("ConfigurationRejected", "proxy-old");
    proxy.report({ kind: "applied", version, hash });
    await eventually("end of the problem", async () => (await scene.problems()).length === 0);
  },
);

clusterTest("SIGTERM sends bye to proxies, without a delay", async (cluster) => {
  await using scene = await ControllerScene.start(cluster);
  await using proxy = await connectProxy(scene);
  await proxy.line("hello");
  assert.equal(await scene.controller.stop(), 0);
  await proxy.line("bye");
  await proxy.ended();
});

clusterTest("a follower sends the same snapshots as the leader", async (cluster) => {
  await using scene = await ControllerScene.prepare(cluster, { args: FAST_ELECTION });
  await scene.service("web");
  await scene.ingress("first");
  const a = await scene.startController();
  await a.line("Leading");
  const b = await scene.startController();
  try {
    await using atA = await connectProxy(scene, {}, a);
    await using atB = await connectProxy(scene, {}, b);
    const [ofA, ofB] = await Promise.all([atA.line("snapshot"), atB.line("snapshot")]);
    assert.equal(ofA.hash, ofB.hash);
    await scene.ingress("second");
    const deltas = await Promise.all([atA.line("delta"), atB.line("delta")]);
    assert.deepEqual(deltas.map(hostsOf), [["second.example.com"], ["second.example.com"]]);
    assert.equal(deltas[0].hash, deltas[1].hash);
    // What it has from one is nothing new at the other.
    const { version, hash } = deltas[0];
    await using moved = await connectProxy(scene, { hello: { ...HELLO, version, hash } }, b);
    await moved.line("same");
    assert.equal(moved.lines.some(({ kind }) => kind === "snapshot"), false);
    // The leader knows nothing of it, and people are told all the same.
    await using refusing = await connectProxy(scene, { acknowledges: false }, b);
    const sent = await refusing.line("snapshot");
    const refused = { kind: "refused", version: sent.version, hash: sent.hash } as const;
    refusing.report({ ...refused, code: "invalid", reason: "heard by a follower" });
    await scene.eventuallyEvent("ConfigurationRejected", "heard by a follower");
  } finally {
    await a.stop();
  }
});

clusterTest(
  "a replica that is behind catches up with a proxy's version, and accepts no unconfirmed one",
  async (cluster) => {
    await using scene = await ControllerScene.prepare(cluster);
    await scene.service("web");
    await scene.ingress("first");
    const controller = await scene.startController();
    await using first = await connectProxy(scene);
    const { version, hash } = await first.line("snapshot") as unknown as {
      version: { epoch: string; seen: Record<string, string> };
      hash: string;
    };
    // As if another replica had heard of something in between that changes nothing here.
    const { body } = await cluster.request("GET", "/api/v1/namespaces?limit=1");
    const further = body.metadata!.resourceVersion!;
    const claimed = { ...version, seen: { ...version.seen, IngressClass: further } };
    const beyond = { ...version, seen: { ...version.seen, Service: `${further}00000` } };
    await using moved = await connectProxy(scene, { hello: { ...HELLO, version: claimed, hash } });
    await using liar = await connectProxy(scene, { hello: { ...HELLO, version: beyond, hash } });
    await moved.until("version of the other replica", () => {
      const { seen } = (moved.latest?.version ?? version) as typeof version;
      return BigInt(seen.IngressClass) >= BigInt(further);
    });
    await controller.line("A proxy serves a version that no list confirms");
    const shown = JSON.parse((await controller.admin("/snapshot")).text);
    assert.ok(BigInt(shown.version.seen.Service) < BigInt(beyond.seen.Service));
    await liar.line("hello");
  },
);

clusterTest(
  "a proxy that reconnects from a newer replica keeps its snapshot, and the second replica lists again",
  async (cluster) => {
    await using scene = await ControllerScene.prepare(cluster, { args: FAST_ELECTION });
    await using replicas = await Replicas.prepare(scene, 2);
    await scene.service("web");
    await scene.ingress("first");
    await Promise.all(replicas.all.map((replica) => replica.start()));
    const leader = await replicas.leader();
    const other = replicas.all.find((replica) => replica !== leader)!;
    // Until a replica has seen what is published, it has a loop mark of its own.
    await eventually("one loop mark", async () => {
      const shown = await Promise.all(
        replicas.running.map(async (process) => await process.admin("/snapshot")),
      );
      const marks = shown.map(({ status, text }) => status === 200 && JSON.parse(text).loopMark);
      return marks[0] !== false && marks[0] === marks[1];
    });
    // It neither hears of the Ingress, nor of what is published of it.
    const held = [["ingresses"], ["configmaps"], ["secrets", scene.system]].map(
      ([resource, namespace]) => {
        const call = { verb: "watch", resource, namespace } as const;
        const watch = other.gateway.inject(call, heldUntil(new Promise(() => {})));
        other.gateway.endStreams(call);
        return watch;
      },
    );
    await eventually("held watches", () => held.every(({ hits }) => hits > 0));
    const lists = other.gateway.requests.length;
    await using ahead = await connectProxy(scene, {}, leader.process!);
    await scene.ingress("unseen");
    const { version, hash } = await ahead.until(
      "the new route",
      () =>
        ahead.lines.findLast((line) => line.hosts && hostsOf(line).includes("unseen.example.com")),
    );
    await using moved = await connectProxy(
      scene,
      { hello: { ...HELLO, version, hash } },
      other.process!,
    );
    await moved.until("the same content", () => moved.latest?.hash === hash);
    const [first] = moved.lines.filter(({ hash }) => hash !== undefined);
    const order = (line: Line) =>
      compareVersions(line.version as SnapshotVersion, version as SnapshotVersion);
    // It may have listed other kinds later than the first did.
    assert.ok(["older", "mixed"].includes(order(first)), order(first));
    assert.ok(["newer", "same"].includes(order(moved.latest!)));
    const relisted = other.gateway.recorded({ verb: "list", resource: "ingresses" }, lists);
    assert.ok(relisted.length >= 1);
  },
);

Deno.test("without an API server open streams continue, and no new one is accepted", async () => {
  const cluster = await startCluster({ name: "an API server that is gone" });
  if (cluster === null) return;
  await using _ = cluster;
  await using scene = await ControllerScene.prepare(cluster);
  await scene.service("web");
  await scene.ingress("first");
  await scene.startController();
  const [known, unknown] = [
    await proxyToken(cluster, scene.system),
    await proxyToken(cluster, scene.system),
  ];
  const [port, caPem] = [
    await streamPort(scene.controller),
    await streamTrust(cluster, scene.system),
  ];
  await using proxy = await connectProxy(scene, { token: known });
  const { version, hash } = await proxy.line("snapshot");
  await cluster.stopApiServer("SIGKILL");
  proxy.report({ kind: "alive", token: unknown, version, hash });
  const servername = `pingress-controller.${scene.system}.svc`;
  const { StreamClient } = await import("../support/stream_client.ts");
  await using stranger = new StreamClient({ port, caPem, servername, token: unknown });
  assert.equal(await stranger.answered(), 503);
  assert.match(stranger.text, /API server/);
  await using again = new StreamClient({ port, caPem, servername, token: known });
  await again.line("snapshot");
  const { pings } = proxy;
  await proxy.until("pings", () => proxy.pings > pings + 2);
  assert.equal(proxy.isEnded, false);
  await cluster.startApiServer();
  await scene.ingress("second");
  await proxy.line("delta");
  await using late = new StreamClient({ port, caPem, servername, token: unknown });
  await late.line("snapshot");
});

Deno.test("a replica without API server sends newer proxies to other replicas, and keeps the others", async () => {
  const cluster = await startCluster({ name: "a replica that is cut off" });
  if (cluster === null) return;
  await using _ = cluster;
  await using scene = await ControllerScene.prepare(cluster);
  await scene.service("web");
  await scene.ingress("first");
  await scene.startController();
  const pods = ["proxy-ahead", "proxy-even"].map((name) => ({ name, node: "" }));
  const [ahead, even] = await Promise.all(
    pods.map(async (pod) => ({ token: await proxyToken(cluster, scene.system, { pod }) })),
  );
  await using first = await connectProxy(scene, ahead);
  await using second = await connectProxy(scene, even);
  const [whole] = await Promise.all([first.line("snapshot"), second.line("snapshot")]);
  const version = whole.version as SnapshotVersion;
  const newer = { ...version, seen: { ...version.seen, Ingress: `${version.seen.Ingress}0` } };
  const say = (proxy: typeof first, token: string, version: SnapshotVersion) =>
    proxy.report({ kind: "alive", token, version, hash: whole.hash });
  say(first, ahead.token, newer);
  // While there is an API server, it is asked what there is to this.
  await scene.controller.line("A proxy serves a version that no list confirms");
  await cluster.stopApiServer("SIGKILL");
  const alive = setInterval(() => {
    say(first, ahead.token, newer);
    say(second, even.token, version);
  }, 5_000);
  try {
    const bye = await eventually(
      "a goodbye",
      () => Promise.resolve(first.lines.find(({ kind }) => kind === "bye")),
      90_000,
    );
    assert.match(String(bye.reason), /cut off from the API server/);
    const { pings } = second;
    await second.until("pings", () => second.pings > pings + 2);
    assert.equal(second.isEnded, false);
  } finally {
    clearInterval(alive);
  }
});
