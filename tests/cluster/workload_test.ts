/** What the API server says to the objects of the proxy workload, and to pod templates. */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { projection } from "../../controller/outputs/workload/projection.ts";
import {
  idOf,
  MERGE_KEYS,
  strategicMerge,
} from "../../controller/outputs/workload/strategic_merge.ts";
import { asList, asObject, type JsonObject } from "../../controller/base/json.ts";
import {
  workloadObjects,
  type WorkloadOptions,
} from "../../controller/outputs/workload/objects.ts";
import type { TestCluster } from "./support/cluster.ts";
import { clusterTest } from "./support/cluster_case.ts";
import { AUTOSCALED, HOST_PORT, type Live, LOAD_BALANCER, NAME } from "./support/workload_scene.ts";

const VARIANTS: Readonly<Record<string, WorkloadOptions>> = {
  "HostPort": HOST_PORT,
  "HostPort with all that can be set": {
    ...HOST_PORT,
    imagePullSecrets: ["a", "b"],
    nodeSelector: { "example.com/edge": "true" },
    priorityClass: "system-node-critical",
    drainDelay: 0,
    drainTimeout: 1,
    proxyArgs: ["--workers=8", "--log-level=warn"],
    podTemplate: {
      metadata: { annotations: { "example.com/scrape": "true" } },
      spec: { tolerations: [{ operator: "Exists" }] },
    },
  },
  "LoadBalancer": LOAD_BALANCER,
  "LoadBalancer with an autoscaler": AUTOSCALED,
  "LoadBalancer with a NodePort": { ...LOAD_BALANCER, serviceType: "NodePort" },
  "LoadBalancer with a ClusterIP": { ...LOAD_BALANCER, serviceType: "ClusterIP", replicas: 1 },
  "LoadBalancer of a class, with annotations": {
    ...LOAD_BALANCER,
    loadBalancerClass: "example.com/fast",
    serviceAnnotations: { "example.com/scheme": "internal" },
  },
};

for (const [name, options] of Object.entries(VARIANTS)) {
  clusterTest(`the API server accepts ${name}, each field as written`, async (cluster) => {
    const namespace = await cluster.newNamespace("workload");
    const { apply, problems } = workloadObjects({ ...options, namespace });
    deepEqual(problems, []);
    for (const object of apply) {
      const path = await cluster.pathOf(object.apiVersion, object.kind, NAME, namespace);
      const query = "?fieldManager=tests&force=true&dryRun=All&fieldValidation=Strict";
      const type = "application/apply-patch+yaml";
      const strict = await cluster.request("PATCH", `${path}${query}`, object, type);
      equal(strict.status, 201, strict.text);
      const [live] = await cluster.apply<Live>(JSON.stringify(object));
      // Else every look at the object would find a difference.
      deepEqual(projection(object, live), JSON.parse(JSON.stringify(object)));
    }
  });
}

/** Tries a pod; the answer of admission. */
async function tryPod(
  cluster: TestCluster,
  options: WorkloadOptions,
  level: string,
  change: (spec: JsonObject) => JsonObject = (spec) => spec,
): Promise<{ readonly status: number; readonly message: string }> {
  const namespace = await cluster.newNamespace("workload");
  await cluster.apply({
    apiVersion: "v1",
    kind: "Namespace",
    metadata: { name: namespace, labels: { "pod-security.kubernetes.io/enforce": level } },
  });
  await cluster.apply({
    apiVersion: "v1",
    kind: "ServiceAccount",
    metadata: { name: NAME, namespace },
  });
  const workload = workloadObjects({ ...options, namespace }).apply
    .find(({ kind }) => kind === "DaemonSet" || kind === "Deployment")!;
  const { template } = workload.spec as { template: { metadata: JsonObject; spec: JsonObject } };
  const pod = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { ...template.metadata, name: "proxy", namespace },
    spec: change(template.spec),
  };
  const path = `/api/v1/namespaces/${namespace}/pods?dryRun=All&fieldValidation=Strict`;
  const { status, body } = await cluster.request("POST", path, pod);
  return { status, message: String(body.message ?? "") };
}

clusterTest(
  "a namespace that enforces restricted accepts the Deployment's pods",
  async (cluster) => {
    const { status, message } = await tryPod(cluster, LOAD_BALANCER, "restricted");
    equal(status, 201, message);
  },
);

clusterTest(
  "a namespace for HostPort must enforce privileged, only because of its host ports",
  async (cluster) => {
    const withoutHostPorts = (spec: JsonObject) => {
      const [container, ...others] = spec.containers as { ports: JsonObject[] }[];
      const ports = container.ports.map(({ hostPort: _hostPort, ...port }) => port);
      return { ...spec, containers: [{ ...container, ports }, ...others] };
    };
    const baseline = await tryPod(cluster, HOST_PORT, "baseline");
    equal(baseline.status, 403);
    match(baseline.message, /violates PodSecurity "baseline:latest": hostPort/);
    equal((await tryPod(cluster, HOST_PORT, "privileged")).status, 201);
    const closed = await tryPod(cluster, HOST_PORT, "restricted", withoutHostPorts);
    equal(closed.status, 201, closed.message);
  },
);

/** A user's pod templates, from plain to odd. */
const TEMPLATES: readonly JsonObject[] = [
  { metadata: { labels: { team: "edge" }, annotations: { a: "b" } } },
  { spec: { terminationGracePeriodSeconds: 60, priorityClassName: "system-node-critical" } },
  { spec: { securityContext: { fsGroup: null, sysctls: [{ name: "a.b", value: "1" }] } } },
  { spec: { securityContext: { $patch: "replace", runAsUser: 1 } } },
  { spec: { securityContext: { $patch: "delete" } } },
  { spec: { nodeSelector: { a: "b", "kubernetes.io/os": null } } },
  { spec: { tolerations: [{ operator: "Exists" }] } },
  { spec: { topologySpreadConstraints: null } },
  {
    spec: {
      topologySpreadConstraints: [
        { topologyKey: "topology.kubernetes.io/zone", whenUnsatisfiable: "DoNotSchedule" },
        { topologyKey: "rack", maxSkew: 2, whenUnsatisfiable: "ScheduleAnyway" },
      ],
    },
  },
  { spec: { imagePullSecrets: [{ name: "c" }, { name: "a", $patch: "delete" }] } },
  { spec: { hostAliases: [{ ip: "10.0.0.1", hostnames: ["a"] }] } },
  { spec: { affinity: { nodeAffinity: null }, dnsConfig: { nameservers: ["10.0.0.1"] } } },
  {
    spec: {
      initContainers: [{ name: "init", image: "init:1" }],
      containers: [{ name: "sidecar", image: "side:1", ports: [{ containerPort: 1 }] }],
    },
  },
  {
    spec: {
      containers: [{
        name: NAME,
        image: "proxy:2",
        args: ["--config=/x"],
        resources: { limits: { cpu: "2", memory: null }, requests: { memory: "1Gi" } },
        env: [{ name: "A", value: "1" }, { name: "PROXY_MEMORY_LIMIT", $patch: "delete" }],
        ports: [{ containerPort: 9090, $patch: "delete" }, { containerPort: 9091 }],
        volumeMounts: [{ mountPath: "/tmp", name: "tmp" }],
        livenessProbe: { periodSeconds: 20, httpGet: null, tcpSocket: { port: 9090 } },
        securityContext: { capabilities: { add: ["NET_BIND_SERVICE"] } },
      }],
      volumes: [{ name: "tmp", emptyDir: {} }],
    },
  },
  {
    spec: {
      containers: [{ name: NAME, env: [{ $patch: "replace" }, { name: "B", value: "2" }] }],
    },
  },
  {
    spec: {
      volumes: [{
        name: "config",
        $retainKeys: ["name", "emptyDir"],
        emptyDir: { medium: "Memory" },
      }],
    },
  },
  {
    spec: {
      volumes: [
        { $patch: "replace" },
        { name: "config", configMap: { name: "mine", items: [{ key: "a", path: "b" }] } },
      ],
    },
  },
];

clusterTest("pod templates are merged as by the API server", async (cluster) => {
  const namespace = await cluster.newNamespace("workload");
  const options = { ...LOAD_BALANCER, namespace, imagePullSecrets: ["a", "b"] };
  const deployment = workloadObjects(options).apply.find(({ kind }) => kind === "Deployment")!;
  const spec = deployment.spec as JsonObject & { readonly template: JsonObject };
  const path = await cluster.pathOf("apps/v1", "Deployment", null, namespace);
  await cluster.apply(JSON.stringify(deployment));
  for (const patch of TEMPLATES) {
    const merged = strategicMerge(spec.template, patch);
    ok(merged.ok, JSON.stringify(merged));
    const theirs = await cluster.request(
      "PATCH",
      `${path}/${NAME}?dryRun=All`,
      { spec: { template: patch } },
      "application/strategic-merge-patch+json",
    );
    const ours = await cluster.request("POST", `${path}?dryRun=All`, {
      ...deployment,
      metadata: { name: "ours", namespace },
      spec: { ...spec, template: merged.value },
    });
    equal(theirs.status, 200, `${JSON.stringify(patch)}: ${theirs.text}`);
    equal(ours.status, 201, `${JSON.stringify(patch)}: ${ours.text}`);
    const templateOf = ({ body }: typeof ours) => sorted((body.spec as JsonObject).template);
    deepEqual(templateOf(ours), templateOf(theirs), JSON.stringify(patch));
  }
});

/** With members of lists in the order of their keys: ours come first, the API server's last. */
function sorted(value: unknown, name = ""): unknown {
  const list = asList(value)?.map((member) => sorted(member));
  if (list !== undefined) {
    const keys = Object.hasOwn(MERGE_KEYS, name) ? MERGE_KEYS[name] : null;
    return keys === null ? list : list.toSorted((a, b) => idOf(a, keys)! < idOf(b, keys)! ? -1 : 1);
  }
  const map = asObject(value);
  return map === null ? value : Object.fromEntries(
    Object.entries(map).map(([field, inner]) => [field, sorted(inner, field)]),
  );
}

clusterTest("lists are merged by the keys of the API's own schema", async (cluster) => {
  const { body } = await cluster.request("GET", "/openapi/v2");
  const definitions = body.definitions as Record<string, Definition>;
  const found: Record<string, string> = {};
  const plain = new Set<string>();
  const visit = (type: string, seen: readonly string[]) => {
    if (seen.includes(type)) return;
    for (const [name, field] of Object.entries(definitions[type]?.properties ?? {})) {
      const key = field["x-kubernetes-patch-merge-key"];
      if (key !== undefined) found[name] = key;
      else if (field.type === "array") plain.add(name);
      const inner = field.$ref ?? field.items?.$ref ?? field.additionalProperties?.$ref;
      if (inner !== undefined) visit(inner.split("/").at(-1)!, [...seen, type]);
    }
  };
  visit("io.k8s.api.core.v1.PodTemplateSpec", []);
  const ours = Object.fromEntries(Object.entries(MERGE_KEYS).map(([name, [key]]) => [name, key]));
  deepEqual(ours, found);
  // A field's name is enough: no list of that name merges otherwise.
  deepEqual([...plain].filter((name) => Object.hasOwn(MERGE_KEYS, name)), []);
});

interface Definition {
  readonly properties?: Readonly<Record<string, Field>>;
}

interface Field {
  readonly type?: string;
  readonly $ref?: string;
  readonly items?: { readonly $ref?: string };
  readonly additionalProperties?: { readonly $ref?: string };
  readonly "x-kubernetes-patch-merge-key"?: string;
}
