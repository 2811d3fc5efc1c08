/**
 * The proxies as Kubernetes objects. In: what an operator decides. Out: the objects to apply, those
 * of the other backend that go, and what is wrong with the options. Pure; `workload/keeper.ts` does
 * it. Needs Kubernetes 1.27.
 */
import type { Problem } from "../../../shared/problem.ts";
import {
  DEPLOYMENT_SELECTOR,
  OWNER_LABELS,
  PROXY_NAME,
  PROXY_SELECTOR,
  PUBLIC_PORTS,
} from "./names.ts";
import type {
  PlannedObject,
  PlannedRef,
  WorkloadKind,
  WorkloadOptions,
  WorkloadPlan,
} from "./options.ts";
import { mergePodTemplate } from "./pod_template.ts";
import { proxyArgs } from "./proxy_args.ts";
import { proxyPod } from "./proxy_pod.ts";

export type { WorkloadOptions, WorkloadPlan } from "./options.ts";

/**
 * Seconds that a new pod must have been ready before the next one goes: external load balancers
 * probe every 5 to 10 s, and must have seen it.
 */
const MIN_READY = 15;

const API_VERSIONS: Readonly<Record<WorkloadKind, string>> = {
  DaemonSet: "apps/v1",
  Deployment: "apps/v1",
  HorizontalPodAutoscaler: "autoscaling/v2",
  PodDisruptionBudget: "policy/v1",
  Service: "v1",
};

/** The same options give the same plan, to the byte. */
export function workloadObjects(options: WorkloadOptions): WorkloadPlan {
  const { backend } = options;
  const kind = backend === "HostPort" ? "DaemonSet" : "Deployment";
  const selector = backend === "HostPort" ? PROXY_SELECTOR : DEPLOYMENT_SELECTOR;
  const { args, mistakes } = proxyArgs(options);
  const pod = proxyPod(options, selector, args);
  const merged = mergePodTemplate(pod, options.podTemplate, selector);
  const problems: Problem[] = [
    ...mistakes.map((mistake) => ({
      ...mistake,
      field: "spec.template.spec.containers[0].args",
      reason: "InvalidProxyArgument",
    })),
    ...merged.mistakes.map((mistake) => ({
      ...mistake,
      field: mistake.field === "" ? "spec.template" : `spec.template.${mistake.field}`,
      reason: "InvalidPodTemplate",
    })),
  ].map((mistake) => ({ ...mistake, object: refTo(kind, options), severity: "error" }));
  if (problems.length > 0) return { apply: [], remove: [], problems };
  const apply = backend === "HostPort" ? [daemonSet(options, merged.template)] : [
    service(options),
    deployment(options, merged.template),
    disruptionBudget(options),
    ...(options.autoscale === null ? [] : [autoscaler(options)]),
  ];
  return { apply, remove: leftovers(options), problems };
}

/** Every object that any options may lead to. */
export function allWorkloadRefs(namespace: string): PlannedRef[] {
  return (Object.keys(API_VERSIONS) as WorkloadKind[]).map((kind) => refTo(kind, { namespace }));
}

function leftovers(options: WorkloadOptions): PlannedRef[] {
  const gone: WorkloadKind[] = options.backend === "HostPort"
    ? [
      "HorizontalPodAutoscaler",
      "PodDisruptionBudget",
      "Deployment",
      // Its address would be lost, and meanwhile it leads to the DaemonSet's pods just as well.
      ...(options.cleanupService ? ["Service" as const] : []),
    ]
    : options.autoscale === null
    ? ["HorizontalPodAutoscaler", "DaemonSet"]
    : ["DaemonSet"];
  return gone.map((kind) => refTo(kind, options));
}

function refTo(kind: WorkloadKind, { namespace }: Pick<WorkloadOptions, "namespace">): PlannedRef {
  return { kind, namespace, name: PROXY_NAME };
}

function planned(
  kind: WorkloadKind,
  { namespace }: WorkloadOptions,
  spec: unknown,
  annotations: Readonly<Record<string, string>> = {},
): PlannedObject {
  return {
    apiVersion: API_VERSIONS[kind],
    kind,
    metadata: {
      name: PROXY_NAME,
      namespace,
      labels: { ...PROXY_SELECTOR, ...OWNER_LABELS },
      ...(Object.keys(annotations).length === 0 ? {} : { annotations }),
    },
    spec,
  };
}

/** Two pods cannot have a node's ports at once: the old one goes first, on one node at a time. */
function daemonSet(options: WorkloadOptions, template: unknown): PlannedObject {
  return planned("DaemonSet", options, {
    selector: { matchLabels: PROXY_SELECTOR },
    minReadySeconds: MIN_READY,
    updateStrategy: {
      type: "RollingUpdate",
      rollingUpdate: { maxUnavailable: 1, maxSurge: 0 },
    },
    template,
  });
}

/** No old pod goes before a new one is ready. */
function deployment(options: WorkloadOptions, template: unknown): PlannedObject {
  const { autoscale, replicas } = options;
  return planned("Deployment", options, {
    // With an autoscaler the number is its own.
    ...(autoscale === null ? { replicas } : {}),
    selector: { matchLabels: DEPLOYMENT_SELECTOR },
    minReadySeconds: MIN_READY,
    strategy: {
      type: "RollingUpdate",
      rollingUpdate: { maxUnavailable: 0, maxSurge: "25%" },
    },
    template,
  });
}

/** https://kubernetes.io/docs/reference/kubernetes-api/service-resources/service-v1/ */
function service(options: WorkloadOptions): PlannedObject {
  const { serviceType: type, serviceAnnotations, loadBalancerClass } = options;
  return planned("Service", options, {
    type,
    selector: PROXY_SELECTOR,
    ipFamilyPolicy: "PreferDualStack",
    // Keeps the client's address; the API takes it only where traffic comes from outside.
    ...(type === "ClusterIP" ? {} : { externalTrafficPolicy: "Local" }),
    ...(type === "LoadBalancer" && loadBalancerClass ? { loadBalancerClass } : {}),
    ports: (["http", "https"] as const).map((name) => ({
      name,
      port: PUBLIC_PORTS[name],
      protocol: "TCP",
      targetPort: name,
    })),
  }, serviceAnnotations);
}

/** One pod at a time may be evicted, and one that is broken anyway at any time. */
function disruptionBudget(options: WorkloadOptions): PlannedObject {
  return planned("PodDisruptionBudget", options, {
    selector: { matchLabels: DEPLOYMENT_SELECTOR },
    maxUnavailable: 1,
    unhealthyPodEvictionPolicy: "AlwaysAllow",
  });
}

function autoscaler(options: WorkloadOptions): PlannedObject {
  const { min, max, cpuPercent } = options.autoscale!;
  return planned("HorizontalPodAutoscaler", options, {
    scaleTargetRef: { apiVersion: API_VERSIONS.Deployment, kind: "Deployment", name: PROXY_NAME },
    minReplicas: min,
    maxReplicas: max,
    metrics: [{
      type: "Resource",
      resource: {
        name: "cpu",
        target: { type: "Utilization", averageUtilization: cpuPercent },
      },
    }],
    behavior: {
      // Each pod that goes ends the WebSockets that it holds: not for a quiet minute.
      scaleDown: {
        stabilizationWindowSeconds: 300,
        policies: [{ type: "Pods", value: 1, periodSeconds: 60 }],
      },
    },
  });
}
