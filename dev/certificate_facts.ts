/** What a certificate says. In: its chain in PEM and the time. Out: lines on its names, issuer and last day. */
import { X509Certificate } from "node:crypto";
import type { Certificate } from "../shared/snapshot/types.ts";

const DAY = 24 * 60 * 60 * 1000;

/** Of the leaf. @param now Milliseconds since the epoch. */
export function certificateFacts({ chain }: Certificate, now: number): string[] {
  if (chain.kind !== "pem") return [];
  let leaf: X509Certificate;
  try {
    leaf = new X509Certificate(chain.pem);
  } catch (error) {
    return [`  cannot be read: ${error instanceof Error ? error.message : String(error)}`];
  }
  const names = (leaf.subjectAltName ?? "").split(", ").map((name) => name.replace(/^DNS:/, ""));
  const self = leaf.issuer === leaf.subject ? " (itself)" : "";
  const ends = new Date(leaf.validTo);
  const days = Math.floor((ends.getTime() - now) / DAY);
  const left = days < 0 ? "has expired" : `${days} day${days === 1 ? "" : "s"} left`;
  return [
    `  names    ${names.join(", ")}`,
    `  issuer   ${leaf.issuer.split("\n").join(", ")}${self}`,
    `  expires  ${ends.toISOString().slice(0, 10)} (${left})`,
  ];
}
