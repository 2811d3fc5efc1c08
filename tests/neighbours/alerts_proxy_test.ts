/** Alerts that fire against a real Prometheus which scrapes real proxies, each broken in one way. */
import assert from "node:assert/strict";
import type { Certificate, Snapshot } from "../../shared/snapshot/types.ts";
import { eventually } from "../cluster/support/condition.ts";
import { Peer } from "../support/backend.ts";
import { snapshotOf as fleetSnapshot, startFleet, unheardHub } from "../support/fleet.ts";
import { textOf } from "../support/observed_proxy.ts";
import { ProxyProcess } from "../support/proxy_process.ts";
import { statusAt } from "../support/request_load.ts";
import { snapshotOf } from "../support/test_proxy.ts";
import { certificateFor } from "../support/tls_proxy.ts";
import { AlertScene, Traffic } from "./alert_scene.ts";
import { StoppedWorker } from "./stopped_worker.ts";

const DAY = 86_400_000;
const LOOPBACK = { hostname: "127.0.0.1", port: 0, onListen() {} };
const TARGET = { namespace: "pingress-system", pod: "proxy-1" };
/** A proxy without a controller. */
const GROUPS = ["requests", "proxies", "certificates"];

/** @param namespace Of its installation. */
function targetOf(port: number, namespace = TARGET.namespace) {
  return { job: "pingress", port, labels: { ...TARGET, namespace } };
}

/** `NAME.test` leads to the Service NAME of the namespace test, at this port. */
function servicesOf(
  services: Readonly<Record<string, number>>,
  certificates: readonly Certificate[] = [],
): Snapshot {
  const parts = Object.entries(services).map(([name, port]) => {
    const { routes: [route], upstreams: [upstream] } = snapshotOf([port]);
    const id = `test/${name}:80`;
    return {
      route: {
        ...route,
        id: `${name}.test Prefix /`,
        host: `${name}.test`,
        action: { kind: "forward" as const, backends: [{ upstream: id }] },
      },
      upstream: { ...upstream, id },
    };
  });
  return {
    ...snapshotOf([]),
    routes: parts.map(({ route }) => route),
    upstreams: parts.map(({ upstream }) => upstream),
    certificates,
  };
}

/** Of the Secret `test/NAME-tls`, with so many days left; for NAME.test, which no route has. */
async function certificateOf(name: string, days: number): Promise<Certificate> {
  const now = Date.now();
  const { hosts, chain, key } = await certificateFor(name, {
    names: [`${name}.test`],
    validFrom: now - 90 * DAY,
    validTo: now + days * DAY,
  });
  return {
    id: name,
    hosts,
    chain: { kind: "pem", pem: chain },
    key: { kind: "secret", pem: key },
    origin: { kind: "Secret", namespace: "test", name: `${name}-tls`, field: "data" },
  };
}

/** So many routes to one port, beside none. */
function manyRoutes(count: number, port: number): Snapshot {
  return servicesOf(Object.fromEntries(
    Array.from({ length: count }, (_, i) => [`host-${i}`, port]),
  ));
}

Deno.test("failed and slow backends, certificates, a rejected file and a killed proxy fire alerts", async () => {
  await using good = Deno.serve(LOOPBACK, () => new Response("good"));
  await using bad = Deno.serve(LOOPBACK, () => new Response("bad", { status: 500 }));
  const stop = new AbortController();
  await using slow = Deno.serve(LOOPBACK, async () => {
    await new Promise((resolve) => {
      const timer = setTimeout(resolve, 1_500);
      stop.signal.addEventListener("abort", () => resolve(clearTimeout(timer)));
    });
    return new Response("slow");
  });
  const ports = { good: good.addr.port, bad: bad.addr.port, slow: slow.addr.port };
  await using proxy = await ProxyProcess.start({
    snapshot: servicesOf({ good: ports.good }, [await certificateOf("valid", 60)]),
    args: ["--allow-loopback-upstreams", "--workers=2"],
  });
  const { adminPort, httpPort } = proxy;
  const scene = await AlertScene.start("alerts of a proxy", {
    targets: [targetOf(adminPort)],
    groups: GROUPS,
    thresholds: { requestRate: 0.02 },
  });
  if (scene === null) return;
  await using _ = scene;
  {
    await using _load = new Traffic(() => statusAt(httpPort, { host: "good.test" }));
    await scene.silent();
    proxy.replace(servicesOf(ports, [
      await certificateOf("valid", 60),
      await certificateOf("ending", 10),
      await certificateOf("expired", -1),
    ]));
    await using _bad = new Traffic(() => statusAt(httpPort, { host: "bad.test" }), 2);
    await using _slow = new Traffic(() => statusAt(httpPort, { host: "slow.test" }), 10);
    const host = { namespace: "test", host: "bad.test" };
    const burn = await scene.fires("PingressErrorBudgetBurnFast", {
      ...host,
      severity: "critical",
    });
    assert.match(burn.annotations.summary, /^bad\.test fails 100% of its requests$/);
    await scene.fires("PingressErrorBudgetBurnSlow", { ...host, severity: "warning" });
    await scene.fires("PingressBackendLatencyHigh", { namespace: "test", service: "slow" });
    const days = await scene.fires("PingressCertificateExpiresSoon", {
      namespace: "test",
      certificate: "test/ending-tls",
      hosts: "ending.test",
    });
    assert.match(days.annotations.description, /expires in 9d 23h/);
    await scene.fires("PingressCertificateNearlyExpired", { certificate: "test/expired-tls" });
    const names = [
      ...["PingressErrorBudgetBurnFast", "PingressErrorBudgetBurnSlow"],
      ...["PingressCertificateExpiresSoon", "PingressCertificateNearlyExpired"],
    ];
    await scene.silent([...names, "PingressBackendLatencyHigh"]);
    for (const { labels } of await scene.prometheus.alerts()) {
      assert.ok(labels.host !== "good.test" && labels.service !== "good", JSON.stringify(labels));
    }
    stop.abort();
  }
  proxy.replaceText("{");
  await scene.fires("PingressConfigurationRejected", { ...TARGET, source: "file" });
  proxy.signal("SIGKILL");
  await scene.fires("PingressNoReadyProxy", { severity: "critical" });
});

Deno.test("of two installations with rules of their own, a broken one fires only its own", async () => {
  await using bad = Deno.serve(LOOPBACK, () => new Response("bad", { status: 500 }));
  const args = ["--allow-loopback-upstreams", "--workers=1"];
  const snapshot = servicesOf({ bad: bad.addr.port }, [await certificateOf("ending", 10)]);
  await using broken = await ProxyProcess.start({ snapshot, args });
  await using good = await ProxyProcess.start({ snapshot: servicesOf({}), args });
  const installations = [TARGET.namespace, "edge-2"];
  const scene = await AlertScene.start("alerts of two installations", {
    targets: [targetOf(broken.adminPort), targetOf(good.adminPort, "edge-2")],
    groups: GROUPS,
    installations,
    thresholds: { requestRate: 0.02 },
  });
  if (scene === null) return;
  await using _ = scene;
  const installation = TARGET.namespace;
  {
    await using _load = new Traffic(() => statusAt(broken.httpPort, { host: "bad.test" }), 2);
    const burn = { namespace: "test", host: "bad.test", installation };
    await scene.fires("PingressErrorBudgetBurnFast", burn);
    await scene.fires("PingressCertificateExpiresSoon", { namespace: "test", installation });
  }
  broken.signal("SIGKILL");
  await scene.fires("PingressNoReadyProxy", { namespace: installation, installation });
  await scene.prometheus.evaluated();
  for (const { labels } of await scene.prometheus.alerts()) {
    assert.equal(labels.installation, installation, JSON.stringify(labels));
  }
});

Deno.test("half of the routes gone fire an alert", async () => {
  await using backend = Deno.serve(LOOPBACK, () => new Response());
  const { port } = backend.addr;
  await using proxy = await ProxyProcess.start({
    snapshot: manyRoutes(40, port),
    args: ["--allow-loopback-upstreams", "--workers=1"],
  });
  const scene = await AlertScene.start("alert of routes", {
    targets: [targetOf(proxy.adminPort)],
    groups: GROUPS,
  });
  if (scene === null) return;
  await using _ = scene;
  await scene.silent();
  proxy.replace(manyRoutes(30, port));
  const kept = "pingress_snapshot_routes == 30";
  await eventually(kept, async () => (await scene.prometheus.query(kept)).length > 0);
  await scene.silent();
  proxy.replace(manyRoutes(10, port));
  const { annotations } = await scene.fires("PingressRoutesDropped", {
    namespace: "pingress-system",
  });
  assert.match(annotations.description, /^A proxy has 10 routes, less than 0\.5 times/);
});

Deno.test("a proxy at its connection limit fires an alert", async () => {
  const stop = Promise.withResolvers<void>();
  await using backend = Deno.serve(LOOPBACK, async () => {
    await stop.promise;
    return new Response();
  });
  await using proxy = await ProxyProcess.start({
    snapshot: servicesOf({ held: backend.addr.port }),
    args: ["--allow-loopback-upstreams", "--workers=1", "--connection-limit=4"],
  });
  const { httpPort } = proxy;
  const scene = await AlertScene.start("alert of shedding", {
    targets: [targetOf(proxy.adminPort)],
    groups: GROUPS,
  });
  if (scene === null) return;
  await using _ = scene;
  await scene.silent();
  const held = await Promise.all(Array.from({ length: 4 }, () => Peer.connect(httpPort)));
  for (const peer of held) await peer.send("GET / HTTP/1.1\r\nHost: held.test\r\n\r\n");
  {
    await using _load = new Traffic(() => statusAt(httpPort, { host: "held.test" }), 2);
    await scene.fires("PingressProxyShedding", { ...TARGET, severity: "critical" });
  }
  stop.resolve();
  for (const peer of held) peer.close();
});

Deno.test("a proxy close to its memory limit fires an alert, and one that rejects requests another", async () => {
  await using backend = Deno.serve(LOOPBACK, () => new Response());
  const snapshot = servicesOf({ web: backend.addr.port });
  const args = ["--allow-loopback-upstreams", "--workers=1"];
  let memory: number;
  {
    await using proxy = await ProxyProcess.start({ snapshot, args });
    await statusAt(proxy.httpPort, { host: "web.test" });
    memory = await proxy.memory();
  }
  // Less than what it takes by itself: at 95 % of the limit it rejects requests.
  const limit = Math.floor(0.9 * memory / 1024);
  await using proxy = await ProxyProcess.start({
    snapshot,
    args: [...args, `--memory-limit=${limit}KiB`],
  });
  const { httpPort } = proxy;
  const scene = await AlertScene.start("alerts of memory", {
    targets: [targetOf(proxy.adminPort)],
    groups: GROUPS,
  });
  if (scene === null) return;
  await using _ = scene;
  await using _load = new Traffic(() => statusAt(httpPort, { host: "web.test" }), 2);
  await scene.fires("PingressProxyMemoryHigh", { ...TARGET, severity: "warning" });
  await scene.fires("PingressProxyShedding", TARGET);
});

Deno.test("a worker that does not respond fires an alert", async () => {
  await using proxy = await ProxyProcess.start({ snapshot: snapshotOf([]), args: ["--workers=2"] });
  const scene = await AlertScene.start("alert of a stalled worker", {
    targets: [targetOf(proxy.adminPort)],
    groups: GROUPS,
  });
  if (scene === null) return;
  await using _ = scene;
  await scene.silent();
  await using worker = await StoppedWorker.of("alert of a stalled worker", proxy.pid);
  if (worker === null) return;
  await scene.fires("PingressWorkerStalled", { ...TARGET, severity: "warning" });
});

/**
 * Nothing is known that makes a worker of a proxy throw, so this is a proxy's fleet of workers, with a
 * module that throws to order, in this process; the metrics are the fleet's.
 */
Deno.test("a worker that fails fires an alert", async () => {
  const hub = unheardHub();
  const fleet = startFleet(2, { hub });
  await using admin = Deno.serve(
    LOOPBACK,
    async () => new Response(await textOf(hub), { headers: { "content-type": "text/plain" } }),
  );
  try {
    fleet.serve(fleetSnapshot(1), []);
    await fleet.listen({ http: [{ hostname: "127.0.0.1", port: 0 }], https: [] });
    const scene = await AlertScene.start("alert of a failed worker", {
      targets: [targetOf(admin.addr.port)],
      groups: GROUPS,
    });
    if (scene === null) return;
    await using _ = scene;
    await scene.silent();
    fleet.serve(fleetSnapshot(1, "throw"), []);
    await scene.fires("PingressWorkerRestarted", { ...TARGET, severity: "warning" });
  } finally {
    fleet.close();
  }
});
