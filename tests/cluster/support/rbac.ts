/**
 * Rights as RBAC sees them. In: the roles of `manifests/hostport.yaml`, and requests that a gateway
 * has recorded. Out: single grants, which of them a request needs, and roles without some of them.
 *
 * https://kubernetes.io/docs/reference/access-authn-authz/rbac/#referring-to-resources
 */
import type { RecordedRequest } from "./api_gateway.ts";
import type { KubeObject } from "./api_client.ts";
import { manifest } from "./kubectl.ts";

export interface PolicyRule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly verbs: readonly string[];
}

/** A Role or a ClusterRole. */
export interface Rules extends KubeObject {
  readonly rules: readonly PolicyRule[];
}

/** One verb on one resource, as far as one role gives it. */
export interface Grant {
  /** Of the Role; `null` for a ClusterRole's. */
  readonly namespace: string | null;
  readonly group: string;
  /** With its subresource: `ingresses/status`. */
  readonly resource: string;
  /** Null for any. */
  readonly names: readonly string[] | null;
  readonly verb: string;
}

/** What one request asks of RBAC. */
export interface Need {
  readonly group: string;
  readonly resource: string;
  readonly verb: string;
  /** Empty for the cluster's scope. */
  readonly namespace: string;
  /** Empty where the request names none. */
  readonly name: string;
}

export async function readRules(file = "hostport.yaml"): Promise<Rules[]> {
  return (await manifest<Rules>(file)).filter(({ rules }) => rules !== undefined);
}

export function grantsOf(roles: readonly Rules[]): Grant[] {
  return roles.flatMap(({ kind, metadata, rules }) =>
    rules.flatMap(({ apiGroups, resources, resourceNames, verbs }) =>
      apiGroups.flatMap((group) =>
        resources.flatMap((resource) =>
          verbs.map((verb): Grant => ({
            namespace: kind === "Role" ? metadata.namespace! : null,
            group,
            resource,
            names: resourceNames ?? null,
            verb,
          }))
        )
      )
    )
  );
}

/** `patch apps/daemonsets pingress-proxy-server in pingress-system`. */
export function textOf({ namespace, group, resource, names, verb }: Grant): string {
  const what = group === "" ? resource : `${group}/${resource}`;
  const which = names === null ? "" : ` ${names[0]}${names.length > 1 ? " and so on" : ""}`;
  return `${verb} ${what}${which}${namespace === null ? "" : ` in ${namespace}`}`;
}

/** More than one for a patch that has created its object: the API server asks for both. */
export function needsOf(request: RecordedRequest): Need[] {
  const { path, resource, subresource, verb, namespace, name, status } = request;
  if (verb === "none") return [];
  const need: Need = {
    group: path.startsWith("/apis/") ? path.split("/")[2] : "",
    resource: subresource === "" ? resource : `${resource}/${subresource}`,
    verb,
    namespace,
    name,
  };
  return verb === "patch" && status === 201 ? [need, { ...need, verb: "create" }] : [need];
}

export function covers(grant: Grant, need: Need): boolean {
  return grant.group === need.group && grant.resource === need.resource &&
    grant.verb === need.verb &&
    (grant.namespace === null || grant.namespace === need.namespace) &&
    (grant.names === null || grant.names.includes(need.name));
}

/** The same roles without what `grants` give; each rule is cut into one for each resource. */
export function without(roles: readonly Rules[], grants: readonly Grant[]): Rules[] {
  const texts = new Set(grants.map((grant) => JSON.stringify(grant)));
  return roles.map((role) => ({
    ...role,
    rules: grantsOf([role]).filter((grant) => !texts.has(JSON.stringify(grant)))
      .map(({ group, resource, names, verb }) => ({
        apiGroups: [group],
        resources: [resource],
        ...(names === null ? {} : { resourceNames: names }),
        verbs: [verb],
      })),
  }));
}

/** How the API server's message says that it lacks: `cannot get resource "pods" in API group ""`. */
export function refusalOf({ verb, resource, group }: Pick<Grant, "verb" | "resource" | "group">) {
  return `cannot ${verb} resource "${resource}" in API group "${group}"`;
}
