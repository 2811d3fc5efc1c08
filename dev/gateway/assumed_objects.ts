/**
 * Objects of Gateway API that a cluster has and a folder may lack. In: the objects of a folder. Out: the same
 * with the GatewayClass that an installation brings, and with the Namespaces that selectors of listeners
 * look at, labelled as the API server labels them. Pure.
 */
import { asObject, asText, fieldOf } from "../../controller/base/json.ts";
import type { GatewayObject, Namespace, Resources } from "../../controller/kube/resources.ts";
import { GATEWAY_API } from "../../controller/kube/types.ts";
import { GATEWAY_CONTROLLER } from "../../controller/translate/gateway/objects/gateway_class.ts";

/** The class that `overlays/gateway` installs. */
export const GATEWAY_CLASS = "pingress";

/** https://kubernetes.io/docs/reference/labels-annotations-taints/#kubernetes-io-metadata-name */
const NAME_LABEL = "kubernetes.io/metadata.name";

/** The very same where the folder has no Gateway. */
export function withAssumedObjects(resources: Resources): Resources {
  const { gateways, gatewayClasses, httpRoutes, namespaces } = resources;
  if ((gateways ?? []).length === 0) return resources;
  const classes = gatewayClasses ?? [];
  const isWritten = classes.some(({ metadata }) => metadata?.name === GATEWAY_CLASS);
  return {
    ...resources,
    gatewayClasses: isWritten ? classes : [...classes, ASSUMED_CLASS],
    namespaces: labelled(namespaces ?? [], httpRoutes ?? []),
  };
}

const ASSUMED_CLASS: GatewayObject = {
  apiVersion: `${GATEWAY_API}/v1`,
  kind: "GatewayClass",
  metadata: { name: GATEWAY_CLASS },
  spec: { controllerName: GATEWAY_CONTROLLER },
};

/** Those that are written, and those of routes. */
function labelled(
  written: readonly Namespace[],
  routes: readonly GatewayObject[],
): readonly Namespace[] {
  const known = new Set(written.map(({ metadata }) => metadata?.name));
  const used = new Set(routes.map(({ metadata }) => metadata?.namespace ?? "default"));
  const missing = [...used].filter((name) => !known.has(name));
  return [
    ...written.map(withNameLabel),
    ...missing.map((name) => withNameLabel({ metadata: { name } })),
  ];
}

function withNameLabel(namespace: Namespace): Namespace {
  const name = asText(fieldOf(namespace.metadata, "name"));
  if (name === null) return namespace;
  const labels = asObject(fieldOf(namespace.metadata, "labels")) as Record<string, string> | null;
  return {
    ...namespace,
    metadata: { ...namespace.metadata, labels: { ...labels, [NAME_LABEL]: name } },
  };
}
