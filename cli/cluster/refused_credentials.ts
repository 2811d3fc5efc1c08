/**
 * Why an API server does not accept the credentials of a kubeconfig (401), as far as they say it themselves. In:
 * the client certificate and the program that they come from. Out: the error, with its reason.
 */
import { X509Certificate } from "node:crypto";
import type { ApiError } from "../../controller/kube/types.ts";

/** Reasons of errors with code 401, for remedies. */
export const REFUSED = { certificate: "CertificateEnded", program: "ProgramRefused" } as const;

export interface ShownCredentials {
  /** Name of the kubeconfig's user. */
  readonly user: string | null;
  /** In PEM, the leaf first; null for none. */
  readonly clientCertificate: string | null;
  /** Null where the kubeconfig has the credentials itself. */
  readonly program: string | null;
}

/** @param now Milliseconds since the epoch. */
export function refusedCredentials(
  error: ApiError,
  { user, clientCertificate, program }: ShownCredentials,
  now: number,
): ApiError {
  if (error.code !== 401) return error;
  const when = clientCertificate === null ? null : validityOf(clientCertificate, now);
  const of = user === null ? "" : ` of user ${JSON.stringify(user)}`;
  if (when !== null) {
    const message = `the client certificate ${when.subject}${of} ${when.text}`;
    return { ...error, reason: REFUSED.certificate, message };
  }
  return program === null ? error : {
    ...error,
    reason: REFUSED.program,
    message:
      `the API server does not accept the credentials that the program ${program}${of} gives`,
  };
}

/** `{ subject: "O=dev, CN=jane", text: "has ended at …" }`; null where it is valid, or cannot be read. */
function validityOf(pem: string, now: number): { subject: string; text: string } | null {
  let certificate;
  try {
    certificate = new X509Certificate(pem);
  } catch {
    return null;
  }
  const subject = certificate.subject.split("\n").join(", ");
  const [from, to] = [certificate.validFrom, certificate.validTo].map((text) => Date.parse(text));
  if (to < now) return { subject, text: `has ended at ${new Date(to).toISOString()}` };
  return from > now
    ? { subject, text: `is not valid before ${new Date(from).toISOString()}` }
    : null;
}
