/** What a certificate says. In: its chain in PEM and the time. Out: names, issuer and last day of the leaf. */
import { X509Certificate } from "node:crypto";
import type { Certificate } from "../../shared/snapshot/types.ts";
import type { LeafFacts } from "./url_explanation.ts";

const DAY = 24 * 60 * 60 * 1000;

/** Null where the chain is in a file that is not read here. @param now Milliseconds since the epoch. */
export function leafFacts({ chain }: Certificate, now: number): LeafFacts | null {
  if (chain.kind !== "pem") return null;
  let leaf: X509Certificate;
  try {
    leaf = new X509Certificate(chain.pem);
  } catch (error) {
    return { unreadable: error instanceof Error ? error.message : String(error) };
  }
  const ends = new Date(leaf.validTo);
  return {
    names: (leaf.subjectAltName ?? "").split(", ").map((name) => name.replace(/^DNS:/, "")),
    issuer: leaf.issuer.split("\n").join(", "),
    isSelfSigned: leaf.issuer === leaf.subject,
    expires: ends.toISOString(),
    daysLeft: Math.floor((ends.getTime() - now) / DAY),
  };
}
