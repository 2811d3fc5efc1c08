/** The controller as a process on a real API server: what it publishes, and when. */
import assert from "node:assert/strict";
import type { KubeObject } from "./support/api_client.ts";
import { clusterTest } from "./support/cluster_case.ts";
import { eventually } from "./support/condition.ts";
import { ControllerScene, rule } from "./support/controller_scene.ts";
import { emptyList, failure, gone, heldUntil } from "./support/gateway_answers.ts";

const CERTIFICATES = new URL("../golden/certificates/", import.meta.url);

function pem(name: string): string {
  return Deno.readTextFileSync(new URL(name, CERTIFICATES));
}

interface ConfigMap extends KubeObject {
  readonly data?: Readonly<Record<string, string>>;
}

clusterTest("an Ingress becomes a configuration, proxies, and nothing else", async (cluster) => {
  await using scene = await ControllerScene.start(cluster);
  await scene.service("web", ["10.0.0.1", "10.0.0.2"]);
  await scene.ingress("shop");
  const snapshot = await scene.eventuallyRouted("shop.example.com Prefix /");
  assert.deepEqual(snapshot.upstreams.map(({ addresses }) => addresses), [{
    kind: "endpoints",
    endpoints: [{ address: "10.0.0.1", port: 8080 }, { address: "10.0.0.2", port: 8080 }],
  }]);
  const daemonSet = await eventually(
    "DaemonSet",
    () => cluster.get("apps/v1", "DaemonSet", "pingress-proxy-server", scene.system),
  );
  assert.equal((daemonSet.metadata as { ownerReferences?: unknown }).ownerReferences, undefined);
  const kubeSystem = await cluster.get("v1", "Namespace", "kube-system");
  assert.equal(snapshot.version.epoch, kubeSystem!.metadata.uid);
  assert.deepEqual(Object.keys(snapshot.version.seen).sort(), [
    "BackendTLSPolicy",
    "EndpointSlice",
    "Gateway",
    "GatewayClass",
    "HTTPRoute",
    "Ingress",
    "IngressClass",
    "ListenerSet",
    "ReferenceGrant",
    "Secret",
    "Service",
  ]);
  assert.equal(
    await cluster.get("apps/v1", "Deployment", "pingress-proxy-server", scene.system),
    null,
  );
  assert.equal(await scene.controller.stop(), 0);
});

clusterTest("without a served Ingress nothing is created", async (cluster) => {
  await using scene = await ControllerScene.start(cluster);
  await scene.service("web");
  await scene.ingress("foreign", { ingressClassName: "another" });
  await scene.controller.line("Leading");
  await eventually(
    "translation of the foreign Ingress",
    async () =>
      (await scene.controller.metric('pingress_controller_objects{resource="ingresses"}')) === 1,
  );
  await eventually(
    "quiet controller",
    async () =>
      (await scene.controller.metric("pingress_controller_changes_waiting_seconds")) === 0,
  );
  assert.equal(await scene.indexVersion(), "");
  assert.equal(
    await cluster.get("apps/v1", "DaemonSet", "pingress-proxy-server", scene.system),
    null,
  );
});

clusterTest("nothing is published before every kind has been listed", async (cluster) => {
  for (const resource of ["endpointslices", "secrets", "services", "ingressclasses"]) {
    await using scene = await ControllerScene.prepare(cluster, { gateway: true });
    await scene.service("web");
    await scene.ingress("shop");
    const released = Promise.withResolvers<void>();
    const held = scene.gateway!.inject(
      { verb: "list", resource },
      heldUntil(released.promise),
    );
    const controller = await scene.spawnController();
    await controller.line("Listening");
    await controller.line("Leading");
    await eventually(`held list of ${resource}`, () => held.hits > 0);
    assert.equal((await controller.admin("/readyz")).status, 503);
    assert.equal((await controller.admin("/problems")).status, 503);
    assert.equal(await scene.indexVersion(), "", resource);
    released.resolve();
    await scene.eventuallyRouted("shop.example.com");
    await controller.ready();
  }
});

clusterTest("unchanged objects are not written, whatever else changes", async (cluster) => {
  await using scene = await ControllerScene.start(cluster, { gateway: true });
  await scene.service("web");
  await scene.ingress("shop");
  await scene.eventuallyRouted("shop.example.com");
  await scene.controller.line("Workload changed");
  const before = await scene.indexVersion();
  const from = scene.gateway!.requests.length;
  // Objects that nothing leads to, and parts that nobody reads.
  await scene.service("unused");
  await scene.ingress("foreign", { ingressClassName: "another" });
  await scene.ingress("shop", {}, { annotations: { "example.com/note": "read by nobody" } });
  await eventually(
    "translation",
    async () =>
      (await scene.controller.metric('pingress_controller_objects{resource="ingresses"}')) === 2,
  );
  await eventually(
    "quiet controller",
    async () =>
      (await scene.controller.metric("pingress_controller_changes_waiting_seconds")) === 0,
  );
  assert.equal(await scene.indexVersion(), before);
  const writes = scene.gateway!.recorded({
    verb: ["create", "patch", "delete"],
    namespace: scene.system,
  }, from).filter(({ resource }) => resource !== "leases");
  assert.deepEqual(writes.map(({ method, path }) => `${method} ${path}`), []);
});

clusterTest("many simultaneous changes are one write", async (cluster) => {
  await using scene = await ControllerScene.start(cluster, {
    gateway: true,
    args: ["--gather-time=500ms", "--gather-limit=10s"],
  });
  await scene.service("web");
  await scene.ingress("first");
  await scene.eventuallyRouted("first.example.com");
  const from = scene.gateway!.requests.length;
  await Promise.all(Array.from({ length: 20 }, (_, i) => scene.ingress(`app-${i}`)));
  await scene.eventuallyPublished("all routes", ({ routes }) => routes.length === 21);
  const writes = scene.gateway!.recorded(
    { resource: "configmaps", method: "PATCH", namespace: scene.system },
    from,
  );
  assert.ok(writes.length <= 2, `${writes.length} writes`);
});

clusterTest(
  "changes of endpoints only are rate limited, changes of routes are written at once",
  async (cluster) => {
    await using scene = await ControllerScene.start(cluster, { args: ["--endpoint-interval=3s"] });
    await scene.service("web", ["10.0.0.1"]);
    await scene.ingress("shop");
    await scene.eventuallyRouted("shop.example.com");
    const before = await scene.indexVersion();
    await scene.endpoints("web", ["10.0.0.2"]);
    await eventually(
      "snapshot with the new endpoint",
      async () => (await scene.controller.admin("/snapshot")).text.includes("10.0.0.2"),
    );
    assert.equal(await scene.indexVersion(), before, "written before its turn");
    const snapshot = await scene.eventuallyPublished(
      "new endpoint",
      ({ upstreams }) => JSON.stringify(upstreams).includes("10.0.0.2"),
    );
    assert.equal(JSON.stringify(snapshot.upstreams).includes("10.0.0.1"), false);
    // A route takes waiting endpoints with it.
    await scene.endpoints("web", ["10.0.0.3"]);
    await scene.ingress("more");
    const both = await scene.eventuallyRouted("more.example.com");
    await eventually(
      "endpoint beside the route",
      async () => JSON.stringify((await scene.published())?.upstreams).includes("10.0.0.3"),
    );
    assert.equal(both.routes.length, 2);
  },
);

clusterTest("changes to the configuration by others are reverted", async (cluster) => {
  await using scene = await ControllerScene.start(cluster);
  await scene.service("web");
  await scene.tlsSecret("shop-tls", { "tls.crt": pem("app.crt"), "tls.key": pem("app.key") });
  await scene.ingress("app", { tls: [{ hosts: ["app.example.com"], secretName: "shop-tls" }] });
  const wanted = await scene.eventuallyPublished(
    "certificate",
    ({ certificates }) => certificates.length === 1,
  );
  const isBack = (what: string) =>
    scene.eventuallyPublished(
      what,
      (snapshot) =>
        JSON.stringify(snapshot.routes) === JSON.stringify(wanted.routes) &&
        snapshot.certificates.length === 1,
    );
  const edited: Partial<ConfigMap> = {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "pingress-config-v2" } as KubeObject["metadata"],
    data: { "proxy-v2.json": "{}" },
  };
  await cluster.apply(edited, { namespace: scene.system, fieldManager: "somebody" });
  await isBack("index after an edit");
  await cluster.delete("v1", "ConfigMap", "pingress-config-v2", scene.system);
  await isBack("index after its deletion");
  await cluster.delete("v1", "Secret", "pingress-keys", scene.system);
  await isBack("keys after their deletion");
});

clusterTest("a wrongly empty list deletes nothing", async (cluster) => {
  await using scene = await ControllerScene.start(cluster, { gateway: true });
  await scene.service("web");
  for (const name of ["a", "b", "c"]) await scene.ingress(name);
  await scene.eventuallyPublished("three routes", ({ routes }) => routes.length === 3);
  const before = await scene.indexVersion();
  for (const resource of ["ingresses", "endpointslices", "services"]) {
    // Services of the controller's own namespace are watched apart.
    const users = { resource, namespace: scene.app };
    const empty = scene.gateway!.inject({ verb: "list", ...users }, emptyList(), 1);
    const from = scene.controller.lines.length;
    // The watch is told that its point is too old, so the kind is listed anew.
    scene.gateway!.inject({ verb: "watch", ...users }, gone(), 1);
    scene.gateway!.endStreams(users);
    await eventually(`empty list of ${resource}`, () => empty.hits === 1);
    await scene.controller.line(
      ({ message }) => message === "New lists do not confirm the deletions",
      from,
    );
    assert.equal(await scene.indexVersion(), before, resource);
  }
});

clusterTest("an intended deletion is published", async (cluster) => {
  await using scene = await ControllerScene.start(cluster);
  await scene.service("web");
  for (const name of ["a", "b"]) await scene.ingress(name);
  await scene.eventuallyPublished("two routes", ({ routes }) => routes.length === 2);
  for (const name of ["a", "b"]) await scene.remove("Ingress", name);
  await scene.eventuallyPublished("no route", ({ routes }) => routes.length === 0);
});

const NO_PODS = {
  currentNumberScheduled: 0,
  desiredNumberScheduled: 0,
  numberMisscheduled: 0,
  numberReady: 0,
};

clusterTest(
  "proxies are removed when there has been no Ingress for --cleanup-delay",
  async (cluster) => {
    await using scene = await ControllerScene.start(cluster, { args: ["--cleanup-delay=1s"] });
    await scene.service("web");
    await scene.tlsSecret("shop-tls", { "tls.crt": pem("app.crt"), "tls.key": pem("app.key") });
    await scene.ingress("app", { tls: [{ hosts: ["app.example.com"], secretName: "shop-tls" }] });
    await scene.eventuallyPublished("certificate", ({ certificates }) => certificates.length === 1);
    await eventually(
      "DaemonSet",
      () => cluster.get("apps/v1", "DaemonSet", "pingress-proxy-server", scene.system),
    );
    // As its controller says it where no node fits: a problem as long as the DaemonSet is there.
    await cluster.apply({
      apiVersion: "apps/v1",
      kind: "DaemonSet",
      metadata: { name: "pingress-proxy-server", namespace: scene.system },
      status: { observedGeneration: 1, ...NO_PODS },
    }, { subresource: "status" });
    await eventually(
      "problem",
      async () => (await scene.problems()).some(({ reason }) => reason === "NoNodeForProxies"),
    );
    await scene.remove("Ingress", "app");
    await eventually(
      "end of the DaemonSet",
      async () =>
        await cluster.get("apps/v1", "DaemonSet", "pingress-proxy-server", scene.system) === null,
    );
    await eventually("end of the configuration", async () => {
      const namespace = scene.system;
      const left = [
        ...await cluster.list("v1", "ConfigMap", { namespace }),
        ...await cluster.list("v1", "Secret", { namespace }),
      ].filter(({ metadata }) => metadata.name.startsWith("pingress"));
      // The controller's own identity, as its Lease is, and no part of what proxies serve.
      return left.every(({ metadata }) => metadata.name === "pingress-stream-ca");
    });
    assert.deepEqual(await scene.problems(), []);
    const { lines } = scene.controller;
    await scene.controller.line("Published configuration removed");
    const taken = lines.findIndex(({ message }) => message?.startsWith("Removing the proxies"));
    const made = lines.slice(taken).filter(({ message, verb }) =>
      message === "Published" || verb === "applied"
    );
    assert.deepEqual(made, []);
    // And come back with the next one.
    await scene.ingress("app");
    await scene.eventuallyRouted("app.example.com");
    await eventually(
      "DaemonSet again",
      () => cluster.get("apps/v1", "DaemonSet", "pingress-proxy-server", scene.system),
    );
  },
);

clusterTest(
  "a LoadBalancer's Service is kept, unless --cleanup-service is set",
  async (cluster) => {
    for (const isCleaned of [false, true]) {
      await using scene = await ControllerScene.start(cluster, {
        args: [
          "--backend=LoadBalancer",
          "--cleanup-delay=1s",
          ...(isCleaned ? ["--cleanup-service"] : []),
        ],
      });
      await scene.service("web");
      await scene.ingress("app");
      const there = (kind: string, apiVersion = "v1") =>
        cluster.get(apiVersion, kind, "pingress-proxy-server", scene.system);
      await eventually("Deployment", () => there("Deployment", "apps/v1"));
      await eventually("Service", () => there("Service"));
      await scene.remove("Ingress", "app");
      await eventually(
        "end of the Deployment",
        async () => await there("Deployment", "apps/v1") === null,
      );
      if (isCleaned) {
        await eventually("end of the Service", async () => await there("Service") === null);
      } else assert.notEqual(await there("Service"), null);
    }
  },
);

clusterTest("deleted proxies are recreated, whatever else fails", async (cluster) => {
  await using scene = await ControllerScene.start(cluster, { gateway: true });
  await scene.service("web");
  // A Secret of the controller before us, whose removal is refused all the time.
  await cluster.apply({
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: "pingress-tls-secret" },
    data: { "app.example.com.key": "" },
  } as Partial<KubeObject>, {
    namespace: scene.system,
    fieldManager: "kinorca.com/pingress-controller",
  });
  const refused = scene.gateway!.inject(
    { verb: "delete", resource: "secrets" },
    failure(403, "Forbidden"),
  );
  await scene.ingress("app");
  const there = () => cluster.get("apps/v1", "DaemonSet", "pingress-proxy-server", scene.system);
  const first = await eventually("DaemonSet", there);
  await cluster.apply({
    apiVersion: "apps/v1",
    kind: "DaemonSet",
    metadata: { name: "pingress-proxy-server" },
    status: {
      observedGeneration: first.metadata.generation,
      currentNumberScheduled: 1,
      desiredNumberScheduled: 1,
      numberMisscheduled: 0,
      updatedNumberScheduled: 1,
      numberAvailable: 1,
      numberReady: 1,
    },
  } as unknown as Partial<KubeObject>, { namespace: scene.system, subresource: "status" });
  await eventually("refused deletion", () => refused.hits > 0);
  await cluster.delete("apps/v1", "DaemonSet", "pingress-proxy-server", scene.system);
  const second = await eventually("DaemonSet again", there, 15_000);
  assert.notEqual(second.metadata.uid, first.metadata.uid);
});

clusterTest(
  "classes: by name, by controller, and none if enabled",
  async (cluster) => {
    const suffix = crypto.randomUUID().slice(0, 8);
    const classes = [["ours", "pingress.io/ingress-controller"], [
      "old",
      "networking.kinorca.com/pingress-controller",
    ], ["foreign", "example.com/other"]];
    await cluster.apply(classes.map(([name, controller]) => ({
      apiVersion: "networking.k8s.io/v1",
      kind: "IngressClass",
      metadata: { name: `${name}-${suffix}` },
      spec: { controller },
    } as unknown as Partial<KubeObject>)));
    await using scene = await ControllerScene.start(cluster, {
      args: ["--watch-ingress-without-class"],
    });
    await scene.service("web");
    for (const [name] of classes) {
      await scene.ingress(name, {
        ingressClassName: `${name}-${suffix}`,
      });
    }
    await scene.ingress("none", { ingressClassName: undefined });
    const snapshot = await scene.eventuallyPublished(
      "three routes",
      ({ routes }) => routes.length === 3,
    );
    assert.deepEqual(
      snapshot.routes.map(({ host }) => host).sort(),
      [
        "none.example.com",
        "old.example.com",
        "ours.example.com",
      ],
    );
  },
);

clusterTest("only the namespaces of --watch-namespace are served", async (cluster) => {
  const second = await cluster.newNamespace("second");
  const third = await cluster.newNamespace("third");
  for (const namespace of [second, third]) {
    await cluster.apply({
      apiVersion: "networking.k8s.io/v1",
      kind: "Ingress",
      metadata: { name: "web" },
      spec: { ingressClassName: "pingress", rules: [rule(`${namespace}.example.com`, "/", "web")] },
    } as unknown as Partial<KubeObject>, { namespace });
  }
  await using other = await ControllerScene.prepare(cluster, {
    args: [`--watch-namespace=${second}`],
  });
  await other.service("web");
  await other.ingress("shop");
  await other.startController();
  const snapshot = await other.eventuallyPublished(
    "two routes",
    ({ routes }) => routes.length === 2,
  );
  assert.deepEqual(
    snapshot.routes.map(({ host }) => host).sort(),
    [`${second}.example.com`, "shop.example.com"].sort(),
  );
});

clusterTest(
  "an invalid certificate leaves its last good version, also after a restart",
  async (cluster) => {
    await using scene = await ControllerScene.start(cluster);
    await scene.service("web");
    await scene.tlsSecret("shop-tls", { "tls.crt": pem("app.crt"), "tls.key": pem("app.key") });
    await scene.ingress("app", { tls: [{ hosts: ["app.example.com"], secretName: "shop-tls" }] });
    const good = await scene.eventuallyPublished(
      "certificate",
      ({ certificates }) => certificates.length === 1,
    );
    await cluster.delete("v1", "Secret", "shop-tls", scene.app);
    await scene.eventuallyProblem("SecretNotFound");
    await scene.ingress("more");
    const kept = await scene.eventuallyRouted("more.example.com");
    assert.deepEqual(kept.certificates.map(({ id }) => id), good.certificates.map(({ id }) => id));
    await scene.controller.stop();
    await scene.startController();
    await scene.ingress("again");
    const later = await scene.eventuallyRouted("again.example.com");
    assert.deepEqual(later.certificates.map(({ id }) => id), good.certificates.map(({ id }) => id));
    assert.equal(
      later.certificates[0].key.kind === "secret" && later.certificates[0].key.pem.reveal(),
      good.certificates[0].key.kind === "secret" && good.certificates[0].key.pem.reveal(),
    );
  },
);

clusterTest("no key is in the log, in metrics, in /snapshot or in /problems", async (cluster) => {
  await using scene = await ControllerScene.start(cluster, { args: ["--log-level=debug"] });
  await scene.service("web");
  await scene.tlsSecret("shop-tls", { "tls.crt": pem("app.crt"), "tls.key": pem("app.key") });
  await scene.tlsSecret("bad-tls", { "tls.crt": pem("app.crt"), "tls.key": pem("renewed.key") });
  await scene.ingress("app", {
    tls: [
      { hosts: ["app.example.com"], secretName: "shop-tls" },
      { hosts: ["bad.example.com"], secretName: "bad-tls" },
    ],
  });
  await scene.eventuallyPublished("certificate", ({ certificates }) => certificates.length === 1);
  await scene.eventuallyProblem("SecretInvalid");
  const shown = [
    ...await Promise.all(
      ["/metrics", "/snapshot", "/problems"].map((path) => scene.controller.admin(path)),
    ),
  ].map(({ text }) => text).concat(JSON.stringify(scene.controller.lines), scene.controller.noise);
  const secrets = [pem("app.key"), pem("renewed.key")].flatMap((key) =>
    key.split("\n").filter((line) => line.length > 20 && !line.startsWith("-----"))
  );
  assert.ok(secrets.length > 2);
  for (const text of shown) {
    for (const secret of secrets) assert.equal(text.includes(secret), false);
    assert.equal(text.includes(cluster.adminToken), false);
  }
});
