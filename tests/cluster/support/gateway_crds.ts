/**
 * CRDs of Gateway API for tests that are about their coming and going. In: a kind and versions. Out: a CRD
 * that takes any object of the kind, and has the API server serve it.
 */
import {
  BACKEND_TLS_POLICIES,
  GATEWAY_API,
  GATEWAY_CLASSES,
  GATEWAYS,
  HTTP_ROUTES,
  LISTENER_SETS,
  REFERENCE_GRANTS,
} from "../../../controller/kube/types.ts";
import { ApiRefusal, type KubeObject } from "./api_client.ts";
import type { TestCluster } from "./cluster.ts";
import { eventually } from "./condition.ts";

const RESOURCES = [
  ...[BACKEND_TLS_POLICIES, GATEWAY_CLASSES, GATEWAYS, HTTP_ROUTES, LISTENER_SETS],
  REFERENCE_GRANTS,
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
  for (const kind of kinds) await installCrd(cluster, gatewayCrd(kind, ["v1"]));
}

/** Creates a CRD, or replaces it, and waits until the API server serves its kind. */
export async function installCrd(cluster: TestCluster, crd: Crd): Promise<void> {
  await cluster.apply(crd);
  const { plural } = crd.spec.names;
  for (const { name, served } of crd.spec.versions) {
    if (!served) continue;
    await eventually(
      `${plural} in ${name}`,
      async () =>
        (await cluster.request("GET", `/apis/${GATEWAY_API}/${name}/${plural}`)).status === 200,
    );
  }
}

/** Deletes a CRD, and waits until it has gone: one that comes meanwhile would go with it. */
export async function removeCrd(cluster: TestCluster, { metadata: { name } }: Crd): Promise<void> {
  const [version, kind] = ["apiextensions.k8s.io/v1", "CustomResourceDefinition"];
  await cluster.delete(version, kind, name);
  await eventually(`end of ${name}`, async () => await cluster.get(version, kind, name) === null);
}

/** Creates an object, or replaces it; the API server may need a moment for a kind that is new. */
export async function applyOfCrd(
  cluster: TestCluster,
  object: Partial<KubeObject>,
  namespace?: string,
): Promise<void> {
  await eventually(`an object of ${object.kind}`, async () => {
    try {
      await cluster.apply(object, { namespace });
      return true;
    } catch (error) {
      if (error instanceof ApiRefusal && error.message.includes("denied")) throw error;
      return false;
    }
  });
}
