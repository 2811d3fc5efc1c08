/**
 * Backends of rules. In: an element of `backendRefs` of unknown shape. Out: the reference with its share of
 * the requests; and, with what it may refer to, the upstream, or why there is none: its share then gets
 * 500.
 *
 * https://gateway-api.sigs.k8s.io/reference/spec/#httpbackendref
 */
import { asPort, fieldOf, isAbsent } from "../../../base/json.ts";
import { BACKEND_TLS_POLICIES, SERVICES } from "../../../kube/types.ts";
import { upstreamId } from "../../model/backend_ref.ts";
import type { BackendTlsPolicies } from "./backend_tls_policy.ts";
import { type Condition, falseCondition } from "./condition.ts";
import { readReference, type Reference, showReference } from "./reference.ts";
import type { ReferenceGrants, Referrer } from "./reference_grant.ts";

export interface BackendModel {
  /** `spec.rules[0].backendRefs[1]`. */
  readonly field: string;
  /** 0 for no request. */
  readonly weight: number;
  /** Null where it cannot be read. */
  readonly reference: Reference | null;
  readonly port: number | null;
}

export interface ResolvedBackend {
  readonly weight: number;
  /** Of the upstream; where there is none, what its id would be. */
  readonly upstream: string;
  /** Why the reference leads to no upstream; null where it does. */
  readonly fault: Condition | null;
  /** Why the upstream is not used although there is one; null where it is. A clause that begins with a field. */
  readonly refusal: string | null;
}

/** Lookup of Services. */
export interface ServicePorts {
  /** Null where there is no such Service; `any` where a name stands for it, with the port that is asked for. */
  portsOf(namespace: string, name: string): readonly number[] | "any" | null;
}

/** Lookup of upstreams. */
export interface ServiceUpstreams {
  /** Of a port that a Service has: why there is no upstream, and what to do; null where there is. */
  faultOf(namespace: string, name: string, port: number): string | null;
}

export function readBackendRef(value: unknown, field: string, namespace: string): BackendModel {
  const written = fieldOf(value, "weight");
  return {
    field,
    weight: isAbsent(written) ? 1 : Number.isSafeInteger(written) ? written as number : 0,
    reference: readReference(value, { group: "", kind: SERVICES.kind, namespace }),
    port: asPort(fieldOf(value, "port")),
  };
}

/** @param upstreams Null where the rule is not served, so that none is needed. */
export function resolveBackend(
  backend: BackendModel,
  from: Referrer,
  grants: ReferenceGrants,
  services: ServicePorts,
  policies: BackendTlsPolicies,
  upstreams: ServiceUpstreams | null,
): ResolvedBackend {
  const { field, weight, reference, port } = backend;
  const found = faultOf(backend, from, grants, services);
  const upstream = upstreamOf(backend);
  if (found !== null || reference === null || port === null) {
    return { weight, upstream, fault: found, refusal: null };
  }
  const { namespace, name } = reference;
  const policy = policies.policyOf(reference);
  if (policy !== null) {
    const refusal = `${field} is ${showReference(reference)}, which ${BACKEND_TLS_POLICIES.kind} ` +
      `${namespace}/${policy} targets: TLS to backends is not supported`;
    return { weight, upstream, fault: null, refusal };
  }
  const reason = upstreams?.faultOf(namespace, name, port) ?? null;
  return {
    ...{ weight, upstream, refusal: null },
    fault: reason === null ? null : unresolved("BackendNotFound", `${field}: ${reason}.`),
  };
}

/** The id of the upstream that a backend leads to, or would lead to; its field where there can be none. */
export function upstreamOf(
  { field, reference, port }: Pick<BackendModel, "field" | "reference" | "port">,
): string {
  return reference === null || port === null
    ? field
    : upstreamId(reference.namespace, reference.name, port);
}

/** In an order that says of another namespace's objects no more than that a grant is missing. */
function faultOf(
  { field, reference, port }: BackendModel,
  from: Referrer,
  grants: ReferenceGrants,
  services: ServicePorts,
): Condition | null {
  if (reference === null) {
    return unresolved(
      "InvalidKind",
      `${field} cannot be read. Write the name and a port of a Service.`,
    );
  }
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
    return unresolved(
      "BackendNotFound",
      `${field} is ${shown}, which does not exist. Create the Service, or write the name of another one.`,
    );
  }
  if (port === null || (ports !== "any" && !ports.includes(port))) {
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
