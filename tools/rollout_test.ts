import { deepEqual } from "node:assert/strict";
import type { KubeObject } from "../controller/kube/types.ts";
import { CONTROLLER, PROXY } from "./installation.ts";
import { rolloutState, type Wanted } from "./rollout.ts";

const IMAGE = "proxy:2";
const CONTROLLER_ALONE: Wanted = { backend: "HostPort", proxyImage: IMAGE, proxies: false };
const ALL: Wanted = { ...CONTROLLER_ALONE, proxies: true };

const object = (kind: string, name: string, more: object): KubeObject =>
  ({ kind, metadata: { name, generation: 1 }, ...more }) as KubeObject;

const deployment = (ready: number, more: object = {}) =>
  object("Deployment", CONTROLLER, {
    spec: { replicas: 2 },
    status: {
      observedGeneration: 1,
      replicas: 2,
      updatedReplicas: 2,
      readyReplicas: ready,
      availableReplicas: ready,
      ...more,
    },
  });

const daemonSet = (ready: number, image = IMAGE, desired = 3) =>
  object("DaemonSet", PROXY, {
    spec: { template: { spec: { containers: [{ image }] } } },
    status: {
      observedGeneration: 1,
      desiredNumberScheduled: desired,
      updatedNumberScheduled: desired,
      numberReady: ready,
      numberAvailable: ready,
    },
  });

const pod = (name: string, of: string, status: object): KubeObject => ({
  kind: "Pod",
  metadata: { name, labels: { "app.kubernetes.io/name": of } },
  ...{ status },
});

const pulling = {
  containerStatuses: [{
    state: { waiting: { reason: "ImagePullBackOff", message: "Back-off pulling image" } },
  }],
};

const taken = {
  conditions: [{
    type: "PodScheduled",
    status: "False",
    message:
      "0/1 nodes are available: 1 node(s) didn't have free ports for the requested pod ports.",
  }],
};

const CASES: Record<string, [KubeObject[], Wanted, boolean, string[]]> = {
  "nothing is there": [[], ALL, false, [
    "controller: not made yet",
    "proxies: the controller has not made the DaemonSet yet",
  ]],
  "without an Ingress the controller is enough": [[deployment(2)], CONTROLLER_ALONE, true, [
    "controller: 2 of 2 ready",
  ]],
  "an image that cannot be pulled": [
    [deployment(0), pod("a", CONTROLLER, pulling), pod("b", CONTROLLER, pulling)],
    CONTROLLER_ALONE,
    false,
    ["controller: 0 of 2 ready", "  pod a and 1 more: Back-off pulling image"],
  ],
  "ports that another pod has": [
    [deployment(2), daemonSet(2), pod("p", PROXY, taken)],
    ALL,
    false,
    [
      "controller: 2 of 2 ready",
      "proxies: 2 of 3 ready",
      "  pod p: another pod has port 80 or 443 of the node: 0/1 nodes are available: 1 node(s) " +
      "didn't have free ports for the requested pod ports",
    ],
  ],
  "proxies of the image before": [[deployment(2), daemonSet(3, "proxy:1")], ALL, false, [
    "controller: 2 of 2 ready",
    "proxies: the controller has not made the DaemonSet yet",
  ]],
  "all of it": [[deployment(2), daemonSet(3)], ALL, true, [
    "controller: 2 of 2 ready",
    "proxies: 3 of 3 ready",
  ]],
  "a rollout with old pods": [[deployment(2, { updatedReplicas: 1 })], CONTROLLER_ALONE, false, [
    "controller: 2 of 2 ready, 1 of them still old",
  ]],
  "no node for proxies": [[deployment(2), daemonSet(0, IMAGE, 0)], ALL, false, [
    "controller: 2 of 2 ready",
    "proxies: no node accepts them",
  ]],
};

for (const [name, [objects, wanted, isDone, lines]] of Object.entries(CASES)) {
  Deno.test(`progress of an installation: ${name}`, () => {
    deepEqual(rolloutState(objects, wanted), { isDone, lines });
  });
}
