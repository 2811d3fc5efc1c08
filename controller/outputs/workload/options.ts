/**
 * What an operator decides about the proxy workload. In: nothing. Out: the type that the command
 * line is read into, and what comes of it.
 */
import type { KubeObject } from "../../kube/types.ts";
import type { PortRange } from "../../../shared/net/port_range.ts";
import type { ObjectRef, Problem } from "../../../shared/problem.ts";

export interface WorkloadOptions {
  /** HostPort: a DaemonSet on nodes' ports 80 and 443. LoadBalancer: a Deployment and a Service. */
  readonly backend: "HostPort" | "LoadBalancer";
  readonly namespace: string;
  readonly image: string;
  readonly imagePullSecrets: readonly string[];
  /** Besides `kubernetes.io/os: linux`. */
  readonly nodeSelector: Readonly<Record<string, string>>;
  /** Of the Deployment; unused with `autoscale`. */
  readonly replicas: number;
  readonly autoscale: Autoscale | null;
  readonly serviceType: "LoadBalancer" | "NodePort" | "ClusterIP";
  /** On the Service, for the cloud that makes its load balancer. */
  readonly serviceAnnotations?: Readonly<Record<string, string>>;
  /** `spec.loadBalancerClass` of the Service, which cannot be changed later. */
  readonly loadBalancerClass?: string | null;
  readonly priorityClass: string | null;
  /** Milliseconds; the proxy's flag of this name. */
  readonly drainDelay: number;
  /** Milliseconds; the proxy's flag of this name. */
  readonly drainTimeout: number;
  /** Whether proxies are told of the controller's stream, and get a token for it. */
  readonly stream: boolean;
  /** Container ports for listeners of Gateways; missing or null for none. */
  readonly listenRange?: PortRange | null;
  /** Further flags of the proxy, each an argument. They win over those that are set here. */
  readonly proxyArgs: readonly string[];
  /** A partial PodTemplateSpec as parsed, or null for none. */
  readonly podTemplate: unknown;
  /** Whether the Service goes when the backend becomes HostPort, and its address with it. */
  readonly cleanupService?: boolean;
}

export interface Autoscale {
  readonly min: number;
  readonly max: number;
  /** Of the CPU that a pod requests. */
  readonly cpuPercent: number;
}

/** An object as it is applied. */
export interface PlannedObject extends KubeObject {
  readonly apiVersion: string;
  readonly kind: WorkloadKind;
  readonly spec: unknown;
}

export type WorkloadKind =
  | "DaemonSet"
  | "Deployment"
  | "HorizontalPodAutoscaler"
  | "PodDisruptionBudget"
  | "Service";

export interface WorkloadPlan {
  /** In the order in which to apply them. Empty where there are problems: then nothing changes. */
  readonly apply: readonly PlannedObject[];
  /** What another backend, or other flags, may have left; gone when what replaces it is ready. */
  readonly remove: readonly PlannedRef[];
  readonly problems: readonly Problem[];
}

export interface PlannedRef extends ObjectRef {
  readonly kind: WorkloadKind;
}
