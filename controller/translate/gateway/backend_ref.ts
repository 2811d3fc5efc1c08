/**
 * Backends of rules. In: an element of `backendRefs` of unknown shape, and what it may refer to. Out: the
 * Service's port and its share of the requests; or why there is none: its share of them gets 500.
 *
 * https://gateway-api.sigs.k8s.io/reference/spec/#httpbackendref
 */
import { asPort, fieldOf, isAbsent } from "../../base/json.ts";
import { SERVICES } from "../../kube/types.ts";
import { type Condition, falseCondition } from "./condition.ts";
import { readReference, type Reference, showReference } from "./reference.ts";
import type { ReferenceGrants, Referrer } from "./reference_grant.ts";

/** Lookup of Services. */
export interface ServicePorts {
  /** Null where there is no such Service. */
  portsOf(namespace: string, name: string): readonly number[] | null;
}

export interface BackendModel {
  /** `spec.rules[0].backendRefs[1]`. */
  readonly field: string;
  /** 0 for no request. */
  readonly weight: number;
  readonly service: {
    readonly namespace: string;
    readonly name: string;
    readonly port: number;
  } | null;
  /** Why there is no Service; null where there is. */
  readonly fault: Condition | null;
}

export function readBackendRef(
  value: unknown,
  field: string,
  from: Referrer,
  grants: ReferenceGrants,
  services: ServicePorts,
): BackendModel {
  const written = fieldOf(value, "weight");
  const weight = isAbsent(written) ? 1 : Number.isSafeInteger(written) ? written as number : 0;
  const reference = readReference(value, {
    ...{ group: "", kind: SERVICES.kind, namespace: from.namespace },
  });
  const port = asPort(fieldOf(value, "port"));
  const fault = faultOf(reference, port, field, from, grants, services);
  return {
    ...{ field, weight, fault },
    service: fault !== null || reference === null || port === null
      ? null
      : { namespace: reference.namespace, name: reference.name, port },
  };
}

/** In an order that says of another namespace's objects no more than that a grant is missing. */
function faultOf(
  reference: Reference | null,
  port: number | null,
  field: string,
  from: Referrer,
  grants: ReferenceGrants,
  services: ServicePorts,
): Condition | null {
  if (reference === null) return unresolved("InvalidKind", `${field} cannot be read.`);
  const shown = showReference(reference);
  if (reference.group !== "" || reference.kind !== SERVICES.kind) {
    return unresolved("InvalidKind", `${field} is ${shown}. Write a Service.`);
  }
  if (!grants.isPermitted(from, reference)) {
    return unresolved(
      "RefNotPermitted",
      `${field} is ${shown}. Create a ReferenceGrant in namespace ${reference.namespace}.`,
    );
  }
  const ports = services.portsOf(reference.namespace, reference.name);
  if (ports === null) {
    return unresolved("BackendNotFound", `${field} is ${shown}, which does not exist.`);
  }
  if (port === null || !ports.includes(port)) {
    return unresolved(
      "BackendNotFound",
      `${field} is ${shown}, which has no port ${
        port ?? "without a number"
      }. Write one of its ports.`,
    );
  }
  return null;
}

function unresolved(reason: string, message: string): Condition {
  return falseCondition("ResolvedRefs", reason, message);
}
