/**
 * Rights at the API server. In: nothing. Out: those that `pingress check` and `status` use, and those that the
 * controller needs; `overlays/check` and `manifests/` grant them, which tests hold against these rows.
 */

export interface Right {
  readonly verb: string;
  /** "" for the core group. */
  readonly group: string;
  /** Plural: `pods`. */
  readonly resource: string;
  readonly subresource?: string;
  /** The installation's namespace, or all of them. */
  readonly scope: "installation" | "all";
  /** Missing for all names. */
  readonly name?: string;
  /** What is not checked, or not served, without it: a phrase. */
  readonly without: string;
  /** Whether all is served without it. */
  readonly isOptional?: boolean;
}

const NETWORKING = "networking.k8s.io";
const GATEWAY = "gateway.networking.k8s.io";

const each = (
  verbs: readonly string[],
  resources: readonly string[],
  right: Omit<Right, "verb" | "resource">,
): Right[] => resources.flatMap((resource) => verbs.map((verb) => ({ verb, resource, ...right })));

/** Of the user who checks. */
export const USER_RIGHTS: readonly Right[] = [
  ...each(["list"], ["deployments", "daemonsets"], {
    group: "apps",
    scope: "installation",
    without: "whether controller and proxies run",
  }),
  ...each(["list"], ["pods"], {
    group: "",
    scope: "installation",
    without: "whether controller and proxies run",
  }),
  ...each(["get"], ["leases"], {
    group: "coordination.k8s.io",
    scope: "installation",
    name: "pingress-controller",
    without: "which replica leads",
  }),
  ...each(["get", "create"], ["pods"], {
    group: "",
    subresource: "portforward",
    scope: "installation",
    without: "stream, problems and certificates",
  }),
  ...each(["get"], ["configmaps"], {
    group: "",
    scope: "installation",
    name: "pingress-claims",
    without: "claims of hosts",
  }),
  ...each(["list"], ["networkpolicies"], {
    group: NETWORKING,
    scope: "installation",
    without: "NetworkPolicies",
  }),
  ...each(["list"], ["ingresses", "ingressclasses"], {
    group: NETWORKING,
    scope: "all",
    without: "classes and Ingresses",
  }),
  ...each(["list"], ["deployments", "daemonsets"], {
    group: "apps",
    scope: "all",
    without: "other programs on the ports of nodes, and other installations",
  }),
  ...each(["list"], ["services"], {
    group: "",
    scope: "all",
    without: "load balancers of Gateways",
  }),
  ...each(["list"], ["endpointslices"], {
    group: "discovery.k8s.io",
    scope: "all",
    without: "ready endpoints of backends, and the DNS of the cluster",
  }),
];

/** Beside those, in a cluster with Gateway API. */
export const USER_GATEWAY_RIGHTS: readonly Right[] = [
  ...each(["list"], ["gatewayclasses", "gateways"], {
    group: GATEWAY,
    scope: "all",
    without: "Gateways",
  }),
];

/** Of the controller, in the whole cluster or in each namespace that it watches. */
export const CONTROLLER_RIGHTS: readonly Right[] = [
  ...each(["list", "watch"], ["ingresses", "ingressclasses"], {
    group: NETWORKING,
    scope: "all",
    without: "routes do not change any more",
  }),
  ...each(["list", "watch"], ["services"], {
    group: "",
    scope: "all",
    without: "routes do not change any more",
  }),
  ...each(["list", "watch"], ["endpointslices"], {
    group: "discovery.k8s.io",
    scope: "all",
    without: "routes do not change any more",
  }),
  ...each(["get"], ["secrets"], {
    group: "",
    scope: "all",
    without: "certificates are not read",
  }),
  ...each(["patch"], ["ingresses"], {
    group: NETWORKING,
    subresource: "status",
    scope: "all",
    without: "Ingresses get no addresses",
  }),
  ...each(["create", "patch"], ["events"], {
    group: "",
    scope: "all",
    without: "kubectl describe shows no problems",
    isOptional: true,
  }),
  ...each(["create"], ["tokenreviews"], {
    group: "authentication.k8s.io",
    scope: "all",
    without: "proxies get changes a minute late",
    isOptional: true,
  }),
  ...each(["list", "watch"], ["nodes"], {
    group: "",
    scope: "all",
    without: "addresses of nodes are not known",
    isOptional: true,
  }),
  ...each(["list", "watch"], ["namespaces"], {
    group: "",
    scope: "all",
    without: "hosts cannot be assigned to namespaces",
    isOptional: true,
  }),
  ...each(["list", "watch"], ["configmaps"], {
    group: "",
    scope: "installation",
    without: "the configuration is not published",
  }),
  ...each(["list", "watch"], ["pods"], {
    group: "",
    scope: "installation",
    without: "it is not known where proxies are ready",
  }),
  ...each(["list", "watch"], ["daemonsets", "deployments"], {
    group: "apps",
    scope: "installation",
    without: "proxies are not kept as they should be",
  }),
  ...each(["create", "patch"], ["configmaps"], {
    group: "",
    scope: "installation",
    name: "pingress-config-v2",
    without: "the configuration is not published",
  }),
  ...each(["create", "patch"], ["secrets"], {
    group: "",
    scope: "installation",
    name: "pingress-keys",
    without: "private keys are not published",
  }),
  ...each(["create", "patch"], ["daemonsets", "deployments"], {
    group: "apps",
    scope: "installation",
    name: "pingress-proxy-server",
    without: "proxies are not created",
  }),
  ...each(["create"], ["leases"], {
    group: "coordination.k8s.io",
    scope: "installation",
    without: "no replica leads",
  }),
  ...each(["get", "update"], ["leases"], {
    group: "coordination.k8s.io",
    scope: "installation",
    name: "pingress-controller",
    without: "no replica leads",
  }),
];

/** `pods/portforward`, `ingresses.networking.k8s.io`. */
export function showResource({ resource, subresource, group }: Right): string {
  const path = subresource === undefined ? resource : `${resource}/${subresource}`;
  return group === "" ? path : `${path}.${group}`;
}
