/**
 * Parameters of classes and Gateways: what their Services are like. In: a `parametersRef` of unknown shape,
 * and a lookup of ConfigMaps. Out: the values of its keys, or the condition that names the wrong one.
 *
 * https://gateway-api.sigs.k8s.io/geps/gep-1867/
 */
import { CidrList } from "../../../../shared/net/cidr.ts";
import type { ObjectRef } from "../../../../shared/problem.ts";
import { isAbsent, quote } from "../../../base/json.ts";
import { isQualifiedName } from "../../../base/names.ts";
import { CONFIG_MAPS } from "../../../kube/types.ts";
import { type Condition, falseCondition } from "./condition.ts";
import { readReference } from "./reference.ts";

/** Whether a Gateway has an address of its own, or shares the one of Ingresses. */
export type AddressKind = "own" | "shared";

export type ServiceType = "ClusterIP" | "LoadBalancer" | "NodePort";
export type TrafficPolicy = "Cluster" | "Local";
export type IpFamilyPolicy = "PreferDualStack" | "RequireDualStack" | "SingleStack";

/** The keys of one ConfigMap; undefined for what it does not set. */
export interface AddressParameters {
  readonly address?: AddressKind;
  readonly serviceType?: ServiceType;
  readonly loadBalancerClass?: string;
  readonly externalTrafficPolicy?: TrafficPolicy;
  readonly ipFamilyPolicy?: IpFamilyPolicy;
  readonly annotations?: Readonly<Record<string, string>>;
  /** Networks in CIDR notation. */
  readonly allowedSourceRanges?: readonly string[];
}

/** What the Service of a Gateway is like. */
export interface ServiceSettings {
  readonly type: ServiceType;
  readonly loadBalancerClass: string | null;
  readonly externalTrafficPolicy: TrafficPolicy;
  readonly ipFamilyPolicy: IpFamilyPolicy;
  /** Beside those of `spec.infrastructure`. */
  readonly annotations: Readonly<Record<string, string>>;
  /** Empty for all. */
  readonly allowedSourceRanges: readonly string[];
}

/** What holds where no parameter says otherwise: flags of the controller. */
export type ServiceDefaults = Pick<ServiceSettings, "type" | "loadBalancerClass" | "annotations">;

export type Reading<T> =
  | { readonly ok: true; readonly value: T }
  /** `Accepted` False, `InvalidParameters`. */
  | { readonly ok: false; readonly condition: Condition };

/** A ConfigMap that a reference leads to. */
export type FoundConfigMap =
  | { readonly kind: "found"; readonly data: Readonly<Record<string, unknown>> }
  | { readonly kind: "missing" }
  /** Why it cannot be used: a clause, and the remedy without the last full stop. */
  | { readonly kind: "unusable"; readonly fault: string };

export interface ConfigMapLookup {
  find(namespace: string, name: string): FoundConfigMap;
}

/** What the value says, or what has to be written in its place. */
type KeyReader = (text: string) => AddressParameters | string;

/** A reader of a key whose value is one of `values`. */
function oneOf<const V extends string>(
  values: readonly V[],
  parameters: (value: V) => AddressParameters,
): KeyReader {
  return (text) => {
    const value = values.find((each) => each === text);
    return value === undefined ? `Write ${listed(values)}` : parameters(value);
  };
}

const KEYS: Readonly<Record<string, KeyReader>> = {
  address: oneOf(["own", "shared"], (address) => ({ address })),
  serviceType: oneOf(
    ["ClusterIP", "LoadBalancer", "NodePort"],
    (serviceType) => ({ serviceType }),
  ),
  loadBalancerClass: (text) =>
    isQualifiedName(text)
      ? { loadBalancerClass: text }
      : "Write a name such as example.com/internal",
  externalTrafficPolicy: oneOf(
    ["Cluster", "Local"],
    (externalTrafficPolicy) => ({ externalTrafficPolicy }),
  ),
  ipFamilyPolicy: oneOf(
    ["PreferDualStack", "RequireDualStack", "SingleStack"],
    (ipFamilyPolicy) => ({ ipFamilyPolicy }),
  ),
  annotations: readAnnotations,
  allowedSourceRanges: readSourceRanges,
};

/** In the order of messages. */
export const PARAMETER_KEYS: readonly string[] = Object.keys(KEYS);

/**
 * @param ref Of a class or of `spec.infrastructure`; absent for none.
 * @param field Its path, for messages: `spec.infrastructure.parametersRef`.
 * @param namespace The only one that it may name: that of the Gateway, and for a class that of the controller.
 */
export function readParameters(
  ref: unknown,
  field: string,
  namespace: string,
  configMaps: ConfigMapLookup,
): Reading<AddressParameters> {
  if (isAbsent(ref)) return { ok: true, value: {} };
  const { group, kind } = CONFIG_MAPS;
  const reference = readReference(ref, { group, kind, namespace });
  if (reference === null || reference.group !== group || reference.kind !== kind) {
    return invalid(`${field} does not name a ConfigMap. Write a reference of kind ConfigMap.`);
  }
  const name = `${reference.namespace}/${reference.name}`;
  if (reference.namespace !== namespace) {
    return invalid(
      `${field} names ConfigMap ${name}. Write one of namespace ${namespace}.`,
    );
  }
  const found = configMaps.find(namespace, reference.name);
  const which = `ConfigMap ${name}, which ${field} names,`;
  switch (found.kind) {
    case "found":
      return readData(found.data, name);
    case "missing":
      return invalid(`${which} does not exist. Create it.`, {
        kind: CONFIG_MAPS.kind,
        namespace,
        name: reference.name,
      });
    case "unusable":
      return invalid(`${which} ${found.fault}.`);
  }
}

/** The keys of a ConfigMap. @param name `namespace/name`, for messages. */
function readData(
  data: Readonly<Record<string, unknown>>,
  name: string,
): Reading<AddressParameters> {
  let value: AddressParameters = {};
  for (const [key, text] of Object.entries(data).sort(([a], [b]) => a < b ? -1 : 1)) {
    if (!Object.hasOwn(KEYS, key)) {
      return invalid(
        `ConfigMap ${name} has the unknown key ${quote(key)}. Remove it; the known ones are ` +
          `${PARAMETER_KEYS.join(", ")}.`,
      );
    }
    const read = typeof text === "string" ? KEYS[key](text.trim()) : "Write text";
    if (typeof read === "string") {
      return invalid(
        `key ${key} of ConfigMap ${name} is ${quote(text)}. ${read}.`,
      );
    }
    value = { ...value, ...read };
  }
  return { ok: true, value };
}

/**
 * Whether a Gateway shares the address of Ingresses: its own parameters win over those of its class. Whoever
 * says what the Service is like, and not whether there is one, wants one.
 */
export function addressKind(
  ofClass: AddressParameters,
  ofGateway: AddressParameters,
  byDefault: AddressKind,
): Reading<AddressKind> {
  const { address, ...ofService } = { ...ofClass, ...ofGateway };
  const kind = address ?? (Object.keys(ofService).length > 0 ? "own" : byDefault);
  return kind === "shared" && ofService.allowedSourceRanges !== undefined
    ? invalid(
      "key allowedSourceRanges has no effect on an address that is shared with Ingresses. Remove it, or write " +
        "address own.",
    )
    : { ok: true, value: kind };
}

/**
 * What a Gateway's Service is like: its own parameters win over those of its class, and these over flags.
 * A class that limits the sources of clients cannot be overruled: its limit protects.
 */
export function serviceSettings(
  ofClass: AddressParameters,
  ofGateway: AddressParameters,
  defaults: ServiceDefaults,
): Reading<ServiceSettings> {
  if (ofClass.allowedSourceRanges !== undefined && ofGateway.allowedSourceRanges !== undefined) {
    return invalid(
      "allowedSourceRanges is set by the parameters of the GatewayClass. Remove the key from those of " +
        "the Gateway.",
    );
  }
  const given = { ...ofClass, ...ofGateway };
  const type = given.serviceType ?? defaults.type;
  const isBalanced = type === "LoadBalancer";
  const { allowedSourceRanges = [] } = given;
  if (allowedSourceRanges.length > 0 && !isBalanced) {
    return invalid(
      `key allowedSourceRanges has no effect on a Service of type ${type}. Remove it, or write serviceType ` +
        "LoadBalancer.",
    );
  }
  return {
    ok: true,
    value: {
      type,
      loadBalancerClass: isBalanced ? given.loadBalancerClass ?? defaults.loadBalancerClass : null,
      // Keeps the client's address.
      externalTrafficPolicy: given.externalTrafficPolicy ?? "Local",
      ipFamilyPolicy: given.ipFamilyPolicy ?? "PreferDualStack",
      annotations: { ...defaults.annotations, ...ofClass.annotations, ...ofGateway.annotations },
      allowedSourceRanges,
    },
  };
}

/** Lines of `name: value`; a value in double quotes is a string of JSON. */
function readAnnotations(text: string): AddressParameters | string {
  const annotations: Record<string, string> = {};
  for (const line of text.split("\n").map((each) => each.trim())) {
    if (line === "" || line.startsWith("#")) continue;
    const colon = line.indexOf(":");
    const key = line.slice(0, Math.max(0, colon)).trim();
    const value = valueOf(line.slice(colon + 1).trim());
    if (colon < 0 || !isQualifiedName(key) || value === null) {
      return "Write a line `name: value` for each annotation";
    }
    annotations[key] = value;
  }
  return { annotations };
}

function valueOf(text: string): string | null {
  if (!text.startsWith('"')) return text;
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "string" ? value : null;
  } catch {
    return null;
  }
}

/** Networks between commas or spaces. */
function readSourceRanges(text: string): AddressParameters | string {
  const ranges = text.split(/[\s,]+/).filter((range) => range !== "");
  const isRead = ranges.length > 0 &&
    ranges.every((range) => range.includes("/") && typeof CidrList.parse(range) !== "string");
  return isRead
    ? { allowedSourceRanges: ranges }
    : "Write networks such as 192.0.2.0/24 between commas";
}

function invalid(
  message: string,
  absent?: ObjectRef,
): { readonly ok: false; readonly condition: Condition } {
  return { ok: false, condition: falseCondition("Accepted", "InvalidParameters", message, absent) };
}

/** `a, b or c`. */
function listed(values: readonly string[]): string {
  return `${values.slice(0, -1).join(", ")} or ${values.at(-1)}`;
}
