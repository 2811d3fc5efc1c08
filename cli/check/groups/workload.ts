/** Controller and proxies. In: Deployment, DaemonSet, pods and Lease. Out: what does not run, and why. */
import { asList, asText, fieldOf } from "../../../controller/base/json.ts";
import type { KubeObject } from "../../../controller/kube/types.ts";
import {
  healthProblems,
  obstacles,
  podsOf,
  workloadStatus,
} from "../../../controller/outputs/workload/health.ts";
import { isPodReady } from "../../../controller/outputs/workload/pod_status.ts";
import { CONTROLLER_NAME } from "../../installation/installation.ts";
import type { CheckFacts } from "../facts.ts";
import { type CheckResult, failed, ok, unchecked, warning } from "../result.ts";

export function checkWorkload(facts: CheckFacts): readonly CheckResult[] {
  const { deployment } = facts.installation;
  if (!deployment.ok) return [unchecked("controller", deployment.unread)];
  if (deployment.value === null) return [absent(facts)];
  return [
    ...controller(facts, deployment.value),
    ...leader(facts),
    ...proxies(facts),
    ...images(facts),
  ];
}

function absent({ installation: { namespace }, elsewhere }: CheckFacts): CheckResult {
  const [other] = elsewhere;
  return failed(
    "controller",
    `Pingress is not installed in namespace ${namespace}: there is no Deployment ${CONTROLLER_NAME}`,
    other === undefined
      ? "Apply manifests/, or name another namespace by --system-namespace"
      : `Add --system-namespace=${other}, where there is one`,
  );
}

function controller(
  { installation: { namespace, controllerPods, options } }: CheckFacts,
  deployment: KubeObject,
): readonly CheckResult[] {
  const { desired, ready } = workloadStatus(deployment);
  const results: CheckResult[] = [];
  if (ready >= desired && desired > 0) {
    results.push(ok("controller", `${ready} of ${desired} replicas of the controller are ready`));
  } else {
    const pods = controllerPods.ok ? controllerPods.value : [];
    const why = obstacles(deployment, pods).map(([pod, { message }]) =>
      pod === "" ? message : `pod ${pod}: ${message}`
    );
    const unready = pods.find((pod) => !isPodReady(pod));
    results.push((ready === 0 ? failed : warning)(
      "controller",
      `${ready} of ${desired} replicas of the controller are ready` +
        (why.length === 0 ? "" : `; ${why[0]}`),
      desired === 0
        ? `Scale it: kubectl -n ${namespace} scale deployment ${CONTROLLER_NAME} --replicas=2`
        : unready === undefined
        ? `Look at it: kubectl -n ${namespace} describe deployment ${CONTROLLER_NAME}`
        : `Read its log: kubectl -n ${namespace} logs ${unready.metadata.name}`,
    ));
  }
  if (desired === 1) {
    results.push(warning(
      "controller-replicas",
      "the controller has one replica, so changes wait while its pod is replaced",
      `Scale it: kubectl -n ${namespace} scale deployment ${CONTROLLER_NAME} --replicas=2`,
    ));
  }
  if (options === null) {
    results.push(warning(
      "controller-flags",
      "the flags of the controller are not known to this version, so defaults are assumed below",
      "Use the version of pingress that the controller has",
    ));
  }
  return results;
}

function leader({ installation }: CheckFacts): readonly CheckResult[] {
  const { leader, namespace, controllerPods } = installation;
  if (!leader.ok) return [unchecked("leader", leader.unread)];
  const { name, isAlive, renewedAgo } = leader.value;
  const pods = controllerPods.ok ? controllerPods.value.map(({ metadata }) => metadata.name) : [];
  if (name !== null && isAlive) return [ok("leader", `the leader is ${name}`)];
  const remedy =
    `Check that a replica is ready and may update Lease ${CONTROLLER_NAME}: kubectl -n ${namespace} ` +
    `logs deployment/${CONTROLLER_NAME}`;
  if (name === null) {
    return [failed("leader", "no replica leads, so nothing is published or written", remedy)];
  }
  const since = renewedAgo === null ? "" : ` for ${Math.round(renewedAgo / 1000)} s`;
  return [failed(
    "leader",
    `the leader ${name}${
      pods.includes(name) || !controllerPods.ok ? "" : ", whose pod is gone,"
    } has not renewed its Lease${since}, and no other replica has taken over, so nothing is ` +
      "published or written",
    remedy,
  )];
}

function proxies(
  { installation: { workload, proxyPods, namespace }, ingresses, now }: CheckFacts,
): readonly CheckResult[] {
  if (!workload.ok) return [unchecked("proxies", workload.unread)];
  if (workload.value === null) {
    return ingresses.ok && ingresses.value.length === 0
      ? [warning(
        "proxies",
        "there are no proxies: the controller creates them with the first Ingress or Gateway",
        "Create an Ingress",
      )]
      : [failed(
        "proxies",
        "there are no proxies",
        `Read the log of the leader: kubectl -n ${namespace} logs deployment/${CONTROLLER_NAME}`,
      )];
  }
  const live = workload.value;
  const { desired, ready, isComplete, updated } = workloadStatus(live);
  const pods = proxyPods.ok ? podsOf(live, proxyPods.value) : [];
  const problems = healthProblems(live, pods, now);
  if (problems.length > 0) {
    return problems.map(({ message, remedy }) =>
      (ready === 0 ? failed : warning)("proxies", message, sentence(remedy))
    );
  }
  if (ready < desired) {
    const unready = pods.find((pod) => !isPodReady(pod));
    return [(ready === 0 ? failed : warning)(
      "proxies",
      `${ready} of ${desired} proxies are ready` +
        (unready === undefined ? "" : `; pod ${unready.metadata.name} is not`),
      `Look at it: kubectl -n ${namespace} describe ${live.kind?.toLowerCase()} ${live.metadata.name}`,
    )];
  }
  return [
    isComplete ? ok("proxies", `${ready} of ${desired} proxies are ready`) : warning(
      "proxies",
      `${ready} of ${desired} proxies are ready, and ${updated} are of the newest template`,
      "Wait for the end of the rollout",
    ),
  ];
}

/** Of each container of ours, its images, where there are several. */
function images(
  { installation: { controllerPods, proxyPods } }: CheckFacts,
): readonly CheckResult[] {
  return [
    ["controller", "the controller", controllerPods] as const,
    ["proxies", "the proxies", proxyPods] as const,
  ]
    .flatMap(([id, name, pods]) => {
      if (!pods.ok) return [];
      const images = [...new Set(pods.value.flatMap(imageOf))].sort();
      if (images.length === 0) return [];
      return images.length === 1
        ? [ok(`${id}-image`, `the image of ${name} is ${images[0]}`)]
        : [warning(
          `${id}-image`,
          `pods of ${name} have several images: ${images.join(", ")}`,
          "Finish the rollout, or check what keeps old pods",
        )];
    });
}

function imageOf(pod: KubeObject): string[] {
  const [container] = asList(fieldOf(fieldOf(pod, "spec"), "containers")) ?? [];
  return [asText(fieldOf(container, "image")) ?? []].flat();
}

function sentence(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
