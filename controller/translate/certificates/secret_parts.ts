/**
 * What a Secret gives for TLS with a client or a backend, as ingress-nginx reads it for `auth-tls-secret` and
 * `proxy-ssl-secret` alike. In: the name of a Secret, and Secrets. Out: its authority and the certificate to
 * show, or a clause that says why it cannot be used.
 *
 * There, a pair of tls.crt and tls.key is read where it is written, ca.crt where it is not empty, and ca.crl
 * beside that; none of them may be broken. Half a pair, which it ignores, cannot be used here.
 */
import type { ProblemFacts } from "../../../shared/problem.ts";
import type { PemText } from "../../../shared/snapshot/types.ts";
import { keyOf } from "../../base/identity.ts";
import { describeExcess, excessOf } from "../../kube/excess.ts";
import { fieldOf, isAbsent } from "../../base/json.ts";
import { oversizeOf, REVOKED_BYTES } from "../../base/secret_values.ts";
import { readSecretValue } from "./certificate.ts";
import type { InlineCertificate, SecretModel } from "./certificate_source.ts";

export interface SecretParts {
  readonly authority: PemText | null;
  /** To be shown. */
  readonly certificate: InlineCertificate | null;
  /** Of its key; 0 for none, and for another kind of key. */
  readonly rsaBits: number;
}

export const NO_PARTS: SecretParts = { authority: null, certificate: null, rsaBits: 0 };

/** Why a Secret cannot be used. */
export interface SecretFault {
  /** A clause. */
  readonly clause: string;
  /** Missing where the Secret has to be written anew. */
  readonly remedy?: string;
  readonly facts?: ProblemFacts;
}

export function isSecretFault(parts: SecretParts | SecretFault): parts is SecretFault {
  return "clause" in parts;
}

export function readSecretParts(
  { namespace, name }: { readonly namespace: string; readonly name: string },
  secrets: ReadonlyMap<string, SecretModel>,
): SecretParts | SecretFault {
  const secret = secrets.get(keyOf({ namespace, name }));
  if (secret === undefined) {
    const clause = `there is no Secret ${name} in namespace ${namespace}`;
    return { clause, facts: { isSecretMissing: true } };
  }
  const { object } = secret;
  const excess = excessOf(object);
  if (excess !== null) {
    const [what, remedy] = describeExcess(excess);
    return { clause: `Secret ${name} cannot be used: ${what}`, remedy };
  }
  const hasPair = isWritten(object, "tls.crt") || isWritten(object, "tls.key");
  const hasAuthority = !isEmpty(object, "ca.crt");
  if (!hasPair && !hasAuthority) {
    return { clause: `Secret ${name} has neither ca.crt nor tls.crt and tls.key` };
  }
  const unusable = (why: string) => ({ clause: `Secret ${name} cannot be used: ${why}` });
  if (hasPair && !secret.reading.ok) return unusable(secret.reading.message);
  const authority = hasAuthority ? secret.authority : null;
  if (typeof authority === "string") return unusable(authority);
  if (hasAuthority && !isEmpty(object, "ca.crl") && !hasRevocationList(object)) {
    return unusable("ca.crl has no list of revoked certificates (PEM, X509 CRL) at its beginning");
  }
  const certificate = hasPair ? secret.shown : null;
  const rsaBits = hasPair && secret.reading.ok ? secret.reading.certificate.rsaBits : 0;
  return { authority, certificate, rsaBits };
}

/** A Secret in a folder has the values of `stringData`, too, which the API server moves. */
function isWritten(secret: object, key: string): boolean {
  return fieldOf(oversizeOf(secret), key) !== undefined ||
    ["data", "stringData"].some((field) => !isAbsent(fieldOf(fieldOf(secret, field), key)));
}

/** What is no text, or no base64, is not empty. */
function isEmpty(secret: object, key: string): boolean {
  if (!isWritten(secret, key)) return true;
  const plain = fieldOf(fieldOf(secret, "stringData"), key);
  return (typeof plain === "string" ? plain : fieldOf(fieldOf(secret, "data"), key)) === "";
}

/** Not what it revokes: the first block has to be one. Of a long list, its end has not been kept. */
function hasRevocationList(secret: object): boolean {
  const value = readSecretValue(secret, "ca.crl");
  const block = value.ok
    ? /-----BEGIN ([^-\n]+)-----([A-Za-z0-9+/=\s]+)(-----END|$)/.exec(value.text)
    : null;
  return block !== null && block[1] === "X509 CRL" && block[2].trim() !== "" &&
    (block[3] !== "" || block.input.length === REVOKED_BYTES);
}
