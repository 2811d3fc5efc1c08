/** The Service and the EndpointSlices of each Gateway, at a real API server. */
import { deepEqual, equal, match, notEqual, ok } from "node:assert/strict";
import { dirname } from "node:path";
import type { TestCluster } from "./support/cluster.ts";
import { AddressScene } from "./support/address_scene.ts";
import { clusterTest } from "./support/cluster_case.ts";
import { gatewayPlan } from "../support/gateway_plan.ts";
import { eventually } from "./support/condition.ts";
import { failure } from "./support/gateway_answers.ts";

const HTTP = { port: 80, containerPort: 10_007 };
const HTTPS = { port: 443, containerPort: 10_008 };

/** A scene with one proxy, and Gateway `web` programmed. */
async function served(cluster: TestCluster): Promise<AddressScene> {
  const scene = await AddressScene.create(cluster);
  await scene.proxy("proxy-1", "10.244.0.1");
  scene.keeper.sync([scene.plan()]);
  await scene.programmed();
  await scene.reaches(["10.244.0.1 ready"]);
  return scene;
}

clusterTest(
  "a Gateway gets a Service with an address that leads to the proxies",
  async (cluster) => {
    await using scene = await AddressScene.create(cluster);
    await cluster.apply({
      apiVersion: "v1",
      kind: "Node",
      metadata: { name: "zoned", labels: { "topology.kubernetes.io/zone": "a" } },
    });
    await scene.proxy("proxy-1", "10.244.0.1", { node: "zoned" });
    scene.keeper.sync([scene.plan({ labels: { team: "edge" }, annotations: { note: "x" } })]);
    const addresses = await scene.programmed();
    const { metadata, spec } = await scene.mustService();
    deepEqual(addresses, spec.clusterIPs);
    equal(spec.selector, undefined);
    deepEqual(spec.ports.map(({ name, port, targetPort }) => [name, port, targetPort]), [
      ["p80", 80, 10_007],
    ]);
    deepEqual(metadata.labels, {
      "app.kubernetes.io/managed-by": "pingress-controller",
      "app.kubernetes.io/part-of": "pingress",
      "gateway.networking.k8s.io/gateway-name": "web",
      "gateway.networking.k8s.io/gateway-class-name": "pingress",
      team: "edge",
    });
    deepEqual(metadata.annotations, { note: "x" });
    await scene.reaches(["10.244.0.1 ready"]);
    const [slice] = await scene.slices();
    deepEqual(slice.ports.map(({ name, port }) => [name, port]), [["p80", 10_007]]);
    deepEqual(slice.endpoints.map(({ nodeName, zone }) => [nodeName, zone]), [["zoned", "a"]]);
  },
);

clusterTest("an object that is as planned is not written", async (cluster) => {
  await using scene = await served(cluster);
  await scene.quiet();
  const from = scene.calls;
  scene.keeper.sync([scene.plan()]);
  scene.keeper.wake();
  await scene.quiet();
  // Changes of a pod that no endpoint shows.
  await scene.proxy("proxy-1", "10.244.0.1");
  await scene.quiet();
  deepEqual(scene.writes(from), []);
});

clusterTest(
  "a new port is in the slices before it is in the Service, an old one leaves the Service first",
  async (cluster) => {
    await using scene = await served(cluster);
    const { spec } = await scene.mustService();
    let from = scene.calls;
    scene.keeper.sync([scene.plan({ ports: [HTTP, HTTPS] })]);
    await scene.programmed();
    deepEqual(scene.writes(from), [
      "patch endpointslices web-pingress-ipv4-0",
      "patch services web-pingress",
    ]);
    const both = await scene.mustService();
    deepEqual(both.spec.ports.map(({ port }) => port), [80, 443]);
    equal(both.spec.clusterIP, spec.clusterIP);
    from = scene.calls;
    scene.keeper.sync([scene.plan({ ports: [HTTPS] })]);
    await scene.programmed();
    deepEqual(scene.writes(from), [
      "patch services web-pingress",
      "patch endpointslices web-pingress-ipv4-0",
    ]);
    const [slice] = await scene.slices();
    deepEqual(slice.ports.map(({ port }) => port), [10_008]);
  },
);

clusterTest(
  "without an open port, no slice leads to a proxy, and the address stays",
  async (cluster) => {
    await using scene = await served(cluster);
    const { spec } = await scene.mustService();
    scene.keeper.sync([scene.plan({ ports: null })]);
    await scene.quiet();
    await scene.reaches(["10.244.0.1 ready"]);
    scene.keeper.sync([scene.plan({ ports: [] })]);
    await eventually("end of the slices", async () => (await scene.slices()).length === 0);
    equal((await scene.mustService()).spec.clusterIP, spec.clusterIP);
    equal(scene.state()?.fault?.reason, "Pending");
    scene.keeper.sync([scene.plan()]);
    await scene.reaches(["10.244.0.1 ready"]);
  },
);

clusterTest("a Service of the name that is somebody else's is not touched", async (cluster) => {
  await using scene = await AddressScene.create(cluster);
  const foreign = {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name: "web-pingress", namespace: scene.namespace },
    spec: { selector: { app: "x" }, ports: [{ port: 8080 }] },
  };
  await cluster.apply(foreign);
  const before = await scene.mustService();
  scene.keeper.sync([scene.plan()]);
  const { fault, addresses } = await scene.until(
    "web",
    ({ fault }) => fault?.message.includes("not of this controller") ?? false,
  );
  equal(fault?.reason, "Pending");
  match(fault?.message ?? "", new RegExp(`Service ${scene.namespace}/web-pingress exists`));
  deepEqual(addresses, []);
  deepEqual(await scene.mustService(), before);
  deepEqual(await scene.slices(), []);
  // The name is free again.
  await cluster.delete("v1", "Service", "web-pingress", scene.namespace);
  await scene.programmed();
});

clusterTest(
  "of two Gateways with one name for their Services, the first has it",
  async (cluster) => {
    await using scene = await AddressScene.create(cluster);
    const first = scene.plan({ gateway: { name: "a", className: "b-pingress", uid: "1" } });
    const second = scene.plan({ gateway: { name: "a-b", className: "pingress", uid: "2" } });
    scene.keeper.sync([first]);
    await scene.programmed("a");
    scene.keeper.sync([first, second]);
    const { fault } = await scene.until(
      "a-b",
      ({ fault }) => fault?.message.includes("belongs to") ?? false,
    );
    match(fault?.message ?? "", new RegExp(`belongs to Gateway ${scene.namespace}/a,`));
    equal(scene.state("a")?.fault, null);
    scene.keeper.sync([second]);
    await scene.programmed("a-b");
  },
);

const EDITS: Readonly<Record<string, unknown>> = {
  "a selector": { spec: { selector: { app: "x" } } },
  "external addresses": { spec: { externalIPs: ["192.0.2.7"] } },
  "another target": { spec: { ports: [{ name: "p80", port: 80, targetPort: 9090 }] } },
  "another port": {
    spec: {
      ports: [{ name: "p80", port: 80, targetPort: 10_007 }, {
        name: "x",
        port: 81,
        targetPort: 9090,
      }],
    },
  },
  "another type": { spec: { type: "NodePort" } },
  "a name elsewhere": {
    spec: {
      type: "ExternalName",
      externalName: "x.example.com",
      clusterIP: null,
      clusterIPs: null,
    },
  },
  "a label of ours": {
    metadata: { labels: { "gateway.networking.k8s.io/gateway-class-name": "other" } },
  },
};

for (const [what, patch] of Object.entries(EDITS)) {
  clusterTest(`an edit of the Service is put back: ${what}`, async (cluster) => {
    await using scene = await served(cluster);
    await isPutBack(scene, patch);
    await scene.programmed();
  });

  clusterTest(
    `an edit of the Service is put back while open ports are not known: ${what}`,
    async (cluster) => {
      await using scene = await served(cluster);
      scene.keeper.sync([scene.plan({ ports: null })]);
      await scene.quiet();
      await isPutBack(scene, patch);
      await scene.reaches(["10.244.0.1 ready"]);
      const [slice] = await scene.slices();
      deepEqual(slice.ports.map(({ name, port }) => [name, port]), [["p80", 10_007]]);
    },
  );
}

/** Edits the Service, and waits until it is as before. */
async function isPutBack(scene: AddressScene, patch: unknown): Promise<void> {
  const before = await scene.mustService();
  await scene.edit("v1", "Service", "web-pingress", patch);
  await eventually("the Service as before", async () => {
    const { spec, metadata } = await scene.mustService();
    const { type, selector, externalIPs, externalName } = spec as LiveSpec;
    return type === "ClusterIP" && selector === undefined && externalIPs === undefined &&
      externalName === undefined &&
      JSON.stringify(spec.ports) === JSON.stringify(before.spec.ports) &&
      JSON.stringify(metadata.labels) === JSON.stringify(before.metadata.labels);
  });
}

clusterTest(
  "a port that others add to the Service does not get into the slices",
  async (cluster) => {
    await using scene = await served(cluster);
    const from = scene.calls;
    await isPutBack(scene, EDITS["another port"]);
    await scene.quiet();
    deepEqual(scene.writes(from), ["patch services web-pingress"]);
  },
);

interface LiveSpec {
  readonly type: string;
  readonly selector?: unknown;
  readonly externalIPs?: unknown;
  readonly externalName?: unknown;
}

clusterTest(
  "a foreign endpoint in a slice is removed, and a deleted slice comes back",
  async (cluster) => {
    await using scene = await served(cluster);
    const slice = "web-pingress-ipv4-0";
    const endpoints = [{ addresses: ["10.244.7.7"], conditions: { ready: true } }];
    await scene.edit("discovery.k8s.io/v1", "EndpointSlice", slice, { endpoints });
    await scene.reaches(["10.244.0.1 ready"]);
    await cluster.delete("discovery.k8s.io/v1", "EndpointSlice", slice, scene.namespace);
    await scene.reaches(["10.244.0.1 ready"]);
  },
);

/** What a Service shows of its parameters. */
async function shape(scene: AddressScene) {
  const { metadata, spec } = await scene.mustService();
  const { type, externalTrafficPolicy, loadBalancerClass, loadBalancerSourceRanges } = spec as
    & ParameterFields
    & LiveSpec;
  return {
    uid: metadata.uid,
    type,
    externalTrafficPolicy,
    loadBalancerClass,
    loadBalancerSourceRanges,
  };
}

interface ParameterFields {
  readonly externalTrafficPolicy?: string;
  readonly loadBalancerClass?: string;
  readonly loadBalancerSourceRanges?: readonly string[];
}

const PARAMETERS: readonly Parameters<typeof gatewayPlan>[0][] = [
  { service: { type: "LoadBalancer", loadBalancerClass: "example.com/a" } },
  {
    service: {
      type: "LoadBalancer",
      loadBalancerClass: "example.com/a",
      externalTrafficPolicy: "Cluster",
      allowedSourceRanges: ["192.0.2.0/24"],
    },
  },
  { service: { type: "NodePort", externalTrafficPolicy: "Cluster" } },
  { service: { type: "NodePort", annotations: { note: "x" } } },
  { service: { type: "LoadBalancer", loadBalancerClass: "example.com/b" } },
  { service: { type: "ClusterIP", ipFamilyPolicy: "SingleStack" } },
];

clusterTest("a Service gets other parameters in place, and keeps its address", async (cluster) => {
  await using scene = await served(cluster);
  const before = await scene.mustService();
  for (const changes of PARAMETERS) {
    const { type, externalTrafficPolicy, loadBalancerClass, allowedSourceRanges, annotations } =
      gatewayPlan(changes).service;
    scene.keeper.sync([scene.plan(changes)]);
    const wanted = {
      uid: before.metadata.uid,
      type,
      externalTrafficPolicy: type === "ClusterIP" ? undefined : externalTrafficPolicy,
      loadBalancerClass: loadBalancerClass ?? undefined,
      loadBalancerSourceRanges: allowedSourceRanges.length === 0 ? undefined : allowedSourceRanges,
    };
    await eventually(
      JSON.stringify(wanted),
      async () => JSON.stringify(await shape(scene)) === JSON.stringify(wanted),
    );
    await eventually("annotations", async () => {
      const { metadata } = await scene.mustService();
      return JSON.stringify(metadata.annotations ?? {}) === JSON.stringify(annotations);
    });
    equal((await scene.mustService()).spec.clusterIP, before.spec.clusterIP);
    await scene.reaches(["10.244.0.1 ready"]);
  }
});

clusterTest(
  "another class of load balancers leaves the Service, and all else of it changes",
  async (cluster) => {
    await using scene = await served(cluster);
    const balanced = (loadBalancerClass: string, ports = [HTTP]) =>
      scene.plan({ ports, service: { type: "LoadBalancer", loadBalancerClass } });
    scene.keeper.sync([balanced("example.com/a")]);
    await eventually(
      "the class",
      async () => (await shape(scene)).loadBalancerClass === "example.com/a",
    );
    const before = await scene.mustService();
    scene.keeper.sync([balanced("example.com/b", [HTTP, HTTPS])]);
    const { fault } = await scene.until("web", ({ fault }) => fault?.reason === "Invalid");
    match(fault?.message ?? "", /has loadBalancerClass example.com\/a, .* Delete the Service/);
    await eventually("both ports", async () => (await scene.mustService()).spec.ports.length === 2);
    equal((await scene.mustService()).metadata.uid, before.metadata.uid);
    await cluster.delete("v1", "Service", "web-pingress", scene.namespace);
    await eventually("the other class", async () => {
      const service = await scene.service();
      return service !== null && (await shape(scene)).loadBalancerClass === "example.com/b";
    });
    await scene.until("web", ({ fault }) => fault?.reason === "AddressNotAssigned");
  },
);

clusterTest(
  "while parameters cannot be used, the Service stays, and leads to the proxies that there are",
  async (cluster) => {
    await using scene = await served(cluster);
    const before = await scene.mustService();
    const plan = { ...scene.plan({ labels: { team: "x" } }), service: null };
    scene.keeper.sync([plan, { ...plan, gateway: { ...plan.gateway, name: "new", uid: "u2" } }]);
    await scene.proxy("proxy-2", "10.244.0.2");
    await scene.reaches(["10.244.0.1 ready", "10.244.0.2 ready"]);
    const { metadata, spec } = await scene.mustService();
    deepEqual([metadata.labels, spec], [before.metadata.labels, before.spec]);
    deepEqual(scene.state()?.addresses.map(({ value }) => value), spec.clusterIPs);
    equal(scene.state()?.fault?.reason, "Invalid");
    await scene.quiet();
    equal(await scene.service("new-pingress"), null);
  },
);

clusterTest(
  "labels and annotations of others stay, and ours go with the Gateway's",
  async (cluster) => {
    await using scene = await AddressScene.create(cluster);
    scene.keeper.sync([scene.plan({ labels: { team: "edge" }, annotations: { note: "x" } })]);
    await scene.programmed();
    await scene.edit("v1", "Service", "web-pingress", {
      metadata: { labels: { theirs: "y" }, annotations: { "cloud.example.com/id": "7" } },
    });
    scene.keeper.sync([scene.plan({ annotations: { note: "z" } })]);
    await eventually("the new annotation", async () => {
      const { metadata } = await scene.mustService();
      return metadata.annotations?.note === "z";
    });
    const { metadata } = await scene.mustService();
    equal(metadata.labels?.team, undefined);
    equal(metadata.labels?.theirs, "y");
    deepEqual(metadata.annotations, { note: "z", "cloud.example.com/id": "7" });
  },
);

clusterTest("slices follow proxies that come, drain and go", async (cluster) => {
  await using scene = await served(cluster);
  scene.keeper.sync([scene.plan(), scene.plan({ gateway: { name: "other", uid: "u2" } })]);
  await scene.programmed("other");
  await scene.proxy("proxy-2", "10.244.0.2", { ready: false });
  await scene.reaches(["10.244.0.1 ready", "10.244.0.2"]);
  await scene.proxy("proxy-2", "10.244.0.2");
  await scene.reaches(["10.244.0.1 ready", "10.244.0.2 ready"]);
  await scene.reaches(["10.244.0.1 ready", "10.244.0.2 ready"], "other-pingress");
  await scene.end("proxy-1");
  await scene.reaches(["10.244.0.1 serving terminating", "10.244.0.2 ready"]);
  await scene.proxy("proxy-1", "10.244.0.1", { ready: false });
  await scene.reaches(["10.244.0.1 terminating", "10.244.0.2 ready"]);
  const path = await cluster.pathOf("v1", "Pod", "proxy-1", scene.system);
  await cluster.request("DELETE", path, { gracePeriodSeconds: 0 });
  await scene.reaches(["10.244.0.2 ready"]);
  await scene.reaches(["10.244.0.2 ready"], "other-pingress");
});

clusterTest(
  "when we begin to lead, all slices are put right before anything else",
  async (cluster) => {
    await using scene = await AddressScene.create(cluster);
    await scene.proxy("proxy-1", "10.244.0.1");
    const names = Array.from({ length: 40 }, (_, i) => `gw-${i}`);
    const plans = names.map((name) => scene.plan({ gateway: { name, uid: name } }));
    scene.keeper.sync(plans);
    for (const name of names) await scene.programmed(name);
    scene.leads = false;
    scene.keeper.forget();
    await scene.proxy("proxy-2", "10.244.0.2");
    const wanted = plans.map((plan) => ({ ...plan, ports: [HTTP, HTTPS], labels: { team: "x" } }));
    scene.keeper.sync([...wanted, scene.plan({ gateway: { name: "new", uid: "new" } })]);
    const from = scene.calls;
    scene.leads = true;
    scene.keeper.wake();
    for (const name of [...names, "new"]) await scene.programmed(name);
    const writes = scene.writes(from);
    const lastSlice = Math.max(
      ...names.map((name) => writes.indexOf(`patch endpointslices ${name}-pingress-ipv4-0`)),
    );
    const firstService = writes.findIndex((write) => write.includes(" services "));
    equal(lastSlice, names.length - 1, writes.join("\n"));
    ok(firstService > lastSlice, writes.join("\n"));
    for (const name of names) {
      await scene.reaches(["10.244.0.1 ready", "10.244.0.2 ready"], `${name}-pingress`);
    }
  },
);

clusterTest(
  "where a leader ends between a Service and its slices, the next one makes these before anything else",
  async (cluster) => {
    await using scene = await AddressScene.create(cluster);
    await scene.proxy("proxy-1", "10.244.0.1");
    const broken = scene.gateway.inject(
      { verb: ["create"], resource: "endpointslices" },
      failure(503, "ServiceUnavailable"),
    );
    scene.keeper.sync([scene.plan()]);
    await eventually("a Service without slices", async () => await scene.service() !== null);
    await eventually("a try to make slices", () => broken.hits > 0);
    scene.leads = false;
    scene.keeper.forget();
    broken.remove();
    // Those that come first by name have no Service yet.
    const others = ["a", "b", "c"];
    scene.keeper.sync([
      ...others.map((name) => scene.plan({ gateway: { name, uid: name } })),
      scene.plan(),
    ]);
    const from = scene.calls;
    scene.leads = true;
    scene.keeper.wake();
    for (const name of [...others, "web"]) await scene.programmed(name);
    const [{ verb, resource, body }] = scene.recorded(from);
    deepEqual(
      [verb, resource, JSON.parse(String(body)).metadata.name],
      ["create", "endpointslices", "web-pingress-ipv4-0"],
    );
    for (const name of [...others, "web"]) {
      await scene.reaches(["10.244.0.1 ready"], `${name}-pingress`);
    }
  },
);

clusterTest("without leadership nothing is written", async (cluster) => {
  await using scene = await AddressScene.create(cluster, { leads: false });
  scene.keeper.sync([scene.plan()]);
  await scene.proxy("proxy-1", "10.244.0.1");
  await eventually("Pending", () => scene.state()?.fault?.reason === "Pending");
  deepEqual(scene.writes(), []);
  equal(await scene.service(), null);
});

clusterTest(
  "objects of a Gateway that is not planned any more are deleted, those of others are not",
  async (cluster) => {
    await using scene = await served(cluster);
    scene.keeper.sync([scene.plan(), scene.plan({ gateway: { name: "other", uid: "u2" } })]);
    await scene.programmed("other");
    // Our label alone makes nothing ours.
    const labels = { ...(await scene.mustService()).metadata.labels };
    const ports = [{ port: 80 }];
    await cluster.apply({
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: "labelled", namespace: scene.namespace, labels },
      spec: { ports },
    });
    scene.keeper.sync([scene.plan({ gateway: { name: "other", uid: "u2" } })]);
    await eventually(
      "end of Service and slices",
      async () => await scene.service() === null && (await scene.slices()).length === 0,
    );
    notEqual(await scene.service("labelled"), null);
    notEqual(await scene.service("other-pingress"), null);
    equal(scene.state("other")?.fault, null);
    // Nothing is known of Gateways.
    scene.keeper.sync(null);
    await scene.quiet();
    notEqual(await scene.service("other-pingress"), null);
  },
);

clusterTest("a Gateway that comes back in time keeps its address", async (cluster) => {
  await using scene = await AddressScene.create(cluster, { removalDelay: 600_000 });
  scene.keeper.sync([scene.plan()]);
  const addresses = await scene.programmed();
  scene.keeper.sync([]);
  await scene.quiet();
  scene.keeper.sync([scene.plan()]);
  deepEqual(await scene.programmed(), addresses);
  deepEqual(scene.writes().filter((write) => write.startsWith("delete")), []);
});

clusterTest("a re-created Gateway gets objects of its own", async (cluster) => {
  await using scene = await served(cluster);
  const before = await scene.mustService();
  scene.keeper.sync([scene.plan({ gateway: { uid: "u9" } })]);
  await eventually("new Service", async () => {
    const service = await scene.service();
    return service !== null && service.metadata.uid !== before.metadata.uid;
  });
  await scene.programmed();
  await scene.reaches(["10.244.0.1 ready"]);
  const [slice] = await scene.slices();
  deepEqual(
    [slice, await scene.mustService()].map(({ metadata: { ownerReferences } }) =>
      (ownerReferences as { readonly uid: string }[]).map(({ uid }) => uid)
    ),
    [["u9"], ["u9"]],
  );
});

clusterTest(
  "an address that is asked for is assigned, by a new Service where needed",
  async (cluster) => {
    await using scene = await served(cluster);
    const taken = (await scene.mustService()).spec.clusterIP;
    // A free one of the same network.
    const probe = await cluster.apply<AddressService>({
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: "probe", namespace: scene.namespace },
      spec: { ports: [{ port: 80 }] },
    });
    const value = probe[0].spec.clusterIP;
    await cluster.delete("v1", "Service", "probe", scene.namespace);
    scene.keeper.sync([scene.plan({
      addresses: [{ type: "Hostname", value: "a.example.com" }, { type: "IPAddress", value }],
    })]);
    const { fault, addresses } = await scene.until("web", ({ fault }) => fault !== null);
    deepEqual([fault?.reason, addresses], ["AddressNotUsable", []]);
    equal((await scene.mustService()).spec.clusterIP, taken);
    scene.keeper.sync([scene.plan({ addresses: [{ type: "IPAddress", value }] })]);
    await eventually("the address", () => {
      const state = scene.state();
      return state?.fault === null && state.addresses.map(({ value }) => value).join() === value;
    });
    await scene.reaches(["10.244.0.1 ready"]);
    // One without a value is satisfied with any.
    scene.keeper.sync([scene.plan({ addresses: [{ type: "IPAddress", value: null }] })]);
    deepEqual(await scene.programmed(), [value]);
  },
);

interface AddressService {
  readonly metadata: { readonly name: string };
  readonly spec: { readonly clusterIP: string };
}

clusterTest(
  "an address outside of the cluster's network is not usable, in the API server's words",
  async (cluster) => {
    await using scene = await AddressScene.create(cluster);
    scene.keeper.sync([scene.plan({ addresses: [{ type: "IPAddress", value: "192.0.2.7" }] })]);
    const { fault, addresses } = await scene.until(
      "web",
      ({ fault }) => fault?.reason === "AddressNotUsable",
    );
    match(
      fault?.message ?? "",
      /rejected by the API server: .*192\.0\.2\.7.*Write another address/,
    );
    deepEqual(addresses, []);
  },
);

clusterTest(
  "the addresses of a load balancer are shown once it has assigned them",
  async (cluster) => {
    await using scene = await AddressScene.create(cluster);
    scene.keeper.sync([scene.plan({ service: { type: "LoadBalancer" } })]);
    await scene.until("web", ({ fault }) => fault?.reason === "AddressNotAssigned");
    await scene.edit("v1", "Service", "web-pingress", {
      status: { loadBalancer: { ingress: [{ ip: "203.0.113.7" }] } },
    }, "status");
    deepEqual(await scene.programmed(), ["203.0.113.7"]);
  },
);

clusterTest("node ports stay when ports are added", async (cluster) => {
  await using scene = await AddressScene.create(cluster);
  scene.keeper.sync([scene.plan({ service: { type: "NodePort" } })]);
  await scene.programmed();
  const [{ nodePort }] = (await scene.mustService()).spec.ports;
  scene.keeper.sync([scene.plan({ service: { type: "NodePort" }, ports: [HTTPS, HTTP] })]);
  await scene.programmed();
  const { spec } = await scene.mustService();
  deepEqual(spec.ports.map(({ port }) => port), [80, 443]);
  equal(spec.ports[0].nodePort, nodePort);
});

clusterTest(
  "a quota is the Gateway's fault in the API server's words, and is retried",
  async (cluster) => {
    await using scene = await AddressScene.create(cluster);
    const quota = (hard: number) =>
      cluster.apply({
        apiVersion: "v1",
        kind: "ResourceQuota",
        metadata: { name: "few", namespace: scene.namespace },
        spec: { hard: { services: String(hard) } },
      });
    await quota(0);
    // As the controller of quotas would.
    const path = await cluster.pathOf("v1", "ResourceQuota", "few", scene.namespace);
    const setStatus = (hard: number) =>
      cluster.request(
        "PATCH",
        `${path}/status`,
        { status: { hard: { services: String(hard) }, used: { services: "0" } } },
        "application/merge-patch+json",
      );
    await setStatus(0);
    await eventually("the quota", async () => {
      const folder = dirname(await cluster.pathOf("v1", "Service", "x", scene.namespace));
      const { text } = await cluster.request("POST", `${folder}?dryRun=All`, {
        apiVersion: "v1",
        kind: "Service",
        metadata: { name: "probe" },
        spec: { ports: [{ port: 80 }] },
      });
      return text.includes("exceeded quota");
    });
    scene.keeper.sync([scene.plan()]);
    const { fault } = await scene.until("web", ({ fault }) => fault?.reason === "Invalid");
    match(fault?.message ?? "", /exceeded quota: few.*Raise the quota/);
    deepEqual(
      scene.logged.filter(({ level }) => level === "warn").map(({ message }) => message),
      ["Address of a Gateway cannot be provided"],
    );
    await quota(5);
    await setStatus(5);
    await scene.programmed();
  },
);

clusterTest("an API server that fails for a moment costs nothing but time", async (cluster) => {
  await using scene = await served(cluster);
  scene.gateway.inject({ verb: ["create", "patch"] }, failure(503, "ServiceUnavailable"), 2);
  scene.keeper.sync([scene.plan({ ports: [HTTP, HTTPS] })]);
  await scene.programmed();
});
