/**
 * Certificates of listeners that share an address. In: routes on them, the certificates of each listener, and
 * the owners of hosts. Out: which certificate a host gets there.
 *
 * Clients come to one port for the hosts of all, so that a certificate is never shown for a listener but for
 * hosts: those for which a route of the namespace that owns them is attached to the listener. For routes of any
 * host these are the names in the certificate, as far as they are no other namespace's.
 */
import { sharedSocketOf } from "../../../../shared/snapshot/listener_id.ts";
import type { Listener, Route } from "../../../../shared/snapshot/types.ts";
import { coversHost } from "../../certificates/certificate.ts";
import type { Ownership } from "../../hosts/ownership.ts";
import { ANY_HOST } from "../../model/host.ts";

/** Of a listener. */
export interface NamedCertificate {
  readonly id: string;
  /** Host patterns that it names. */
  readonly names: ReadonlySet<string>;
}

/** By host, the id of its certificate. */
export type HostCertificates = ReadonlyMap<string, string>;

/**
 * @param routes Of Gateways, in the order of a snapshot.
 * @param certificates By id of the listener.
 */
export function hostCertificates(
  routes: readonly Route[],
  listeners: readonly Listener[],
  certificates: ReadonlyMap<string, readonly NamedCertificate[]>,
  ownership: Ownership,
): HostCertificates {
  const found = new Map<string, string>();
  const open = listeners.filter(({ id }) => sharedSocketOf(id) === "https");
  if (open.length === 0) return found;
  const byId = new Map(open.map((listener) => [listener.id, listener]));
  const anyHost = new Set<Listener>();
  for (const { host, origin, listeners: ids = [] } of routes) {
    for (const id of ids) {
      const listener = byId.get(id);
      if (listener === undefined) continue;
      if (host === ANY_HOST) {
        anyHost.add(listener);
        continue;
      }
      // A guest has rules of the host, and never its certificate.
      const standing = ownership.standing(host, origin.namespace);
      if (found.has(host) || (standing !== "owner" && standing !== "free")) continue;
      const own = certificates.get(id) ?? [];
      const best = own.find(({ names }) => coversHost(names, host)) ?? own[0];
      if (best !== undefined) found.set(host, best.id);
    }
  }
  for (const { id, origin } of anyHost) {
    for (const { id: certificate, names } of certificates.get(id) ?? []) {
      for (const name of names) {
        const standing = ownership.standing(name, origin.namespace);
        if (found.has(name) || (standing !== "owner" && standing !== "free")) continue;
        found.set(name, certificate);
      }
    }
  }
  return found;
}
