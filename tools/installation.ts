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
const WORKLOAD_POLICY = "pingress-controller-workloads";
const IMAGE_PREFIX = "imagePrefix";

/** What serving Gateways needs, and what bounds it. */
export const GATEWAY_OVERLAY = "overlays/gateway";
export const GATEWAY_ROLE = "pingress-controller-gateway";
export const GATEWAY_POLICIES: readonly string[] = [
  "pingress-gateway-services",
  "pingress-gateway-slices",
];
/** Where versions before this one had the values of these policies. */
export const OLD_GATEWAY_CONFIG = "pingress-gateway-admission";
const GATEWAY_CLASS_NAMES = "gatewayClasses";
const LISTEN_RANGE = "listenRange";

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
    if (object.kind !== ADMISSION_KIND || object.metadata.name !== WORKLOAD_POLICY) return object;
    return withVariables(object, { [IMAGE_PREFIX]: celLiteral(`${images.registry}/`) });
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

/** Expressions of CEL, by the name of the variable of a policy. */
type Variables = Readonly<Record<string, string>>;

/** CEL reads strings and lists of JSON. */
function celLiteral(value: string | readonly string[]): string {
  return JSON.stringify(value);
}

function variablesOf(policy: KubeObject): Variables {
  const variables = asList(fieldOf(fieldOf(policy, "spec"), "variables")) ?? [];
  return Object.fromEntries(variables.flatMap((variable) => {
    const [name, expression] = [fieldOf(variable, "name"), fieldOf(variable, "expression")];
    return typeof name === "string" && typeof expression === "string" ? [[name, expression]] : [];
  }));
}

/** The policy with these expressions for those of its variables that have one. */
function withVariables(policy: KubeObject, expressions: Variables): KubeObject {
  const spec = fieldOf(policy, "spec") as Readonly<Record<string, unknown>>;
  const variables = Object.entries(variablesOf(policy)).map(([name, expression]) => ({
    name,
    expression: Object.hasOwn(expressions, name) ? expressions[name] : expression,
  }));
  return { ...policy, spec: { ...spec, variables } } as KubeObject;
}

/** What a ConfigMap of a version before says, for policies that have no constants yet. */
function oldConstants(config: KubeObject): Variables {
  const data = fieldOf(config, "data");
  const [classes, range] = [GATEWAY_CLASS_NAMES, LISTEN_RANGE].map((key) => fieldOf(data, key));
  return {
    ...(typeof classes === "string"
      ? { [GATEWAY_CLASS_NAMES]: celLiteral(classes.split(",").map((name) => name.trim())) }
      : {}),
    ...(typeof range === "string" ? { [LISTEN_RANGE]: celLiteral(range.trim()) } : {}),
  };
}

/**
 * The objects with what the user has written into the policies of Gateways: names of classes and ports that
 * the controller may use.
 * @param standing The policies in the cluster, and the ConfigMap that a version before read.
 */
export function withGatewayAdmission(
  objects: readonly KubeObject[],
  standing: readonly KubeObject[],
): KubeObject[] {
  const config = standing.find(({ kind, metadata }) =>
    kind === "ConfigMap" && metadata.name === OLD_GATEWAY_CONFIG
  );
  return objects.map((object) => {
    if (object.kind !== ADMISSION_KIND) return object;
    const policy = standing.find(({ kind, metadata }) =>
      kind === ADMISSION_KIND && metadata.name === object.metadata.name
    );
    const expressions = policy === undefined ? {} : variablesOf(policy);
    // A policy of a version before has parameters in place of these variables.
    const constants = Object.hasOwn(expressions, GATEWAY_CLASS_NAMES) || config === undefined
      ? Object.fromEntries(
        Object.entries(expressions).filter(([name]) =>
          name === GATEWAY_CLASS_NAMES || name === LISTEN_RANGE
        ),
      )
      : oldConstants(config);
    return withVariables(object, constants);
  });
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
