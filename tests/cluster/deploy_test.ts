/**
 * `deno task deploy` and `deno task undeploy` against a real API server, by the real kubectl. No
 * controller-manager runs here: a test does what it would do, where it is waited for.
 */
import { deepEqual, doesNotMatch, equal, match, notEqual, ok } from "node:assert/strict";
import { VERSION } from "../../shared/version.ts";
import type { KubeObject } from "./support/api_client.ts";
import { startCluster, type TestCluster } from "./support/cluster.ts";
import {
  ownerReference,
  ownLabels,
  SERVICE_NAME_LABEL,
} from "../../controller/outputs/addresses/names.ts";
import { CLASS_FINALIZER } from "../../controller/outputs/gateway_status/class_finalizer.ts";
import { GATEWAY_CONTROLLER } from "../../controller/translate/gateway/objects/gateway_class.ts";
import { gatewayCrd } from "./support/gateway_crds.ts";
import { clusterTest } from "./support/cluster_case.ts";
import { eventually } from "./support/condition.ts";
import { deployTask } from "./support/deploy_task.ts";
import { manifest } from "./support/kubectl.ts";
import { NAMESPACE } from "./support/predecessor.ts";
import { type Policy, variablesOf } from "./support/policy.ts";

interface Controller extends KubeObject {
  readonly metadata: KubeObject["metadata"] & { readonly generation?: number };
  readonly spec: {
    readonly replicas: number;
    readonly template: {
      readonly spec: {
        readonly containers: readonly { readonly image: string; readonly args: string[] }[];
      };
    };
  };
}

const controllerOf = (cluster: TestCluster) =>
  cluster.get<Controller>("apps/v1", "Deployment", "pingress-controller", NAMESPACE);

/** As the Deployment's controller does once all of its pods are ready. */
async function makeReady(cluster: TestCluster): Promise<void> {
  const live = await eventually("the Deployment", () => controllerOf(cluster));
  const { replicas } = live!.spec;
  await cluster.apply({
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: live!.metadata.name, namespace: NAMESPACE },
    status: {
      observedGeneration: live!.metadata.generation,
      replicas,
      updatedReplicas: replicas,
      readyReplicas: replicas,
      availableReplicas: replicas,
    },
  }, { subresource: "status" });
}

/** As the namespace's controller does: without it, a namespace never goes. */
async function finishNamespace(cluster: TestCluster, name = NAMESPACE): Promise<void> {
  await eventually("the namespace is to go", async () => {
    const namespace = await cluster.get<KubeObject>("v1", "Namespace", name);
    return namespace?.metadata.deletionTimestamp !== undefined;
    // What is deleted before it took 44 s beside other tests, on two cores.
  }, 180_000);
  await cluster.request("PUT", `/api/v1/namespaces/${name}/finalize`, {
    apiVersion: "v1",
    kind: "Namespace",
    metadata: { name },
    spec: { finalizers: [] },
  });
}

const POLICIES = [
  "pingress-controller-other-workloads",
  "pingress-controller-workloads",
  "pingress-priority-class",
];

/** Names of admission policies and of their bindings. */
async function admissionObjects(cluster: TestCluster): Promise<string[]> {
  const kinds = ["validatingadmissionpolicies", "validatingadmissionpolicybindings"];
  const lists = await Promise.all(
    kinds.map((kind) => cluster.request("GET", `/apis/admissionregistration.k8s.io/v1/${kind}`)),
  );
  return lists.flatMap(({ body }) =>
    (body as unknown as { items: KubeObject[] }).items.map(({ metadata }) => metadata.name)
  );
}

clusterTest("deploy --dry-run lists the objects, and creates nothing", async (cluster) => {
  const tried = await deployTask(cluster, "deploy", ["--dry-run"]);
  if (tried === null) return;
  deepEqual([tried.code, tried.stderr], [0, ""]);
  match(tried.stdout, /^Cluster: .*https:\/\/127\.0\.0\.1:\d+$/m);
  match(tried.stdout, /^Deployment pingress-system\/pingress-controller: would be created$/m);
  match(tried.stdout, /^Namespace pingress-system: would be created$/m);
  match(tried.stdout, /Nothing was changed\.$/m);
  equal(await cluster.get("v1", "Namespace", NAMESPACE), null);
});

clusterTest("deploy changes nothing if the API server rejects a part", async (cluster) => {
  const kubeconfig = await cluster.serviceAccountKubeconfig(await cluster.newNamespace(), "nobody");
  const refused = await deployTask(cluster, "deploy", ["--kubeconfig", kubeconfig]);
  if (refused === null) return;
  equal(refused.code, 1);
  match(refused.stderr, /forbidden/);
  equal(await cluster.get("v1", "Namespace", NAMESPACE), null);
  const lost = await deployTask(cluster, "deploy", ["--context", "nowhere"]);
  equal(lost?.code, 1);
  match(
    lost!.stderr,
    /cannot locate context nowhere\nName a cluster by --kubeconfig or --context/,
  );
});

clusterTest("deploy reports what is missing if it does not finish", async (cluster) => {
  const deployed = await deployTask(cluster, "deploy", ["--timeout=1s"]);
  if (deployed === null) return;
  equal(deployed.code, 1, deployed.stderr);
  match(deployed.stdout, /^deployment\.apps\/pingress-controller created$/m);
  match(deployed.stderr, /^Not everything runs after 1s/m);
  match(deployed.stderr, /kube-controller-manager does not run/);
  match(deployed.stderr, /^Remove it: deno task undeploy$/m);
});

clusterTest(
  "deploy shows the log of a restarted container, and continues to wait",
  async (cluster) => {
    await cluster.apply(await manifest<KubeObject>("00-namespace.yaml"));
    const name = { name: "pingress-controller", namespace: NAMESPACE };
    await cluster.apply({ apiVersion: "v1", kind: "ServiceAccount", metadata: name });
    const pod = {
      apiVersion: "v1",
      kind: "Pod",
      metadata: {
        name: "crashing",
        namespace: NAMESPACE,
        labels: { "app.kubernetes.io/name": "pingress-controller" },
      },
    };
    await cluster.apply({
      ...pod,
      spec: {
        serviceAccountName: "pingress-controller",
        automountServiceAccountToken: false,
        containers: [{ name: "main", image: "example.com/one" }],
      },
    });
    await cluster.apply({
      ...pod,
      status: {
        conditions: [{ type: "Ready", status: "False" }],
        containerStatuses: [{
          name: "main",
          image: "example.com/one",
          imageID: "",
          ready: false,
          restartCount: 1,
          state: { waiting: { reason: "CrashLoopBackOff" } },
          lastState: { terminated: { exitCode: 1, message: "error: no such flag\n" } },
        }],
      },
    }, { subresource: "status" });
    const deployed = await deployTask(cluster, "deploy", ["--timeout=10s"]);
    const path = `/api/v1/namespaces/${NAMESPACE}/pods/crashing?gracePeriodSeconds=0`;
    await cluster.request("DELETE", path);
    if (deployed === null) return;
    equal(deployed.code, 1);
    const line = "  pod crashing, container main: waiting: CrashLoopBackOff, 1 restart; " +
      "last error: error: no such flag\n";
    match(deployed.stdout, new RegExp(`^${line}Still waiting, for up to \\d+s more\\.$`, "m"));
    match(deployed.stderr, new RegExp(line));
  },
);

clusterTest(
  "deploy ends with a first request and the way to remove everything",
  async (cluster) => {
    await cluster.apply(await manifest<KubeObject>("00-namespace.yaml"));
    await cluster.apply({ apiVersion: "v1", kind: "Node", metadata: { name: "one" } });
    await cluster.apply({
      apiVersion: "v1",
      kind: "Node",
      metadata: { name: "one" },
      status: { addresses: [{ type: "InternalIP", address: "192.0.2.7" }] },
    }, { subresource: "status" });
    const images = ["--registry=registry.example.com/team", "--tag=7"];
    const running = deployTask(cluster, "deploy", [...images, "--timeout=60s"]);
    await eventually("the Deployment has the image", async () => {
      const live = await controllerOf(cluster);
      const [container] = live?.spec.template.spec.containers ?? [];
      return container?.image === "registry.example.com/team/pingress-controller:7" ||
        cluster.programs.kubectl === null;
    });
    if (cluster.programs.kubectl !== null) await makeReady(cluster);
    const deployed = await running;
    if (deployed === null) return;
    deepEqual([deployed.code, deployed.stderr], [0, ""]);
    const [{ args }] = (await controllerOf(cluster))!.spec.template.spec.containers;
    ok(args.includes("--proxy-server-image=registry.example.com/team/pingress-proxy-server:7"));
    match(deployed.stdout, /^controller: 2 of 2 ready$/m);
    match(deployed.stdout, /kubectl apply -f manifests\/sample\/sample\.yaml$/m);
    match(
      deployed.stdout,
      /^Try it: +curl --resolve test\.example\.com:80:192\.0\.2\.7 http:\/\/test\.example\.com\/$/m,
    );
    match(deployed.stdout, /^Remove it: deno task undeploy$/m);
    deepEqual(await admissionObjects(cluster), [...POLICIES, ...POLICIES]);
    const policy = await cluster.get<Policy>(
      "admissionregistration.k8s.io/v1",
      "ValidatingAdmissionPolicy",
      "pingress-controller-workloads",
    );
    equal(variablesOf(policy!).imagePrefix, '"registry.example.com/team/"');
    deepEqual(await cluster.list("v1", "ConfigMap", { namespace: NAMESPACE }), []);
  },
);

clusterTest(
  "deploy accepts another backend and the default images over an installation",
  async (cluster) => {
    const deployed = await deployTask(cluster, "deploy", ["--backend=LoadBalancer", "--dry-run"]);
    if (deployed === null) return;
    deepEqual([deployed.code, deployed.stderr], [0, ""]);
    match(
      deployed.stdout,
      /^Deployment pingress-system\/pingress-controller: would be configured$/m,
    );
    match(
      deployed.stdout,
      new RegExp(`^ +ghcr.io/pingress/pingress-proxy-server:${VERSION}$`, "m"),
    );
  },
);

clusterTest("undeploy asks before it deletes, and leaves nothing", async (cluster) => {
  const namespace = await cluster.newNamespace();
  const ingress = {
    apiVersion: "networking.k8s.io/v1",
    kind: "Ingress",
    metadata: { name: "web", namespace, finalizers: ["kinorca.com/pingress-controller"] },
  };
  const spec = {
    ingressClassName: "pingress",
    defaultBackend: { service: { name: "web", port: { number: 80 } } },
  };
  await cluster.apply({ ...ingress, spec });
  await cluster.apply(
    { ...ingress, status: { loadBalancer: { ingress: [{ ip: "192.0.2.7" }] } } },
    { subresource: "status", fieldManager: "pingress-controller" },
  );
  const crd = gatewayCrd("GatewayClass", ["v1"]);
  const gatewayClass = {
    apiVersion: "gateway.networking.k8s.io/v1",
    kind: "GatewayClass",
    metadata: { name: "internal", finalizers: ["example.com/keep", CLASS_FINALIZER] },
    spec: { controllerName: GATEWAY_CONTROLLER },
  };
  const installedClass = {
    ...gatewayClass,
    metadata: { name: "pingress", finalizers: [CLASS_FINALIZER] },
  };
  await cluster.apply(crd);
  await eventually("the class", () => cluster.apply(gatewayClass).then(() => true, () => false));
  await cluster.apply(installedClass);
  const gateway = { name: "web", namespace, uid: crypto.randomUUID(), className: "pingress" };
  const address = {
    name: "web-pingress",
    namespace,
    labels: { ...ownLabels(gateway), [SERVICE_NAME_LABEL]: "web-pingress" },
    ownerReferences: [ownerReference(gateway)],
  };
  const service = { apiVersion: "v1", kind: "Service", spec: { ports: [{ port: 80 }] } };
  const slice = {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    addressType: "IPv4",
    endpoints: [],
  };
  await cluster.apply({ ...service, metadata: address });
  await cluster.apply({ ...slice, metadata: { ...address, name: "web-pingress-ipv4-0" } });
  const { ownerReferences: _, ...foreign } = { ...address, name: "of-others" };
  await cluster.apply({ ...service, metadata: foreign });
  const unasked = await deployTask(cluster, "undeploy", []);
  if (unasked === null) return;
  equal(unasked.code, 1);
  match(unasked.stdout, /^ {2}ClusterRole pingress-controller-cluster-role$/m);
  match(unasked.stdout, /^ {2}Namespace pingress-system, with all that is in it$/m);
  match(unasked.stdout, new RegExp(`^ {2}Service ${namespace}/web-pingress$`, "m"));
  match(unasked.stdout, /^ {2}GatewayClass pingress$/m);
  match(unasked.stdout, /of GatewayClass internal, which itself stays$/m);
  doesNotMatch(unasked.stdout, /of GatewayClass pingress/);
  match(unasked.stderr, /^Nothing was deleted/m);
  notEqual(await cluster.get("v1", "Namespace", NAMESPACE), null);

  const running = deployTask(cluster, "undeploy", ["--yes"]);
  await finishNamespace(cluster);
  const removed = await running;
  deepEqual([removed?.code, removed?.stderr], [0, ""]);
  match(removed!.stdout, /^Nothing of Pingress is left\.$/m);
  const left = await cluster.get<KubeObject & { status: unknown }>(
    "networking.k8s.io/v1",
    "Ingress",
    "web",
    namespace,
  );
  deepEqual([left?.status, left?.metadata.finalizers], [{ loadBalancer: {} }, undefined]);
  deepEqual(await admissionObjects(cluster), []);
  deepEqual(
    [
      ...await cluster.list("v1", "Service", { namespace }),
      ...await cluster.list("discovery.k8s.io/v1", "EndpointSlice", { namespace }),
    ].map(({ metadata: { name } }) => name),
    ["of-others"],
  );
  const { apiVersion, kind, metadata: { name } } = gatewayClass;
  const leftClass = await cluster.get<KubeObject>(apiVersion, kind, name);
  deepEqual(leftClass?.metadata.finalizers, ["example.com/keep"]);
  equal(await cluster.get(apiVersion, kind, "pingress"), null);
  await cluster.apply({ ...gatewayClass, metadata: { name } });
  // One of another controller stays, whatever its name.
  await cluster.apply({
    ...{ apiVersion, kind, metadata: { name: "pingress" } },
    spec: { controllerName: "example.com/other" },
  });
  const others = await deployTask(cluster, "undeploy", ["--yes"]);
  deepEqual([others?.code, others?.stderr], [0, ""]);
  notEqual(await cluster.get(apiVersion, kind, "pingress"), null);
  await cluster.delete(crd.apiVersion, crd.kind, crd.metadata.name);
  const again = await deployTask(cluster, "undeploy", ["--yes"]);
  deepEqual([again?.code, again?.stderr], [0, ""]);
  match(again!.stdout, /^There is nothing of Pingress in it\.$/m);
});

clusterTest(
  "undeploy continues if an Ingress and its namespace are deleted meanwhile",
  async (cluster) => {
    await cluster.apply(await manifest<KubeObject>("00-namespace.yaml"));
    await cluster.apply(await manifest<KubeObject>("pingress-controller.yaml"));
    // A pod that is still there holds undeploy between its list of Ingresses and their patches.
    const pod = {
      apiVersion: "v1",
      kind: "Pod",
      metadata: {
        name: "ending",
        namespace: NAMESPACE,
        labels: { "app.kubernetes.io/name": "pingress-controller" },
      },
    };
    await cluster.apply({
      apiVersion: "v1",
      kind: "ServiceAccount",
      metadata: { name: "pingress-controller", namespace: NAMESPACE },
    });
    await cluster.apply({
      ...pod,
      spec: {
        serviceAccountName: "pingress-controller",
        automountServiceAccountToken: false,
        containers: [{ name: "one", image: "example.com/one" }],
      },
    });
    const namespace = await cluster.newNamespace();
    const ingress = {
      apiVersion: "networking.k8s.io/v1",
      kind: "Ingress",
      metadata: { name: "web", namespace },
    };
    const spec = { defaultBackend: { service: { name: "web", port: { number: 80 } } } };
    await cluster.apply({ ...ingress, spec });
    await cluster.apply(
      { ...ingress, status: { loadBalancer: { ingress: [{ ip: "192.0.2.7" }] } } },
      { subresource: "status", fieldManager: "pingress-controller" },
    );
    const running = deployTask(cluster, "undeploy", ["--yes"]);
    if (cluster.programs.kubectl === null) return;
    await eventually("the Deployment is deleted", async () => await controllerOf(cluster) === null);
    await cluster.request("DELETE", `/api/v1/namespaces/${namespace}`);
    await cluster.request(
      "DELETE",
      `/apis/networking.k8s.io/v1/namespaces/${namespace}/ingresses/web`,
    );
    await finishNamespace(cluster, namespace);
    await cluster.request(
      "DELETE",
      `/api/v1/namespaces/${NAMESPACE}/pods/ending?gracePeriodSeconds=0`,
    );
    await finishNamespace(cluster);
    const removed = await running;
    deepEqual([removed?.code, removed?.stderr], [0, ""]);
    match(removed!.stdout, new RegExp(`^ingress.* "web" in ${namespace} is gone$`, "m"));
    match(removed!.stdout, /^Nothing of Pingress is left\.$/m);
  },
);

clusterTest("undeploy reports what blocks a deletion", async (cluster) => {
  await cluster.apply(await manifest<KubeObject>("00-namespace.yaml"));
  const held = await deployTask(cluster, "undeploy", ["--yes", "--timeout=1s"]);
  if (held === null) return;
  equal(held.code, 1);
  match(
    held.stderr,
    /^Namespace pingress-system could not be deleted: it is still there after 1s/m,
  );
  match(held.stderr, /finalizers kubernetes/);
});

Deno.test("without admission policies deploy reports what is not restricted, and undeploy works", async () => {
  const cluster = await startCluster({
    name: "no admission policies",
    apiServerFlags: [
      "--runtime-config=admissionregistration.k8s.io/v1=false",
      "--disable-admission-plugins=ValidatingAdmissionPolicy,ValidatingAdmissionWebhook," +
      "MutatingAdmissionWebhook",
    ],
  });
  if (cluster === null) return;
  await using _ = cluster;
  const tried = await deployTask(cluster, "deploy", ["--dry-run"]);
  if (tried === null) return;
  deepEqual([tried.code, tried.stderr], [0, ""]);
  match(tried.stdout, /^The API server has no ValidatingAdmissionPolicy/m);
  doesNotMatch(tried.stdout, /pingress-controller-workloads/);
  const removed = await deployTask(cluster, "undeploy", ["--yes"]);
  deepEqual([removed?.code, removed?.stderr], [0, ""]);
});
