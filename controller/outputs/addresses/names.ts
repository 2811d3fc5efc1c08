/**
 * What Services and EndpointSlices of Gateways are called. In: a Gateway. Out: names and labels, and whose an
 * object is. `overlays/gateway/admission-policy.yaml` derives the same, so that our account can write no other.
 *
 * https://gateway-api.sigs.k8s.io/geps/gep-1762/
 */
import { createHash } from "node:crypto";
import { asList, asText, fieldOf } from "../../base/json.ts";
import { GATEWAY_API, GATEWAYS, type KubeObject } from "../../kube/types.ts";
import { MANAGED_BY_LABEL, OWNER_LABELS } from "../workload/names.ts";

export interface GatewayRef {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly className: string;
}

/** Value of the label managed-by on slices: no other controller of slices touches them. */
export const SLICE_MANAGER = "gateway.pingress.io";

export const GATEWAY_NAME_LABEL = "gateway.networking.k8s.io/gateway-name";
export const GATEWAY_CLASS_LABEL = "gateway.networking.k8s.io/gateway-class-name";
export const SERVICE_NAME_LABEL = "kubernetes.io/service-name";
export const SLICE_MANAGER_LABEL = "endpointslice.kubernetes.io/managed-by";

/** Characters of a Service's name, and of a label's value. */
const MAX_LENGTH = 63;
const HASH_LENGTH = 8;

/** RFC 1035 label: the only names of Services. */
const SERVICE_NAME = /^[a-z](?:[-a-z0-9]*[a-z0-9])?$/;

/**
 * `<gateway>-<class>`. Names of Gateways may be longer, contain dots and begin with a digit: such a name is
 * cut, and ends with a hash of the whole.
 */
export function serviceName({ name, className }: Pick<GatewayRef, "name" | "className">): string {
  const whole = `${name}-${className}`;
  if (whole.length <= MAX_LENGTH && SERVICE_NAME.test(whole)) return whole;
  const safe = `${/^[0-9]/.test(whole) ? "g-" : ""}${whole.replaceAll(".", "-")}`;
  return `${safe.slice(0, MAX_LENGTH - HASH_LENGTH - 1)}-${hashOf(whole)}`;
}

/** `web-pingress-ipv4-0`. */
export function sliceName(service: string, family: "IPv4" | "IPv6", index: number): string {
  return `${service}-${family.toLowerCase()}-${index}`;
}

export function portName(port: number): string {
  return `p${port}`;
}

/** Of the Service and the slices. */
export function ownLabels({ name, className }: GatewayRef): Readonly<Record<string, string>> {
  return {
    ...OWNER_LABELS,
    [GATEWAY_NAME_LABEL]: labelValue(name),
    [GATEWAY_CLASS_LABEL]: labelValue(className),
  };
}

/** Without `blockOwnerDeletion`, which would take a right on finalizers of Gateways. */
export function ownerReference({ name, uid }: GatewayRef): OwnerReference {
  return { apiVersion: `${GATEWAY_API}/v1`, kind: GATEWAYS.kind, name, uid };
}

export interface OwnerReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
}

/** The Gateway that an object of ours belongs to; null for an object that is not ours. */
export function ownerOf(object: KubeObject): OwnerReference | null {
  if (object.metadata.labels?.[MANAGED_BY_LABEL] !== OWNER_LABELS[MANAGED_BY_LABEL]) return null;
  const owners = (asList(fieldOf(object.metadata, "ownerReferences")) ?? []).flatMap((owner) => {
    const apiVersion = asText(fieldOf(owner, "apiVersion")) ?? "";
    const kind = asText(fieldOf(owner, "kind"));
    const name = asText(fieldOf(owner, "name"));
    const uid = asText(fieldOf(owner, "uid"));
    return apiVersion.startsWith(`${GATEWAY_API}/`) && kind === GATEWAYS.kind && name !== null &&
        uid !== null
      ? [{ apiVersion, kind, name, uid }]
      : [];
  });
  return owners.length === 1 ? owners[0] : null;
}

/** The text, cut where it is too long for a label. */
function labelValue(text: string): string {
  return text.length <= MAX_LENGTH
    ? text
    : `${text.slice(0, MAX_LENGTH - HASH_LENGTH - 1)}-${hashOf(text)}`;
}

function hashOf(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, HASH_LENGTH);
}
