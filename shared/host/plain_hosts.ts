/**
 * Whether plain HTTP to a host stays although a certificate covers the host. In: the certificate's
 * lists, and a host that it covers. Out: whether nobody is sent to HTTPS; see `Certificate.plain`.
 */

/** Names that are looked through, be it a list or what finds them sooner. */
export interface Names {
  includes(name: string): boolean;
}

export function staysPlain(
  { hosts, plain }: { readonly hosts: Names; readonly plain?: Names },
  host: string,
): boolean {
  if (plain === undefined) return false;
  if (plain.includes(host)) return true;
  return !hosts.includes(host) && plain.includes(`*${host.slice(host.indexOf("."))}`);
}
