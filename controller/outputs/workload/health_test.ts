import { deepEqual, equal, match } from "node:assert/strict";
import type { KubeObject } from "../../kube/types.ts";
import { healthProblems, podsOf, workloadStatus } from "./health.ts";

const CREATED = "2026-01-01T00:00:00Z";
const NOW = Date.parse("2026-01-01T00:10:00Z");
const METADATA = {
  name: "pingress-proxy-server",
  namespace: "pingress-system",
  generation: 4,
  creationTimestamp: CREATED,
};

function daemonSet(status: Record<string, unknown>): KubeObject {
  const object = { kind: "DaemonSet", metadata: METADATA, status };
  return object;
}

function deployment(replicas: number, status: Record<string, unknown>): KubeObject {
  const object = { kind: "Deployment", metadata: METADATA, spec: { replicas }, status };
  return object;
}

function pod(name: string, status: Record<string, unknown>, labels = {}): KubeObject {
  const object = { kind: "Pod", metadata: { name, labels }, status };
  return object;
}

const READY = {
  observedGeneration: 4,
  desiredNumberScheduled: 3,
  numberReady: 3,
  numberAvailable: 3,
  updatedNumberScheduled: 3,
};
const ONE_SHORT = { ...READY, numberReady: 2, numberAvailable: 2 };

const waiting = (reason: string, message: string) => ({
  containerStatuses: [{ state: { waiting: { reason, message } } }],
});

Deno.test("a DaemonSet is complete when all nodes run the newest template", () => {
  deepEqual(workloadStatus(daemonSet(READY)), {
    kind: "DaemonSet",
    desired: 3,
    ready: 3,
    updated: 3,
    available: 3,
    isComplete: true,
  });
  equal(workloadStatus(daemonSet({ ...READY, observedGeneration: 3 })).isComplete, false);
  equal(workloadStatus(daemonSet({ ...READY, updatedNumberScheduled: 2 })).isComplete, false);
  equal(workloadStatus(daemonSet(ONE_SHORT)).isComplete, false);
  equal(workloadStatus(daemonSet({})).isComplete, false);
});

Deno.test("a Deployment is complete when no old pod is left", () => {
  const status = {
    observedGeneration: 4,
    replicas: 2,
    readyReplicas: 2,
    updatedReplicas: 2,
    availableReplicas: 2,
  };
  equal(workloadStatus(deployment(2, status)).isComplete, true);
  equal(workloadStatus(deployment(2, { ...status, replicas: 3 })).isComplete, false);
  equal(workloadStatus(deployment(3, status)).isComplete, false);
});

Deno.test("proxies that are all ready have no problem", () => {
  const broken = pod("a", waiting("CrashLoopBackOff", ""));
  deepEqual(healthProblems(daemonSet(READY), [broken], NOW), []);
});

Deno.test("no node for proxies is a problem", () => {
  const [problem] = healthProblems(daemonSet({ ...READY, desiredNumberScheduled: 0 }), [], NOW);
  equal(problem.reason, "NoNodeForProxies");
  match(problem.remedy, /--node-selector/);
  deepEqual(healthProblems(daemonSet({}), [], NOW), [], "nobody has counted nodes yet");
});

const OBSTACLES: Readonly<Record<string, readonly [Record<string, unknown>, string, RegExp]>> = {
  "an image that is not there": [
    waiting("ImagePullBackOff", 'Back-off pulling image "proxy:9"'),
    "ImagePullFailed",
    /pod a: Back-off pulling image "proxy:9"$/,
  ],
  "an image whose name is none": [
    waiting("InvalidImageName", "couldn't parse image name"),
    "ImagePullFailed",
    /couldn't parse/,
  ],
  "a proxy that ends again and again": [
    {
      containerStatuses: [{
        state: { waiting: { reason: "CrashLoopBackOff", message: "back-off 5m0s" } },
        lastState: { terminated: { exitCode: 2, message: "one\n--worker is no flag\n" } },
      }],
    },
    "ProxyCrashes",
    /exit code 2 and the output --worker is no flag$/,
  ],
  "a node whose ports are taken": [
    {
      conditions: [{
        type: "PodScheduled",
        status: "False",
        message:
          "0/3 nodes are available: 1 node(s) didn't have free ports for the requested pod ports.",
      }],
    },
    "HostPortConflict",
    /another pod has port 80 or 443/,
  ],
  "a node whose kubelet has given a port to a pod of its own": [
    {
      phase: "Failed",
      reason: "NodePorts",
      message: "Pod was rejected: Predicate NodePorts failed: node(s) didn't have free ports",
    },
    "HostPortConflict",
    /another pod has port 80 or 443.*: Pod was rejected/,
  ],
  "a node without room": [
    { conditions: [{ type: "PodScheduled", status: "False", message: "Insufficient memory" }] },
    "ProxyNotScheduled",
    /Insufficient memory/,
  ],
  "a Secret that a template names and nobody has": [
    waiting("CreateContainerConfigError", 'secret "mine" not found'),
    "ProxyNotCreated",
    /secret "mine" not found/,
  ],
  "a pod that has not been ready for long": [
    { conditions: [{ type: "Ready", status: "False", lastTransitionTime: CREATED }] },
    "ProxiesNotReady",
    /^2 of 3 proxies are ready; pod a: not for five minutes$/,
  ],
};

for (const [name, [status, reason, message]] of Object.entries(OBSTACLES)) {
  Deno.test(`the cause of unready proxies is reported: ${name}`, () => {
    const problems = healthProblems(daemonSet(ONE_SHORT), [pod("a", status)], NOW);
    deepEqual(problems.map((problem) => problem.reason), [reason]);
    match(problems[0].message, message);
    equal(problems[0].severity, "warning");
  });
}

Deno.test("the same failure of many pods is one problem", () => {
  const pods = ["c", "a", "b"].map((name) => pod(name, waiting("ErrImagePull", "not found")));
  const problems = healthProblems(daemonSet({ ...READY, numberReady: 0 }), pods, NOW);
  equal(problems.length, 1);
  match(problems[0].message, /^0 of 3 proxies are ready; pod a and 2 more: not found$/);
});

Deno.test("pods that the API server rejects are a problem", () => {
  const [problem] = healthProblems(
    deployment(2, {
      conditions: [{
        type: "ReplicaFailure",
        status: "True",
        message: 'pods "x" is forbidden: violates PodSecurity "restricted:latest"',
      }],
    }),
    [],
    NOW,
  );
  equal(problem.reason, "ProxyPodRejected");
  match(problem.remedy, /pod-security labels/);
});

Deno.test("a missing service account is a problem that says what creates it", () => {
  const [problem] = healthProblems(
    deployment(2, {
      conditions: [{
        type: "ReplicaFailure",
        status: "True",
        message: 'pods "x" is forbidden: error looking up service account a/b: not found',
      }],
    }),
    [],
    NOW,
  );
  match(problem.remedy, /apply the manifests of this version/);
});

const IN_ORDER: Readonly<Record<string, KubeObject>> = {
  "only starts": pod("a", waiting("ContainerCreating", "")),
  "has just become unready": pod("a", {
    conditions: [{ type: "Ready", status: "False", lastTransitionTime: "2026-01-01T00:09:00Z" }],
  }),
  "ends": {
    ...pod("a", waiting("ErrImagePull", "not found")),
    metadata: { name: "a", creationTimestamp: CREATED, deletionTimestamp: CREATED },
  },
};

for (const [name, one] of Object.entries(IN_ORDER)) {
  Deno.test(`a rollout is not a problem: a pod that ${name}`, () => {
    deepEqual(healthProblems(daemonSet(ONE_SHORT), [one], NOW), []);
  });
}

Deno.test("for a DaemonSet without pods the problem names what the namespace must allow", () => {
  const none = daemonSet({ ...READY, numberReady: 0, numberAvailable: 0 });
  const [problem] = healthProblems(none, [], NOW);
  equal(problem.reason, "ProxyPodRejected");
  match(problem.remedy, /enforce=privileged/);
  deepEqual(healthProblems(none, [], Date.parse(CREATED) + 1000), []);
});

Deno.test("while one backend replaces the other, each has its own pods", () => {
  const pods = [pod("old", {}), pod("new", {}, { "pingress.io/workload": "deployment" })];
  deepEqual(podsOf(daemonSet({}), pods).map(({ metadata }) => metadata.name), ["old"]);
  deepEqual(podsOf(deployment(1, {}), pods).map(({ metadata }) => metadata.name), ["new"]);
});
