/**
 * Certificates of listeners. In: the references of a listener, and what they may lead to. Out: whether all of
 * them can be used, and the certificates.
 */
import type { Certificate } from "../../../shared/snapshot/types.ts";
import { type Condition, falseCondition, trueCondition } from "./objects/condition.ts";
import type { ListenerModel } from "./objects/listener.ts";
import { showReference } from "./objects/reference.ts";
import type { ReferenceGrants, Referrer } from "./objects/reference_grant.ts";

/** Lookup of TLS Secrets. */
export interface TlsSecrets {
  /** The certificate of a Secret, for no host; or why it has none, as a clause. */
  find(namespace: string, name: string): Certificate | string;
}

/** What a listener shows; nothing where one of its certificates cannot be used. */
export function listenerCertificates(
  listener: ListenerModel,
  from: Referrer,
  grants: ReferenceGrants,
  secrets: TlsSecrets,
): readonly Certificate[] {
  if (certificatesCondition(listener, from, grants, secrets).status !== "True") return [];
  return listener.certificates.flatMap((reference) => {
    const found = reference === null ? "" : secrets.find(reference.namespace, reference.name);
    return typeof found === "string" ? [] : [found];
  });
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
    const found = secrets.find(reference.namespace, reference.name);
    if (typeof found === "string") return invalid(`${at}: ${found}.`);
  }
  return trueCondition("ResolvedRefs");
}

function invalid(message: string): Condition {
  return falseCondition("ResolvedRefs", "InvalidCertificateRef", message);
}
