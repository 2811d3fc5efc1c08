/** The kinds of the workload, as the API server has them. In: a kind. Out: its resource. */
import {
  AUTOSCALERS,
  DAEMON_SETS,
  DEPLOYMENTS,
  DISRUPTION_BUDGETS,
  type Resource,
  SERVICES,
} from "../../kube/types.ts";
import type { WorkloadKind } from "./options.ts";

export const WORKLOAD_RESOURCES: Readonly<Record<WorkloadKind, Resource>> = {
  DaemonSet: DAEMON_SETS,
  Deployment: DEPLOYMENTS,
  HorizontalPodAutoscaler: AUTOSCALERS,
  PodDisruptionBudget: DISRUPTION_BUDGETS,
  Service: SERVICES,
};
