/**
 * What has to be done to an object for it to be as planned. In: the planned one, and the object as the API
 * server has it. Out: nothing, a JSON merge patch (RFC 7396), or that it has to be made anew.
 *
 * Fields that others may set stay: node ports, finalizers and annotations of the cloud, session affinity. What
 * leads elsewhere goes: selectors, external addresses, and ports that are not of the plan.
 */
import { asList, asObject, asText, fieldOf, isAbsent } from "../../base/json.ts";
import { FIELD_MANAGER } from "../../kube/client.ts";
import { isAlike } from "../../kube/likeness.ts";
import type { KubeObject } from "../../kube/types.ts";
import type { PlannedSlice } from "./endpoint_slices.ts";
import type { AddressFault } from "./plan.ts";
import type { OwnedMeta, PlannedService } from "./service_object.ts";

export type Difference =
  | { readonly kind: "none" }
  | { readonly kind: "patch"; readonly patch: Readonly<Record<string, unknown>> }
  /** It cannot be changed into what is planned. */
  | { readonly kind: "recreate" };

export const NO_DIFFERENCE: Difference = { kind: "none" };

/** Fields of a Service's spec that must be absent where the plan has none. */
const EXCLUSIVE = [
  "selector",
  "externalIPs",
  "externalName",
  "externalTrafficPolicy",
  "loadBalancerIP",
  "loadBalancerSourceRanges",
  "publishNotReadyAddresses",
] as const;

const PORT_FIELDS = ["name", "port", "protocol", "targetPort", "appProtocol"] as const;

export function serviceDifference(wanted: PlannedService, live: KubeObject): Difference {
  const spec = fieldOf(live, "spec");
  if (mustBeNew(wanted, spec)) return { kind: "recreate" };
  const { ports, ...fields } = wanted.spec;
  const changed: Record<string, unknown> = {};
  const isClassFixed = hasFixedClass(wanted, spec);
  for (const [name, value] of Object.entries(fields)) {
    if (name === "loadBalancerClass" && isClassFixed) continue;
    if (!isAlike(value, fieldOf(spec, name))) changed[name] = value;
  }
  for (const name of EXCLUSIVE) {
    if (!Object.hasOwn(fields, name) && isSet(fieldOf(spec, name))) changed[name] = null;
  }
  const livePorts = asList(fieldOf(spec, "ports")) ?? [];
  const areAlike = isAlike(ports, livePorts.map((port) => pick(port, PORT_FIELDS)));
  // The API server keeps the node port of a port by its name.
  if (!areAlike) changed.ports = ports;
  return difference(
    metadataPatch(wanted.metadata, live),
    Object.keys(changed).length === 0 ? {} : { spec: changed },
  );
}

export function sliceDifference(wanted: PlannedSlice, live: KubeObject): Difference {
  if (fieldOf(live, "addressType") !== wanted.addressType) return { kind: "recreate" };
  const changed: Record<string, unknown> = {};
  for (const name of ["ports", "endpoints"] as const) {
    if (!isAlike(wanted[name], fieldOf(live, name) ?? [])) changed[name] = wanted[name];
  }
  return difference(metadataPatch(wanted.metadata, live), changed);
}

/** https://kubernetes.io/docs/reference/kubernetes-api/service-resources/service-v1/#ServiceSpec */
function mustBeNew({ spec: wanted }: PlannedService, live: unknown): boolean {
  const ip = asText(fieldOf(live, "clusterIP"));
  if (wanted.clusterIP !== undefined && ip !== null && ip !== "" && ip !== wanted.clusterIP) {
    return true;
  }
  // Headless: others have made it anew under our name.
  return ip === "None";
}

/** The API server changes the class of a load balancer only together with the type. */
function hasFixedClass({ spec: wanted }: PlannedService, live: unknown): boolean {
  return wanted.type === "LoadBalancer" && fieldOf(live, "type") === "LoadBalancer";
}

/**
 * What the parameters ask for and a Service that is there cannot become; null for nothing. A new Service would
 * have another address, so it is for users to say when. One without a class that is asked for keeps its class:
 * clouds write theirs.
 */
export function classFault(wanted: PlannedService, live: KubeObject): AddressFault | null {
  const { namespace, name } = wanted.metadata;
  const { loadBalancerClass } = wanted.spec;
  const spec = fieldOf(live, "spec");
  if (loadBalancerClass === undefined || !hasFixedClass(wanted, spec)) return null;
  const there = asText(fieldOf(spec, "loadBalancerClass"));
  if (there === loadBalancerClass) return null;
  return {
    reason: "Invalid",
    message:
      `Service ${namespace}/${name} has ${
        there === null ? "no loadBalancerClass" : `loadBalancerClass ${there}`
      }, which Kubernetes does not change to ${loadBalancerClass}; its address stays in use. Delete the ` +
      `Service for one with a new address, or ${
        there === null ? "remove loadBalancerClass" : `write ${there}`
      }.`,
  };
}

function metadataPatch(wanted: OwnedMeta, live: KubeObject): Record<string, unknown> {
  const patch: Record<string, unknown> = {};
  for (const name of ["labels", "annotations"] as const) {
    const there = asObject(live.metadata[name]) ?? {};
    const changed: Record<string, string | null> = {};
    for (const [key, value] of Object.entries(wanted[name])) {
      if (there[key] !== value) changed[key] = value;
    }
    for (const key of ownKeys(live, name)) {
      if (!Object.hasOwn(wanted[name], key) && Object.hasOwn(there, key)) changed[key] = null;
    }
    if (Object.keys(changed).length > 0) patch[name] = changed;
  }
  const owners = asList(fieldOf(live.metadata, "ownerReferences"))?.map((owner) =>
    pick(owner, ["apiVersion", "kind", "name", "uid"])
  );
  if (!isAlike(wanted.ownerReferences, owners)) patch.ownerReferences = wanted.ownerReferences;
  return patch;
}

/** Keys of a map that we have set, and nobody else has changed since. */
function ownKeys(live: KubeObject, map: "labels" | "annotations"): string[] {
  return (live.metadata.managedFields ?? [])
    .filter((entry) => fieldOf(entry, "manager") === FIELD_MANAGER)
    .flatMap((entry) => {
      const fields = fieldOf(fieldOf(fieldOf(entry, "fieldsV1"), "f:metadata"), `f:${map}`);
      return Object.keys(asObject(fields) ?? {});
    })
    .filter((key) => key.startsWith("f:"))
    .map((key) => key.slice(2));
}

function difference(
  metadata: Readonly<Record<string, unknown>>,
  rest: Readonly<Record<string, unknown>>,
): Difference {
  if (Object.keys(metadata).length === 0 && Object.keys(rest).length === 0) return NO_DIFFERENCE;
  return { kind: "patch", patch: { ...rest, metadata } };
}

function isSet(value: unknown): boolean {
  return !isAbsent(value) && value !== "" && value !== false &&
    !(Array.isArray(value) && value.length === 0);
}

function pick(value: unknown, names: readonly string[]): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    names.flatMap((name) => {
      const field = fieldOf(value, name);
      return isAbsent(field) ? [] : [[name, field]];
    }),
  );
}
