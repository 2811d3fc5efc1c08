/**
 * Whether plain HTTP to a host stays although a certificate covers the host. In: the certificate's
 * lists, and a host that it covers. Out: whether nobody is sent to HTTPS; see `Certificate.plain`.
 */
import type { Certificate } from "./snapshot.ts";

export function staysPlain(
  { hosts, plain }: Pick<Certificate, "hosts" | "plain">,
  host: string,
): boolean {
  if (plain === undefined) return false;
  if (plain.includes(host)) return true;
  return !hosts.includes(host) && plain.includes(`*${host.slice(host.indexOf("."))}`);
}
