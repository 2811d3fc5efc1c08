/** The whole check. In: facts of a cluster. Out: groups of results, in the order in which they depend on each other. Pure. */
import type { CheckFacts } from "./facts.ts";
import { checkApi } from "./groups/api.ts";
import { checkClasses } from "./groups/class.ts";
import {
  checkBounds,
  checkCertificates,
  checkClaims,
  checkProblems,
} from "./groups/configuration.ts";
import { checkGatewayApi } from "./groups/gateway_api.ts";
import { checkDns, checkHostPorts, checkNetworkPolicies } from "./groups/network.ts";
import { checkAccountRights, checkUserRights } from "./groups/rights.ts";
import { checkStream } from "./groups/stream.ts";
import { checkWorkload } from "./groups/workload.ts";
import type { CheckGroup, CheckResult } from "./result.ts";

type Check = (facts: CheckFacts) => readonly CheckResult[];

const GROUPS: readonly {
  readonly id: string;
  readonly title: string;
  readonly checks: readonly Check[];
}[] = [
  { id: "api", title: "Kubernetes API", checks: [checkApi] },
  { id: "rights", title: "Rights", checks: [checkUserRights, checkAccountRights] },
  { id: "workload", title: "Controller and proxies", checks: [checkWorkload] },
  { id: "stream", title: "Stream and versions", checks: [checkStream] },
  { id: "classes", title: "Classes", checks: [checkClasses] },
  { id: "gateway-api", title: "Gateway API", checks: [checkGatewayApi] },
  {
    id: "network",
    title: "Network",
    checks: [checkHostPorts, checkNetworkPolicies, checkDns],
  },
  {
    id: "configuration",
    title: "Configuration",
    checks: [checkProblems, checkCertificates, checkClaims, checkBounds],
  },
];

/** Without an API server that answers, only that group. */
export function check(facts: CheckFacts): readonly CheckGroup[] {
  const groups = facts.kubernetes.ok ? GROUPS : GROUPS.slice(0, 1);
  return groups.map(({ id, title, checks }) => ({
    ...{ id, title },
    results: checks.flatMap((one) => one(facts)),
  }));
}
