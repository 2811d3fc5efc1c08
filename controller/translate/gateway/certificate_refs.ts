/**
 * Certificates of listeners. In: the references of a listener, and what they may lead to. Out: whether all of
 * them can be used.
 */
import { type Condition, falseCondition, trueCondition } from "./condition.ts";
import type { ListenerModel } from "./listener.ts";
import { showReference } from "./reference.ts";
import type { ReferenceGrants, Referrer } from "./reference_grant.ts";

/** Lookup of TLS Secrets. */
export interface TlsSecrets {
  /** Why a Secret is no certificate, as a clause; null where it is one. */
  faultOf(namespace: string, name: string): string | null;
}

/** @param from The Gateway. */
export function certificatesCondition(
  { certificates, field, protocol }: ListenerModel,
  from: Referrer,
  grants: ReferenceGrants,
  secrets: TlsSecrets,
): Condition {
  if (protocol === "HTTPS" && certificates.length === 0) {
    return invalid(`${field}.tls.certificateRefs is empty. Write the name of a Secret.`);
  }
  for (const [i, reference] of certificates.entries()) {
    const at = `${field}.tls.certificateRefs[${i}]`;
    if (reference === null) return invalid(`${at} cannot be read.`);
    const shown = showReference(reference);
    if (reference.group !== "" || reference.kind !== "Secret") {
      return invalid(`${at} is ${shown}. Write a Secret.`);
    }
    // Before anything is said about the Secret.
    if (!grants.isPermitted(from, reference)) {
      return falseCondition(
        "ResolvedRefs",
        "RefNotPermitted",
        `${at} is ${shown}. Create a ReferenceGrant in namespace ${reference.namespace}.`,
      );
    }
    const fault = secrets.faultOf(reference.namespace, reference.name);
    if (fault !== null) return invalid(`${at}: ${fault}.`);
  }
  return trueCondition("ResolvedRefs");
}

function invalid(message: string): Condition {
  return falseCondition("ResolvedRefs", "InvalidCertificateRef", message);
}
