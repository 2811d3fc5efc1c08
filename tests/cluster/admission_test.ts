/**
 * What overlays/admission makes the API server refuse: writes of the controller's account, and pods
 * that name the PriorityClass of proxies.
 */
import { deepEqual, equal, match } from "node:assert/strict";
import { dirname, join } from "node:path";
import type { JsonObject } from "../../controller/base/json.ts";
import {
  workloadObjects,
  type WorkloadOptions,
} from "../../controller/outputs/workload/objects.ts";
import type { KubeObject } from "./support/api_client.ts";
import type { TestCluster } from "./support/cluster.ts";
import { clusterTest } from "./support/cluster_case.ts";
import { eventually } from "./support/condition.ts";
import { ACCOUNT, install } from "./support/installation.ts";
import { kubectl, type KubectlAnswer, manifest, MANIFESTS } from "./support/kubectl.ts";
import { type Policy, withVariable } from "./support/policy.ts";
import { NAMESPACE } from "./support/predecessor.ts";
import { HOST_PORT, LOAD_BALANCER } from "./support/workload_scene.ts";

const OVERLAY = join(dirname(MANIFESTS), "overlays", "admission");
const IMAGE = "ghcr.io/pingress/pingress-proxy-server:1";
const AS_CONTROLLER = `--as=system:serviceaccount:${NAMESPACE}:${ACCOUNT}`;

/** Installed once; null where there is no kubectl. */
let installed: Promise<boolean> | null = null;

async function installPolicies(cluster: TestCluster): Promise<boolean> {
  await install(cluster);
  const applied = await kubectl(cluster, ["apply", "-k", OVERLAY]);
  if (applied === null) {
    console.log("skipped: kubectl is not among the programs");
    return false;
  }
  equal(applied.code, 0, applied.stderr);
  // The API server reads its policies anew each second.
  await eventually("the policies are active", async () => {
    const refused = [
      await write(cluster, withPod(workload(), (spec) => ({ ...spec, hostPID: true }))),
      await createPod(cluster, "default", "pingress-proxy"),
    ];
    return refused.every(({ code }) => code !== 0);
  });
  return true;
}

function policyTest(name: string, run: (cluster: TestCluster) => Promise<void>): void {
  clusterTest(name, async (cluster) => {
    if (await (installed ??= installPolicies(cluster))) await run(cluster);
  });
}

/** The workload as the controller writes it. */
function workload(options: WorkloadOptions = HOST_PORT): KubeObject {
  const { apply } = workloadObjects({ ...options, namespace: NAMESPACE, image: IMAGE });
  const found = apply.find(({ kind }) => kind === "DaemonSet" || kind === "Deployment");
  return found as unknown as KubeObject;
}

function withPod(object: KubeObject, change: (spec: JsonObject) => JsonObject): KubeObject {
  const { spec } = structuredClone(object) as unknown as {
    spec: JsonObject & { template: JsonObject & { spec: JsonObject } };
  };
  const template = { ...spec.template, spec: change(spec.template.spec) };
  return { ...object, spec: { ...spec, template } };
}

/** Changes what is beside the container's name. */
function inContainer(change: JsonObject): (spec: JsonObject) => JsonObject {
  return (spec) => {
    const [container, ...others] = spec.containers as JsonObject[];
    return { ...spec, containers: [{ ...container, ...change }, ...others] };
  };
}

/** Host ports must be those of the container then. */
function inHostNetwork(spec: JsonObject): JsonObject {
  return { ...inContainer({ ports: [] })(spec), hostNetwork: true };
}

function inContext(change: JsonObject): (spec: JsonObject) => JsonObject {
  return (spec) => {
    const [{ securityContext }] = spec.containers as { securityContext: JsonObject }[];
    return inContainer({ securityContext: { ...securityContext, ...change } })(spec);
  };
}

function inPodContext(change: JsonObject): (spec: JsonObject) => JsonObject {
  return (spec) => ({
    ...spec,
    securityContext: { ...spec.securityContext as JsonObject, ...change },
  });
}

/** As the controller would; nothing is kept. */
async function write(
  cluster: TestCluster,
  object: KubeObject,
  ...flags: readonly string[]
): Promise<KubectlAnswer> {
  const args = ["apply", "--server-side", "--force-conflicts", "--dry-run=server", "--filename=-"];
  const answer = await kubectl(
    cluster,
    [...args, ...(flags.length > 0 ? flags : [AS_CONTROLLER])],
    JSON.stringify(object),
  );
  return answer!;
}

async function createPod(
  cluster: TestCluster,
  namespace: string,
  priorityClassName: string,
): Promise<KubectlAnswer> {
  await cluster.serviceAccountToken(namespace, "default");
  const spec = { priorityClassName, containers: [{ name: "main", image: "example.com/one" }] };
  const metadata = { name: "one", namespace };
  const pod = JSON.stringify({ apiVersion: "v1", kind: "Pod", metadata, spec });
  return (await kubectl(cluster, ["create", "--dry-run=server", "--filename=-"], pod))!;
}

policyTest("the controller's account may write the proxies of each backend", async (cluster) => {
  const all = [HOST_PORT, LOAD_BALANCER, {
    ...HOST_PORT,
    stream: false,
    priorityClass: "pingress-proxy",
  }];
  for (const options of all) {
    const { code, stderr } = await write(cluster, workload(options));
    deepEqual([code, stderr], [0, ""]);
  }
});

/** Requests that the kubelet sends from the network of the node. */
const HANDLERS: readonly JsonObject[] = [
  { httpGet: { host: "169.254.169.254", port: 80 } },
  { tcpSocket: { host: "10.0.0.1", port: 22 } },
];

const RESTRICTED = { allowPrivilegeEscalation: false, capabilities: { drop: ["ALL"] } };

const FORBIDDEN: readonly [what: string, change: (spec: JsonObject) => JsonObject, says: RegExp][] =
  [
    ["hostNetwork", inHostNetwork, /hostNetwork, hostPID or hostIPC/],
    ["hostPID", (spec) => ({ ...spec, hostPID: true }), /hostNetwork, hostPID or hostIPC/],
    ["hostIPC", (spec) => ({ ...spec, hostIPC: true }), /hostNetwork, hostPID or hostIPC/],
    [
      "a hostPath",
      (spec) => ({
        ...spec,
        volumes: [...spec.volumes as JsonObject[], { name: "host", hostPath: { path: "/" } }],
      }),
      /hostPath/,
    ],
    [
      "a privileged container",
      inContext({ privileged: true, allowPrivilegeEscalation: true }),
      /privileged: false/,
    ],
    [
      "privilege escalation",
      inContext({ allowPrivilegeEscalation: true }),
      /allowPrivilegeEscalation/,
    ],
    [
      "a container without a security context",
      inContainer({ securityContext: null }),
      /allowPrivilegeEscalation/,
    ],
    [
      "capabilities that are not dropped",
      inContext({ capabilities: null }),
      /drop the capabilities ALL/,
    ],
    ["a capability", inContext({ capabilities: { add: ["SYS_ADMIN"] } }), /no capability/],
    ["user 0", inContext({ runAsUser: 0 }), /user 0/],
    ["runAsNonRoot false", inContext({ runAsNonRoot: false }), /runAsNonRoot/],
    [
      "a pod without a security context",
      (spec) => ({ ...spec, securityContext: null }),
      /runAsNonRoot/,
    ],
    ["no seccomp", inContext({ seccompProfile: { type: "Unconfined" } }), /seccomp/],
    ["no seccomp profile", inPodContext({ seccompProfile: null }), /seccomp/],
    ["no AppArmor", inContext({ appArmorProfile: { type: "Unconfined" } }), /AppArmor/],
    [
      "no AppArmor in the pod",
      inPodContext({ appArmorProfile: { type: "Unconfined" } }),
      /AppArmor/,
    ],
    ["another SELinux type", inContext({ seLinuxOptions: { type: "spc_t" } }), /SELinux/],
    ["an SELinux user", inPodContext({ seLinuxOptions: { user: "system_u" } }), /SELinux/],
    [
      "an unsafe sysctl",
      inPodContext({ sysctls: [{ name: "kernel.msgmax", value: "1" }] }),
      /sysctls/,
    ],
    [
      "another image",
      inContainer({ image: "ghcr.io/pingress-evil/proxy:1" }),
      /images of proxies must begin with ghcr\.io\/pingress\/, not ghcr\.io\/pingress-evil\/proxy:1/,
    ],
    [
      "a privileged init container",
      (spec) => ({
        ...spec,
        initContainers: [{
          name: "first",
          image: IMAGE,
          securityContext: { privileged: true },
        }],
      }),
      /privileged: false/,
    ],
    [
      "an init container of another image",
      (spec) => ({
        ...spec,
        initContainers: [{
          name: "first",
          image: "example.com/first",
          securityContext: RESTRICTED,
        }],
      }),
      /images of proxies/,
    ],
    ...["livenessProbe", "readinessProbe", "startupProbe"].flatMap((probe) =>
      HANDLERS.map((handler): (typeof FORBIDDEN)[number] => [
        `a ${probe} by ${Object.keys(handler)}`,
        inContainer({ [probe]: handler }),
        /may not name a host/,
      ])
    ),
    ...["postStart", "preStop"].flatMap((hook) =>
      HANDLERS.map((handler): (typeof FORBIDDEN)[number] => [
        `a ${hook} by ${Object.keys(handler)}`,
        inContainer({ lifecycle: { [hook]: handler } }),
        /may not name a host/,
      ])
    ),
    [
      "a sidecar with a probe of another host",
      (spec) => ({
        ...spec,
        initContainers: [{
          ...{ name: "first", image: IMAGE, restartPolicy: "Always" },
          ...{ securityContext: RESTRICTED, startupProbe: HANDLERS[0] },
        }],
      }),
      /may not name a host/,
    ],
    [
      "the controller's own account",
      (spec) => ({ ...spec, serviceAccountName: ACCOUNT }),
      /no account but pingress-proxy-server/,
    ],
    [
      "the controller's own account by the field's old name",
      ({ serviceAccountName: _, ...spec }) => ({ ...spec, serviceAccount: ACCOUNT }),
      /no account but pingress-proxy-server/,
    ],
  ];

policyTest(
  "a stolen token of the controller cannot create pods that reach the node",
  async (cluster) => {
    for (const options of [HOST_PORT, LOAD_BALANCER]) {
      for (const [what, change, says] of FORBIDDEN) {
        const { code, stderr } = await write(cluster, withPod(workload(options), change));
        equal(code, 1, `${options.backend} with ${what} was admitted`);
        match(stderr, says, what);
      }
    }
  },
);

/** Objects that become pods. */
function otherWorkloads(): KubeObject[] {
  const spec = { containers: [{ name: "main", image: IMAGE, securityContext: RESTRICTED }] };
  const labels = { app: "other" };
  const template = { metadata: { labels }, spec };
  const once = { ...template, spec: { ...spec, restartPolicy: "Never" } };
  const of = (apiVersion: string, kind: string, content: JsonObject) =>
    ({ apiVersion, kind, metadata: { name: "other", namespace: NAMESPACE }, ...content }) as
      & KubeObject
      & JsonObject;
  const selector = { matchLabels: labels };
  return [
    of("v1", "Pod", { spec }),
    of("v1", "PodTemplate", { template }),
    of("v1", "ReplicationController", { spec: { selector: labels, template } }),
    of("apps/v1", "ReplicaSet", { spec: { selector, template } }),
    of("apps/v1", "StatefulSet", { spec: { serviceName: "other", selector, template } }),
    of("batch/v1", "Job", { spec: { template: once } }),
    of("batch/v1", "CronJob", {
      spec: { schedule: "* * * * *", jobTemplate: { spec: { template: once } } },
    }),
  ];
}

/** More than manifests give it, as a role that somebody adds by mistake would. */
async function permitAllWorkloads(cluster: TestCluster): Promise<void> {
  const metadata = { name: "all-workloads", namespace: NAMESPACE };
  const [rbac, apiGroup] = ["rbac.authorization.k8s.io/v1", "rbac.authorization.k8s.io"];
  const rules = [{ apiGroups: ["", "apps", "batch"], resources: ["*"], verbs: ["*"] }];
  const roleRef = { apiGroup, kind: "Role", name: metadata.name };
  const subjects = [{ kind: "ServiceAccount", name: ACCOUNT, namespace: NAMESPACE }];
  await cluster.apply([
    { apiVersion: rbac, kind: "Role", metadata, rules },
    { apiVersion: rbac, kind: "RoleBinding", metadata, roleRef, subjects },
  ] as unknown as KubeObject[]);
}

policyTest(
  "a stolen token of the controller cannot write other objects that become pods",
  async (cluster) => {
    await permitAllWorkloads(cluster);
    await cluster.serviceAccountToken(NAMESPACE, "default");
    const denied = /writes DaemonSets and Deployments, and no other objects/;
    const [pod] = otherWorkloads();
    await eventually("the policy is active", async () => (await write(cluster, pod)).code !== 0);
    for (const object of otherWorkloads()) {
      const { code, stderr } = await write(cluster, object);
      equal(code, 1, `${object.kind} was admitted`);
      match(stderr, denied, object.kind);
      const byOthers = await write(cluster, object, "--field-manager=tests");
      deepEqual([byOthers.code, byOthers.stderr], [0, ""], object.kind);
    }
    await cluster.apply([pod]);
    const patch = { spec: { ephemeralContainers: [{ name: "debug", image: IMAGE }] } };
    const { code, stderr } = (await kubectl(cluster, [
      ...["patch", "pod", "other", `--namespace=${NAMESPACE}`, "--subresource=ephemeralcontainers"],
      ...["--patch", JSON.stringify(patch)],
      ...["--dry-run=server", AS_CONTROLLER],
    ]))!;
    equal(code, 1, "an ephemeral container was admitted");
    match(stderr, denied);
  },
);

policyTest("without an account, proxies get no token of another one", async (cluster) => {
  const object = workload({ ...HOST_PORT, stream: false });
  const token = { name: "token", projected: { sources: [{ serviceAccountToken: { path: "t" } }] } };
  const withToken: [string, (spec: JsonObject) => JsonObject][] = [
    ["a mounted token", (spec) => ({ ...spec, automountServiceAccountToken: true })],
    ["a projected one", (spec) => ({ ...spec, volumes: [...spec.volumes as JsonObject[], token] })],
    ["the account default", (spec) => ({ ...spec, serviceAccountName: "default" })],
  ];
  equal((await write(cluster, object)).code, 0);
  for (const [what, change] of withToken) {
    const { code, stderr } = await write(cluster, withPod(object, change));
    equal(code, 1, what);
    match(stderr, /no account but pingress-proxy-server/, what);
  }
});

policyTest("administrators may write anything", async (cluster) => {
  const object = withPod(workload(), inHostNetwork);
  const { code, stderr } = await write(cluster, object, "--field-manager=tests");
  deepEqual([code, stderr], [0, ""]);
});

policyTest("only pingress-system may have pods of the proxies' PriorityClass", async (cluster) => {
  const namespace = await cluster.newNamespace();
  const refused = await createPod(cluster, namespace, "pingress-proxy");
  equal(refused.code, 1);
  match(refused.stderr, /PriorityClass pingress-proxy is for the proxies of Pingress/);
  equal((await createPod(cluster, namespace, "system-node-critical")).code, 0);
  equal((await createPod(cluster, NAMESPACE, "pingress-proxy")).code, 0);
});

policyTest(
  "with all ConfigMaps of pingress-system gone and the policy made anew, only the controller is limited",
  async (cluster) => {
    await cluster.request("DELETE", `/api/v1/namespaces/${NAMESPACE}/configmaps`);
    const objects = await manifest<Policy>("../overlays/admission/controller-workloads.yaml");
    for (const { apiVersion, kind, metadata } of [...objects].reverse()) {
      await cluster.delete(apiVersion, kind, metadata.name);
    }
    await cluster.apply(
      objects.map((object) => withVariable(object, "imagePrefix", "'ghcr.io/pingress/pingress-'")),
    );
    const hostPid = withPod(workload(), (spec) => ({ ...spec, hostPID: true }));
    await eventually("the policy of now is active", async () => {
      const other = await write(cluster, hostPid, "--field-manager=tests");
      deepEqual([other.code, other.stderr], [0, ""]);
      const { stderr } = await write(cluster, workload());
      return /images of proxies must begin with ghcr\.io\/pingress\/pingress-/.test(stderr);
    });
    match((await write(cluster, hostPid)).stderr, /hostNetwork, hostPID or hostIPC/);
    await cluster.apply(objects);
    await eventually(
      "the images are ours again",
      async () => (await write(cluster, workload())).code === 0,
    );
  },
);

Deno.test("no policy that denies has parameters", async () => {
  const files = [
    "admission/controller-workloads",
    "admission/priority-class",
    "gateway/admission-policy",
  ];
  for (const file of files) {
    for (const { spec } of await manifest<Policy>(`../overlays/${file}.yaml`)) {
      deepEqual(["paramKind", "paramRef"].filter((field) => field in spec), [], file);
    }
  }
});
