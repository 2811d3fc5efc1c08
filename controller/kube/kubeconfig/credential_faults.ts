/**
 * Credentials of a kubeconfig that cannot work with any server. In: its cluster and user, with their files. Out: a
 * clause with the remedy, which cites nothing of them; null for none.
 */
import { createPrivateKey, X509Certificate } from "node:crypto";
import { type ClusterEntry, pemOf, type UserEntry } from "./entries.ts";

export function credentialFault(cluster: ClusterEntry, user: UserEntry | null): string | null {
  return authorityFault(cluster) ?? (user === null ? null : tokenFault(user) ?? pairFault(user));
}

function authorityFault({ caData, caFile }: ClusterEntry): string | null {
  if (caData || !caFile) return null;
  return readPem(undefined, caFile) !== null
    ? null
    : `its certificate-authority ${caFile} cannot be read; correct the path, or write ` +
      "certificate-authority-data";
}

/** Blanks at its ends are cut off where it is sent. */
function tokenFault({ token }: UserEntry): string | null {
  // deno-lint-ignore no-control-regex
  return typeof token === "string" && /[\x00-\x1f\x7f]/.test(token.trim())
    ? "the token of its user has a line break or another control character inside; write it on one line"
    : null;
}

function pairFault({ certData, certFile, keyData, keyFile }: UserEntry): string | null {
  const certificate = readPem(certData, certFile);
  const key = readPem(keyData, keyFile);
  if (certificate === undefined && key === undefined) return null;
  const [missing] = [
    ...(certificate === null ? [`client-certificate ${certFile}`] : []),
    ...(key === null ? [`client-key ${keyFile}`] : []),
  ];
  if (missing !== undefined) return `its ${missing} cannot be read; correct the path`;
  if (typeof certificate !== "string" || typeof key !== "string") {
    const [there, lacking] = certificate === undefined
      ? ["client-key", "client-certificate"]
      : ["client-certificate", "client-key"];
    return `its user has a ${there} and no ${lacking}; write ${lacking}-data too`;
  }
  let leaf: X509Certificate;
  try {
    leaf = new X509Certificate(certificate);
  } catch {
    return "the client certificate of its user is no certificate in PEM; write it anew";
  }
  try {
    return leaf.checkPrivateKey(createPrivateKey(key))
      ? null
      : "the client-key of its user is not that of the client-certificate; write both anew";
  } catch {
    return "the client-key of its user is no private key in PEM without a passphrase; write it anew";
  }
}

/** Undefined where there is none, null where its file cannot be read. */
function readPem(data: string | undefined, file: string | undefined): string | null | undefined {
  try {
    return pemOf(data, file) ?? undefined;
  } catch {
    return null;
  }
}
