/**
 * What an installation consists of. In: the objects of an overlay, and images. Out: the objects to
 * apply, those to try first, and what has to be deleted to leave nothing. Pure.
 */
import { apiVersionOf, GATEWAY_CLASSES, type KubeObject } from "../controller/kube/types.ts";
import { asList, fieldOf } from "../controller/base/json.ts";

export const NAMESPACE = "pingress-system";
export const CONTROLLER = "pingress-controller";
export const PROXY = "pingress-proxy-server";
export const INGRESS_CLASS = "pingress";

/** What the API server refuses to the controller's account: objects of a kind that not each has. */
export const ADMISSION_OVERLAY = "overlays/admission";
export const ADMISSION_API = "/apis/admissionregistration.k8s.io/v1";
export const ADMISSION_KIND = "ValidatingAdmissionPolicy";
const ADMISSION_CONFIG = "pingress-admission";

/** What serving Gateways needs, and what bounds it. */
export const GATEWAY_OVERLAY = "overlays/gateway";
export const GATEWAY_ROLE = "pingress-controller-gateway";
export const GATEWAY_ADMISSION_CONFIG = "pingress-gateway-admission";

/** The one kind of the overlay that the API server has only with the CRDs of Gateway API. */
export const GATEWAY_CLASS_KIND = GATEWAY_CLASSES.kind;
export const GATEWAY_CLASS_API = `/apis/${apiVersionOf(GATEWAY_CLASSES)}`;

/** @param resources is an APIResourceList, as the API server answers at a path like `ADMISSION_API`. */
export function hasKind(resources: unknown, kind: string): boolean {
  const list = asList(fieldOf(resources, "resources")) ?? [];
  return list.some((resource) => fieldOf(resource, "kind") === kind);
}

interface Container {
  readonly image: string;
  readonly args: readonly string[];
}

/** A Deployment, as far as it is changed here. */
interface Deployment extends KubeObject {
  readonly spec: {
    readonly template: { readonly spec: { readonly containers: readonly Container[] } };
  };
}

export interface Images {
  /** `registry.example.com/team`. */
  readonly registry: string;
  readonly tag: string;
}

export function imageName({ registry, tag }: Images, name: string): string {
  return `${registry}/${name}:${tag}`;
}

/**
 * The objects with these images: the controller's, the one that it is to give proxies, and those that
 * it is admitted to give them.
 */
export function withImages(objects: readonly KubeObject[], images: Images): KubeObject[] {
  const bounded = objects.map((object) => {
    if (object.kind === "ConfigMap" && object.metadata.name === ADMISSION_CONFIG) {
      return { ...object, data: { imagePrefix: `${images.registry}/` } };
    }
    return object;
  });
  return bounded.map((object) => {
    if (object.kind !== "Deployment" || object.metadata.name !== CONTROLLER) return object;
    const { spec } = structuredClone(object) as Deployment;
    const containers = spec.template.spec.containers.map((container) => ({
      ...container,
      image: imageName(images, CONTROLLER),
      args: [
        ...container.args.filter((arg) => !arg.startsWith("--proxy-server-image=")),
        `--proxy-server-image=${imageName(images, PROXY)}`,
      ],
    }));
    const template = { ...spec.template, spec: { ...spec.template.spec, containers } };
    return { ...object, spec: { ...spec, template } };
  });
}

/**
 * The objects with what the user has written into the ConfigMap of the Gateway policies: names of classes
 * and ports that the controller may use.
 */
export function withGatewayAdmission(
  objects: readonly KubeObject[],
  standing: KubeObject | null,
): KubeObject[] {
  const data: unknown = fieldOf(standing, "data");
  if (data === undefined) return [...objects];
  return objects.map((object) =>
    object.kind === "ConfigMap" && object.metadata.name === GATEWAY_ADMISSION_CONFIG
      ? { ...object, data }
      : object
  );
}

/**
 * For a dry run where the namespace is not there yet: the API server refuses what would be in it, so
 * that is tried in the namespace `default`.
 */
export function outsideOfNamespace(objects: readonly KubeObject[]): KubeObject[] {
  return objects.map((object) =>
    object.metadata.namespace === NAMESPACE
      ? { ...object, metadata: { ...object.metadata, namespace: "default" } }
      : object
  );
}

/** `ClusterRole pingress-controller-cluster-role`. */
export function describeObject({ kind, metadata: { name, namespace } }: KubeObject): string {
  return namespace === undefined ? `${kind} ${name}` : `${kind} ${namespace}/${name}`;
}

/** Of the overlay's objects those that deleting the namespace does not delete; it comes last. */
export function deletedByName(objects: readonly KubeObject[]): KubeObject[] {
  const others = objects.filter(({ kind, metadata }) =>
    metadata.namespace === undefined && kind !== "Namespace"
  );
  return [...others, ...objects.filter(({ kind }) => kind === "Namespace")];
}
