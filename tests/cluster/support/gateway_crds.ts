/**
 * CRDs of Gateway API for tests that are about their coming and going. In: a kind and versions. Out: a CRD
 * that takes any object of the kind, and has the API server serve it.
 */
import type { TestCluster } from "./cluster.ts";
import { eventually } from "./condition.ts";
import {
  BACKEND_TLS_POLICIES,
  GATEWAY_API,
  GATEWAY_CLASSES,
  GATEWAYS,
  HTTP_ROUTES,
  REFERENCE_GRANTS,
} from "../../../controller/kube/types.ts";

const RESOURCES = [
  ...[BACKEND_TLS_POLICIES, GATEWAY_CLASSES, GATEWAYS, HTTP_ROUTES, REFERENCE_GRANTS],
];

export interface Crd extends Record<string, unknown> {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly annotations: Readonly<Record<string, string>>;
  };
  readonly spec: {
    readonly group: string;
    readonly scope: string;
    readonly names: { readonly plural: string; readonly singular: string; readonly kind: string };
    readonly versions: readonly { readonly name: string; readonly served: boolean }[];
  };
}

/**
 * @param versions The last one is stored.
 * @param served Those that the API server serves; by default all.
 */
export function gatewayCrd(
  kind: string,
  versions: readonly string[],
  served: readonly string[] = versions,
): Crd {
  const { plural, namespaced } = RESOURCES.find((resource) => resource.kind === kind)!;
  const singular = kind.toLowerCase();
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: {
      name: `${plural}.${GATEWAY_API}`,
      annotations: {
        // The API server protects *.k8s.io without it.
        "api-approved.kubernetes.io": "https://github.com/kubernetes-sigs/gateway-api/pull/2466",
        "gateway.networking.k8s.io/bundle-version": "v1.6.3",
        "gateway.networking.k8s.io/channel": "standard",
      },
    },
    spec: {
      group: GATEWAY_API,
      scope: namespaced ? "Namespaced" : "Cluster",
      names: { plural, singular, kind },
      versions: versions.map((name, i) => ({
        name,
        served: served.includes(name),
        storage: i === versions.length - 1,
        schema: {
          openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
        },
        subresources: { status: {} },
      })),
    },
  };
}

/** Creates the CRDs of these kinds, of version v1, and waits until the API server serves them. */
export async function installGatewayCrds(
  cluster: TestCluster,
  kinds: readonly string[] = ["GatewayClass", "Gateway", "HTTPRoute"],
): Promise<void> {
  const crds = kinds.map((kind) => gatewayCrd(kind, ["v1"]));
  await cluster.apply(crds);
  for (const { spec: { names: { plural } } } of crds) {
    await eventually(plural, async () => {
      const { status } = await cluster.request("GET", `/apis/${GATEWAY_API}/v1/${plural}`);
      return status === 200;
    });
  }
}
