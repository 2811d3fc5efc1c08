/**
 * Certificates of listeners. In: the references of a listener, and what they may lead to. Out: whether all of
 * them can be used, and the certificates.
 */
import { formatObject, type ObjectRef } from "../../../shared/problem.ts";
import type { Certificate } from "../../../shared/snapshot/types.ts";
import type { InlineCertificate } from "../certificates/certificate_source.ts";
import { type Condition, falseCondition, trueCondition } from "./objects/condition.ts";
import type { ListenerModel } from "./objects/listener.ts";
import { showReference } from "./objects/reference.ts";
import type { ReferenceGrants, Referrer } from "./objects/reference_grant.ts";

/** Lookup of TLS Secrets. */
export interface TlsSecrets {
  /** The certificate of a Secret, for no host; why it has none, as a clause; null without the Secret. */
  find(namespace: string, name: string): Certificate | string | null;
  /** The host patterns that the certificate of a Secret names, once it is found. */
  namesOf(namespace: string, name: string): readonly string[];
  /** A certificate as it was published; null where it cannot be read. */
  asPublished(certificate: InlineCertificate): ShownPair | null;
}

/** A certificate, for no host, with the host patterns that it names. */
export interface ShownPair {
  readonly certificate: Certificate;
  readonly names: readonly string[];
}

export interface ListenerCertificates {
  /** `ResolvedRefs`, as far as certificates decide it. */
  readonly condition: Condition;
  /** What the listener shows; nothing where one of them cannot be used. */
  readonly certificates: readonly Certificate[];
  /** The host patterns that each of these names. */
  readonly names: readonly (readonly string[])[];
}

/** @param from The Gateway. */
export function listenerCertificates(
  { certificates, field, protocol }: ListenerModel,
  from: Referrer,
  grants: ReferenceGrants,
  secrets: TlsSecrets,
): ListenerCertificates {
  if (protocol === "HTTPS" && certificates.length === 0) {
    return invalid(`${field}.tls.certificateRefs is empty. Write the name of a Secret.`);
  }
  const shown: Certificate[] = [];
  const names: (readonly string[])[] = [];
  for (const [i, reference] of certificates.entries()) {
    const at = `${field}.tls.certificateRefs[${i}]`;
    if (reference === null) return invalid(`${at} cannot be read. Write the name of a Secret.`);
    const target = showReference(reference);
    if (reference.group !== "" || reference.kind !== "Secret") {
      return invalid(`${at} is ${target}. Write a Secret.`);
    }
    // Before anything is said about the Secret.
    if (!grants.isPermitted(from, reference)) {
      return refused(
        "RefNotPermitted",
        `${at} is ${target}. Create a ReferenceGrant in namespace ${reference.namespace}.`,
      );
    }
    const { namespace, name } = reference;
    const found = secrets.find(namespace, name);
    if (found === null) {
      const absent = { kind: "Secret", namespace, name };
      return invalid(
        `${at}: ${
          formatObject(absent)
        } does not exist. Create the Secret, or write the name of another one.`,
        absent,
      );
    }
    if (typeof found === "string") {
      return invalid(`${at}: ${found}. Correct the Secret, or write the name of another one.`);
    }
    shown.push(found);
    names.push(secrets.namesOf(namespace, name));
  }
  return { condition: trueCondition("ResolvedRefs"), certificates: shown, names };
}

function invalid(message: string, absent?: ObjectRef): ListenerCertificates {
  return refused("InvalidCertificateRef", message, absent);
}

function refused(reason: string, message: string, absent?: ObjectRef): ListenerCertificates {
  const condition = falseCondition("ResolvedRefs", reason, message, absent);
  return { condition, certificates: [], names: [] };
}

/** Of a listener of whose certificates some are shown, as the condition says. */
export function withCertificates(
  condition: Condition,
  certificates: readonly Certificate[],
  found: ListenerCertificates,
): ListenerCertificates {
  const names = certificates.map((each) => found.names[found.certificates.indexOf(each)]);
  return { condition, certificates, names };
}
