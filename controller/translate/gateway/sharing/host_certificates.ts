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
import { ANY_HOST, broaderPatterns } from "../../model/host.ts";
import { covers } from "../objects/hostname.ts";

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
  const listenersOf = new Map<string, Set<string>>();
  const wide = new Map<string, WideRoute>();
  const addWide = (route: WideRoute) => {
    wide.set(`${route.host} ${route.listener} ${route.namespace}`, route);
  };
  const open = listeners.filter(({ id }) => sharedSocketOf(id) === "https");
  if (open.length === 0) return found;
  const byId = new Map(open.map((listener) => [listener.id, listener]));
  for (const { host, origin, listeners: ids = [] } of routes) {
    for (const id of ids) {
      const listener = byId.get(id);
      if (listener === undefined) continue;
      if (host === ANY_HOST) {
        addWide({ host: null, listener: id, namespace: listener.origin.namespace });
        continue;
      }
      // A guest has rules of the host, and never its certificate.
      if (!ownership.isOwn(host, origin.namespace)) continue;
      const known = listenersOf.get(host);
      if (known === undefined) listenersOf.set(host, new Set([id]));
      else known.add(id);
      if (host.startsWith("*.")) addWide({ host, listener: id, namespace: origin.namespace });
    }
  }
  for (const [host, ids] of listenersOf) {
    const own = [...ids].flatMap((id) => certificates.get(id) ?? []);
    const best = own.find(({ names }) => coversHost(names, host)) ?? own[0];
    if (best !== undefined) found.set(host, best.id);
  }
  // The star of a certificate stands for one label, that of a route for more.
  for (const { host, listener, namespace } of wide.values()) {
    for (const { id, names } of certificates.get(listener) ?? []) {
      for (const name of names) {
        if (found.has(name) || (host !== null && !covers(host, name))) continue;
        if (isOwnName(name, namespace, ownership)) found.set(name, id);
      }
    }
  }
  return found;
}

/** A route for more hosts than one. */
interface WideRoute {
  /** Null for any host. */
  readonly host: string | null;
  /** Id. */
  readonly listener: string;
  /** Of which names may be. */
  readonly namespace: string;
}

/** Whether no other namespace owns the name, or the most specific pattern above it that anybody owns. */
function isOwnName(name: string, namespace: string, ownership: Ownership): boolean {
  for (const pattern of [name, ...broaderPatterns(name)]) {
    const standing = ownership.standing(pattern, namespace);
    if (standing !== "free") return standing === "owner";
  }
  return true;
}
