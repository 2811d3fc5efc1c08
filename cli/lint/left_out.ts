/**
 * What `--watch-namespace` leaves out. In: the objects of a folder, and the namespaces that are checked. Out: a
 * line for each other namespace whose objects were not checked, with the hosts that checked Ingresses have as
 * well, and one for each of their objects that a checked HTTPRoute names.
 */
import { asList, asText, fieldOf, showSome } from "../../controller/base/json.ts";
import { refOf } from "../../controller/base/identity.ts";
import type { Ingress, Resources } from "../../controller/kube/resources.ts";
import { GATEWAYS, HTTP_ROUTES, INGRESSES } from "../../controller/kube/types.ts";
import { parentGatewaysOf } from "../../dev/gateway/route_parents.ts";
import { formatObject, type ObjectRef } from "../../shared/problem.ts";
import type { InputProblem } from "./finding.ts";
import type { LintInput } from "./lint_input.ts";

/** @param namespaces Those that are checked; empty for all. */
export function leftOut(
  { resources, locate }: Pick<LintInput, "resources" | "locate">,
  namespaces: readonly string[],
): InputProblem[] {
  if (namespaces.length === 0) return [];
  return [
    ...otherNamespaces(resources, namespaces),
    ...namedElsewhere(resources, namespaces).map(({ route, named }): InputProblem => ({
      message:
        `${formatObject(route)} names ${formatObject(named)}, which the controller does not ` +
        "read with --watch-namespace",
      remedy: remedyFor(named.namespace),
      at: locate(route, "spec"),
    })),
  ];
}

/** Of a cluster, which is not asked what else there is. */
export function leftOutOfCluster(namespaces: readonly string[]): InputProblem[] {
  return namespaces.length === 0 ? [] : [{
    message: `only namespace ${showSome(namespaces)} is read (--watch-namespace): Ingresses of ` +
      "others that have the same hosts are not checked, nor are objects of others that are named",
    remedy: "Add --watch-namespace for each namespace that the controller is to serve",
    at: null,
  }];
}

function otherNamespaces(resources: Resources, namespaces: readonly string[]): InputProblem[] {
  const objects = [
    ...resources.ingresses.map((object) => refOf(INGRESSES.kind, object)),
    ...(resources.gateways ?? []).map((object) => refOf(GATEWAYS.kind, object)),
    ...(resources.httpRoutes ?? []).map((object) => refOf(HTTP_ROUTES.kind, object)),
  ].filter(({ namespace }) => !namespaces.includes(namespace));
  const checked = new Set(
    resources.ingresses.filter((ingress) => namespaces.includes(namespaceOf(ingress)))
      .flatMap(hostsOf),
  );
  return [...Map.groupBy(objects, ({ namespace }) => namespace)].sort().map(([namespace, refs]) => {
    const hosts = resources.ingresses.filter((ingress) => namespaceOf(ingress) === namespace)
      .flatMap(hostsOf).filter((host) => checked.has(host));
    const shared = [...new Set(hosts)].sort();
    return {
      message:
        `${countKinds(refs)} of namespace ${namespace} ${
          refs.length === 1 ? "is" : "are"
        } not checked, as --watch-namespace leaves it out` +
        (shared.length === 0 ? "" : `; checked Ingresses have hosts of it: ${showSome(shared)}`),
      remedy: remedyFor(namespace),
      at: null,
    };
  });
}

function remedyFor(namespace: string): string {
  return `Add --watch-namespace ${namespace} if the controller serves this namespace, too`;
}

/** `2 Ingresses, 1 HTTPRoute`. */
function countKinds(refs: readonly ObjectRef[]): string {
  return [...Map.groupBy(refs, ({ kind }) => kind)].map(([kind, { length }]) =>
    `${length} ${length === 1 ? kind : kind === INGRESSES.kind ? "Ingresses" : `${kind}s`}`
  ).join(", ");
}

function namespaceOf(ingress: Ingress): string {
  return refOf(INGRESSES.kind, ingress).namespace;
}

/** Of its rules, in lower case. */
function hostsOf({ spec }: Ingress): string[] {
  return (asList(fieldOf(spec, "rules")) ?? []).flatMap((rule) =>
    asText(fieldOf(rule, "host"))?.toLowerCase() ?? []
  );
}

/** Gateways and Services of other namespaces, with the HTTPRoute that names them. */
function namedElsewhere(
  { httpRoutes }: Resources,
  namespaces: readonly string[],
): { readonly route: ObjectRef; readonly named: ObjectRef }[] {
  return (httpRoutes ?? []).flatMap((object) => {
    const { object: route, gateways, services } = parentGatewaysOf(object);
    if (!namespaces.includes(route.namespace)) return [];
    const parents = gateways.map((key): ObjectRef => {
      const [namespace, name] = key.split("/");
      return { kind: GATEWAYS.kind, namespace, name };
    });
    return [...parents, ...services]
      .filter(({ namespace }) => !namespaces.includes(namespace))
      .map((named) => ({ route, named }));
  });
}
