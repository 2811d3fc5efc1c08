/**
 * How the proxies are. In: the DaemonSet or Deployment as the API server has it, and its pods. Out:
 * how many there should be and are, and as problems what keeps the others away. Pure.
 */
import type { ObjectRef, Problem } from "../../../shared/problem.ts";
import type { KubeObject } from "../../kube/types.ts";
import { asList, asObject, fieldOf } from "../../base/json.ts";
import { WORKLOAD_LABEL } from "./names.ts";
import { readyCondition } from "./pod_status.ts";
import { printable } from "./refusal.ts";

/** Milliseconds that a pod may take to be ready: to be placed, to pull its image, to start. */
const PATIENCE = 300_000;

/** Counts of pods. */
export interface WorkloadStatus {
  readonly kind: "DaemonSet" | "Deployment";
  readonly desired: number;
  readonly ready: number;
  /** Of the newest template. */
  readonly updated: number;
  /** Ready for long enough to count in a rollout. */
  readonly available: number;
  /** All that are desired are of the newest template and available. True of none at all, too. */
  readonly isComplete: boolean;
}

/** @param live is a DaemonSet or Deployment. */
export function workloadStatus(live: KubeObject): WorkloadStatus {
  const status = fieldOf(live, "status");
  const count = (name: string) => Number(fieldOf(status, name) ?? 0);
  const isSeen = count("observedGeneration") >= (live.metadata.generation ?? 0);
  const isDaemonSet = live.kind === "DaemonSet";
  const counts = isDaemonSet
    ? {
      desired: count("desiredNumberScheduled"),
      ready: count("numberReady"),
      updated: count("updatedNumberScheduled"),
      available: count("numberAvailable"),
    }
    : {
      desired: Number(fieldOf(fieldOf(live, "spec"), "replicas") ?? 1),
      ready: count("readyReplicas"),
      updated: count("updatedReplicas"),
      available: count("availableReplicas"),
    };
  const { desired, updated, available } = counts;
  return {
    kind: isDaemonSet ? "DaemonSet" : "Deployment",
    ...counts,
    isComplete: isSeen && updated >= desired && available >= desired &&
      // A Deployment keeps old pods until new ones are available.
      (isDaemonSet || count("replicas") <= desired),
  };
}

/** Those of the pods that the DaemonSet or Deployment runs. */
export function podsOf(workload: KubeObject, pods: readonly KubeObject[]): readonly KubeObject[] {
  const isDeployment = workload.kind === "Deployment";
  return pods.filter(({ metadata: { labels } }) =>
    (labels?.[WORKLOAD_LABEL] !== undefined) === isDeployment
  );
}

/** What keeps one pod from being ready. */
export interface Obstacle {
  readonly reason: string;
  readonly message: string;
  readonly remedy: string;
}

/**
 * @param pods are those of `live`.
 * @param now in ms since 1970: a rollout, in which some proxies are not ready, is no problem.
 */
export function healthProblems(
  live: KubeObject,
  pods: readonly KubeObject[],
  now: number,
): Problem[] {
  const { kind, desired, ready } = workloadStatus(live);
  const { name, namespace = "" } = live.metadata;
  const object: ObjectRef = { kind, namespace, name };
  const problem = (obstacle: Obstacle): Problem => ({
    ...obstacle,
    object,
    field: "status",
    severity: "warning",
  });
  const isCounted = fieldOf(fieldOf(live, "status"), "observedGeneration") !== undefined;
  if (kind === "DaemonSet" && desired === 0 && isCounted) {
    return [problem({
      reason: "NoNodeForProxies",
      message: "no node runs a proxy, since none matches --node-selector and the tolerations",
      remedy: "label the nodes, or set --node-selector to labels that they have",
    })];
  }
  if (ready >= desired) return [];
  const found = new Map<string, { obstacle: Obstacle; pods: string[] }>();
  for (const [pod, obstacle] of obstacles(live, pods)) {
    const same = found.get(obstacle.reason) ?? { obstacle, pods: [] };
    same.pods.push(pod);
    found.set(obstacle.reason, same);
  }
  const describe = `see kubectl -n ${namespace} describe ${kind.toLowerCase()} ${name}`;
  const isOld = ageOf(live.metadata.creationTimestamp, now) > PATIENCE;
  if (found.size === 0 && pods.length === 0 && isOld) {
    return [problem({
      reason: "ProxyPodRejected",
      message: `none of ${desired} proxies could be created`,
      remedy: kind === "Deployment" ? describe : `${describe}; host ports need a namespace ` +
        "labelled pod-security.kubernetes.io/enforce=privileged",
    })];
  }
  const late = pods.filter((pod) => unreadyFor(pod, now) > PATIENCE);
  if (found.size === 0 && late.length > 0) {
    const names = late.map(({ metadata }) => metadata.name);
    return [problem({
      reason: "ProxiesNotReady",
      message: `${ready} of ${desired} proxies are ready; ${whose(names)}: not for five minutes`,
      remedy: `${describe}, and read the log of that pod`,
    })];
  }
  return Array.from(found.values(), ({ obstacle, pods }) =>
    problem({
      ...obstacle,
      message: `${ready} of ${desired} proxies are ready; ${whose(pods)}: ${obstacle.message}`,
    }));
}

/** Milliseconds for which a pod that should be ready has not been; 0 for one that is or ends. */
function unreadyFor(pod: KubeObject, now: number): number {
  const { metadata } = pod;
  const ready = readyCondition(pod);
  if (metadata.deletionTimestamp !== undefined || fieldOf(ready, "status") === "True") return 0;
  return ageOf(fieldOf(ready, "lastTransitionTime") ?? metadata.creationTimestamp, now);
}

/** Milliseconds since a time of RFC 3339; 0 for none. */
function ageOf(time: unknown, now: number): number {
  const at = Date.parse(String(time));
  return Number.isNaN(at) ? 0 : now - at;
}

/** By the name of the pod, "" for the workload itself. */
export function obstacles(
  live: KubeObject,
  pods: readonly KubeObject[],
): readonly (readonly [string, Obstacle])[] {
  return [
    ...(asList(fieldOf(fieldOf(live, "status"), "conditions")) ?? [])
      .flatMap((condition) => ofCondition(condition)).map((one) => ["", one] as const),
    ...pods.flatMap((pod) => ofPod(pod).map((one) => [pod.metadata.name, one] as const)),
  ];
}

function ofCondition(condition: unknown): Obstacle[] {
  const { type, status, message } = asObject(condition) ?? {};
  if (type !== "ReplicaFailure" || status !== "True") return [];
  const text = printable(String(message ?? ""));
  return [{
    reason: "ProxyPodRejected",
    message: `the API server rejects its pods: ${text}`,
    remedy: text.includes("PodSecurity")
      ? "allow what --proxy-pod-template adds in the namespace's pod-security labels"
      : text.includes("service account")
      ? "apply the manifests of this version, which contain the account"
      : "resolve what it reports, such as a quota or an admission webhook",
  }];
}

/** https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/ */
function ofPod(pod: KubeObject): Obstacle[] {
  if (pod.metadata.deletionTimestamp !== undefined) return [];
  const status = fieldOf(pod, "status");
  const unscheduled = (asList(fieldOf(status, "conditions")) ?? []).find((condition) =>
    fieldOf(condition, "type") === "PodScheduled" && fieldOf(condition, "status") === "False"
  );
  if (unscheduled !== undefined) return [ofScheduler(fieldOf(unscheduled, "message"))];
  // A kubelet looks once more than the scheduler, which does not know of the pods of its own files.
  if (fieldOf(status, "phase") === "Failed" && fieldOf(status, "reason") === "NodePorts") {
    return [ofScheduler(fieldOf(status, "message") ?? "the node has no free ports")];
  }
  return (asList(fieldOf(status, "containerStatuses")) ?? []).flatMap(ofContainer);
}

function ofScheduler(message: unknown): Obstacle {
  const text = printable(String(message ?? "no reason given"));
  return text.includes("free ports")
    ? {
      reason: "HostPortConflict",
      message: `another pod has port 80 or 443 of the node: ${text}`,
      remedy: "remove that pod, such as another ingress controller, or leave the node out by " +
        "--node-selector",
    }
    : {
      reason: "ProxyNotScheduled",
      message: `no node accepts the pod: ${text}`,
      remedy: "free resources, or change --node-selector or the tolerations and resources in " +
        "--proxy-pod-template",
    };
}

function ofContainer(container: unknown): Obstacle[] {
  const waiting = fieldOf(fieldOf(container, "state"), "waiting");
  const reason = String(fieldOf(waiting, "reason") ?? "");
  const text = printable(String(fieldOf(waiting, "message") ?? reason));
  if (/^(ErrImage|ImagePull|InvalidImage|ImageInspect)/.test(reason)) {
    return [{
      reason: "ImagePullFailed",
      message: text,
      remedy: "give --proxy-server-image an image that the nodes can pull, and " +
        "--image-pull-secret what its registry requires",
    }];
  }
  if (reason === "CrashLoopBackOff") {
    const last = fieldOf(fieldOf(container, "lastState"), "terminated");
    const words = String(fieldOf(last, "message") ?? "").trim().split("\n").at(-1) ?? "";
    return [{
      reason: "ProxyCrashes",
      message: `it keeps crashing, most recently with exit code ${
        fieldOf(last, "exitCode") ?? "unknown"
      }${words === "" ? "" : ` and the output ${printable(words)}`}`,
      remedy: "read its log, and correct --proxy-server-image, --proxy-arg or --proxy-pod-template",
    }];
  }
  if (/^(CreateContainer|RunContainer)/.test(reason)) {
    return [{
      reason: "ProxyNotCreated",
      message: text,
      remedy: "correct --proxy-server-image, or what --proxy-pod-template requires",
    }];
  }
  return [];
}

/** `pod a`, `pod a and 3 more`. */
function whose(pods: readonly string[]): string {
  const named = pods.filter((name) => name !== "").sort();
  if (named.length === 0) return "of the others";
  return `pod ${named[0]}${named.length === 1 ? "" : ` and ${named.length - 1} more`}`;
}
