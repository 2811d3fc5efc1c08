/**
 * How far an installation has come. In: what the namespace has, and what is wanted. Out: how many of
 * which pods are ready, what keeps the others away in words, and whether all is done. Pure.
 */
import type { KubeObject } from "../controller/kube/types.ts";
import { asList, fieldOf } from "../controller/base/json.ts";
import {
  type Obstacle,
  obstacles,
  podsOf,
  workloadStatus,
} from "../controller/outputs/workload/health.ts";
import { CONTROLLER, PROXY } from "./installation.ts";

export interface Wanted {
  readonly backend: "HostPort" | "LoadBalancer";
  readonly proxyImage: string;
  /** Whether there is an Ingress or a Gateway to serve: without any there are no proxies. */
  readonly proxies: boolean;
}

export interface RolloutState {
  readonly isDone: boolean;
  /** `controller: 1 of 2 ready`, one for each workload, then what is in the way. */
  readonly lines: readonly string[];
}

const NAME_LABEL = "app.kubernetes.io/name";

/** @param objects are Deployments, DaemonSets and Pods of the namespace. */
export function rolloutState(objects: readonly KubeObject[], wanted: Wanted): RolloutState {
  const pods = (name: string) =>
    objects.filter(({ kind, metadata }) =>
      kind === "Pod" && metadata.labels?.[NAME_LABEL] === name
    );
  const find = (kind: string, name: string) =>
    objects.find((object) => object.kind === kind && object.metadata.name === name);
  const controller = workloadState("controller", find("Deployment", CONTROLLER), pods(CONTROLLER));
  if (!wanted.proxies) return controller;
  const kind = wanted.backend === "HostPort" ? "DaemonSet" : "Deployment";
  const live = find(kind, PROXY);
  const isWanted = live !== undefined && imagesOf(live).includes(wanted.proxyImage);
  const proxies = isWanted
    ? workloadState("proxies", live, podsOf(live, pods(PROXY)))
    : { isDone: false, lines: [`proxies: the controller has not made the ${kind} yet`] };
  return {
    isDone: controller.isDone && proxies.isDone,
    lines: [...controller.lines, ...proxies.lines],
  };
}

function workloadState(
  name: string,
  live: KubeObject | undefined,
  pods: readonly KubeObject[],
): RolloutState {
  if (live === undefined) return { isDone: false, lines: [`${name}: not made yet`] };
  const { desired, ready, updated, isComplete } = workloadStatus(live);
  const isSeen = fieldOf(fieldOf(live, "status"), "observedGeneration") !== undefined;
  const kind = live.kind ?? "";
  if (!isSeen) {
    return {
      isDone: false,
      lines: [
        `${name}: the cluster has not looked at the ${kind} yet; if it stays so, ` +
        "kube-controller-manager does not run",
      ],
    };
  }
  if (desired === 0) {
    return {
      // Whoever has scaled it to none wants it so; a DaemonSet without a node serves nobody.
      isDone: kind === "Deployment" && isComplete,
      lines: [kind === "Deployment" ? `${name}: scaled to 0` : `${name}: no node accepts them`],
    };
  }
  const old = updated < desired ? `, ${desired - updated} of them still old` : "";
  return {
    isDone: isComplete,
    lines: [
      `${name}: ${ready} of ${desired} ready${old}`,
      ...(isComplete ? [] : obstacleLines(obstacles(live, pods))),
    ],
  };
}

/** Pods that lack the same are one line. */
function obstacleLines(found: readonly (readonly [string, Obstacle])[]): string[] {
  const pods = new Map<string, string[]>();
  for (const [pod, { message }] of found) {
    const named = pods.get(message) ?? [];
    pods.set(message, pod === "" ? named : [...named, pod]);
  }
  return Array.from(pods, ([message, names]) => {
    const [first, ...others] = names;
    if (first === undefined) return `  ${message}`;
    const more = others.length === 0 ? "" : ` and ${others.length} more`;
    return `  pod ${first}${more}: ${message}`;
  });
}

function imagesOf(workload: KubeObject): unknown[] {
  const pod = fieldOf(fieldOf(fieldOf(workload, "spec"), "template"), "spec");
  return (asList(fieldOf(pod, "containers")) ?? []).map((one) => fieldOf(one, "image"));
}
