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
import { namesFor } from "../../certificates/certificate.ts";
import type { Ownership } from "../../hosts/ownership.ts";
import { ANY_HOST, broaderPatterns } from "../../model/host.ts";

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
  const hostsOf = Map.groupBy(wide.values(), ({ listener }) => listener);
  const known = new Map<string, NamesOfListener>();
  const namesOf = (id: string) => {
    const hosts = () => new Set(hostsOf.get(id)?.map(({ host }) => host));
    const names = known.get(id) ?? new NamesOfListener(certificates.get(id) ?? [], hosts());
    known.set(id, names);
    return names;
  };
  for (const [host, ids] of listenersOf) {
    const best = certificateOf(host, Array.from(ids, namesOf));
    if (best !== null) found.set(host, best);
  }
  for (const { host, listener, namespace } of wide.values()) {
    for (const [name, id] of namesOf(listener).within(host)) {
      if (!found.has(name) && isOwnName(name, namespace, ownership)) found.set(name, id);
    }
  }
  return found;
}

/** Of the first listener that has one for the host, or of the first one that has any. */
function certificateOf(host: string, listeners: readonly NamesOfListener[]): string | null {
  for (const listener of listeners) {
    const id = listener.certificateFor(host);
    if (id !== null) return id;
  }
  return listeners.find(({ first }) => first !== null)?.first ?? null;
}

type NameOfCertificate = readonly [name: string, id: string];

/**
 * What the certificates of one listener name. A namespace may have tens of thousands of names, and as many hosts:
 * each name is looked at once, and a host finds those that it has.
 */
class NamesOfListener {
  readonly #certificates: readonly NamedCertificate[];
  /** By name, the place of the first certificate that has it. */
  readonly #places = new Map<string, number>();
  readonly #all: NameOfCertificate[] = [];
  /** By host pattern, the names within it; for those alone that routes have. */
  readonly #within = new Map<string, NameOfCertificate[]>();

  /** @param hosts Patterns that `within` is asked for. */
  constructor(certificates: readonly NamedCertificate[], hosts: ReadonlySet<string | null>) {
    this.#certificates = certificates;
    for (const [place, { id, names }] of certificates.entries()) {
      for (const name of names) {
        // What the first one has is its.
        if (this.#places.has(name)) continue;
        this.#places.set(name, place);
        this.#all.push([name, id]);
        for (const pattern of hosts.size === 0 ? [] : patternsOver(name)) {
          if (hosts.has(pattern)) addTo(this.#within, pattern, [name, id]);
        }
      }
    }
  }

  get first(): string | null {
    return this.#certificates[0]?.id ?? null;
  }

  /** Of the first one that names the host; null where none does. */
  certificateFor(host: string): string | null {
    const places = namesFor(host).flatMap((name) => this.#places.get(name) ?? []);
    return places.length === 0 ? null : this.#certificates[Math.min(...places)].id;
  }

  /** @param host Null for any. */
  within(host: string | null): readonly NameOfCertificate[] {
    return host === null ? this.#all : this.#within.get(host) ?? [];
  }
}

/** Patterns of routes that have a name. The star of a certificate stands for one label, that of a route for more. */
function patternsOver(name: string): readonly string[] {
  return name.startsWith("*.") ? [name, ...broaderPatterns(name)] : [...broaderPatterns(name)];
}

function addTo(
  lists: Map<string, NameOfCertificate[]>,
  pattern: string,
  name: NameOfCertificate,
): void {
  const list = lists.get(pattern);
  if (list === undefined) lists.set(pattern, [name]);
  else list.push(name);
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
