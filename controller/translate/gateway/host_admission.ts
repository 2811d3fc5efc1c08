/**
 * Which hosts a route has on an address that Gateways share with Ingresses. In: the attachment of a route to a
 * Gateway, the owners of hosts, and which hosts Ingresses serve. Out: the attachment with those hosts that the
 * route is served for, or why there is none.
 *
 * A host belongs to one namespace, whichever kind of object names it. Inside of that namespace the Ingress
 * serves it until it is deleted.
 */
import { showSome } from "../../base/json.ts";
import type { ServedHosts } from "../hosts/host_claimants.ts";
import type { Ownership } from "../hosts/ownership.ts";
import { ANY_HOST, broaderPatterns } from "../model/host.ts";
import type { Attachment } from "./objects/attachment.ts";
import type { ConfiguredGateway } from "./gateway_parameters.ts";
import { falseCondition } from "./objects/condition.ts";
import type { Hostname } from "./objects/hostname.ts";
import { shareableListeners } from "./shared_listeners.ts";

export class HostAdmission {
  readonly #ownership: Ownership;
  readonly #ingresses: ServedHosts;
  /** Hostnames of listeners, by Gateway and port. */
  readonly #hostnames = new Map<ConfiguredGateway, ReadonlyMap<number, ReadonlySet<Hostname>>>();

  constructor(ownership: Ownership, ingresses: ServedHosts) {
    this.#ownership = ownership;
    this.#ingresses = ingresses;
  }

  /** Of one route, in this namespace. */
  ofRoute(namespace: string): RouteAdmission {
    return new RouteAdmission(this, namespace);
  }

  examine(hostnames: readonly Hostname[], namespace: string): ExaminedHosts {
    const refusals = new Set<string>();
    const own = hostnames.filter((hostname) => {
      const refusal = this.#refusalOf(hostname, namespace);
      if (refusal !== null) refusals.add(refusal);
      return refusal === null;
    });
    const waiting: string[] = [];
    const open = own.filter((hostname) => {
      const ingress = this.#ingresses.get(hostname ?? ANY_HOST);
      if (ingress === undefined) return true;
      waiting.push(`${showHostname(hostname)} served by ${ingress} until it is deleted`);
      return false;
    });
    return { isRefused: own.length === 0, open, refusals, waiting };
  }

  #refusalOf(hostname: Hostname, namespace: string): string | null {
    if (hostname === null || this.#ownership.standing(hostname, namespace) !== "refused") {
      return null;
    }
    const { namespace: owner } = this.#ownership.owners.get(hostname)!;
    return `host ${hostname} belongs to namespace ${owner}`;
  }

  /** Whether a port of the Gateway has one hostname or none, so that no listener takes hosts from another. */
  isAlone(port: number, gateway: ConfiguredGateway): boolean {
    return (this.#hostnamesOf(gateway).get(port)?.size ?? 0) < 2;
  }

  /** The most specific hostname of a listener of the Gateway that has all these hosts; undefined for none. */
  ownerOf(hostname: string, port: number, gateway: ConfiguredGateway): string | undefined {
    const hostnames = this.#hostnamesOf(gateway).get(port);
    if (hostnames === undefined) return undefined;
    if (hostnames.has(hostname)) return hostname;
    for (const pattern of broaderPatterns(hostname)) if (hostnames.has(pattern)) return pattern;
    return undefined;
  }

  #hostnamesOf(gateway: ConfiguredGateway): ReadonlyMap<number, ReadonlySet<Hostname>> {
    let known = this.#hostnames.get(gateway);
    if (known === undefined) {
      const byPort = Map.groupBy(shareableListeners(gateway), ({ port }) => port);
      known = new Map(Array.from(byPort, ([port, listeners]) => [
        port,
        new Set(listeners.map(({ hostname }) => hostname)),
      ]));
      this.#hostnames.set(gateway, known);
    }
    return known;
  }
}

interface ExaminedHosts {
  /** Whether other namespaces have all of them. */
  readonly isRefused: boolean;
  /** Those that are neither another namespace's nor an Ingress's. */
  readonly open: readonly Hostname[];
  readonly refusals: ReadonlySet<string>;
  readonly waiting: readonly string[];
}

/** Listeners of a route may be thousands, with few lists of hosts: each is looked at once. */
export class RouteAdmission {
  readonly #admission: HostAdmission;
  readonly #namespace: string;
  readonly #examined = new Map<readonly Hostname[], ExaminedHosts>();

  constructor(admission: HostAdmission, namespace: string) {
    this.#admission = admission;
    this.#namespace = namespace;
  }

  admit(gateway: ConfiguredGateway, attachment: Attachment): Attachment {
    if (gateway.address === "own" || !attachment.ok) return attachment;
    const refused = new Set<string>();
    const waiting = new Set<string>();
    const seen = new Set<ExaminedHosts>();
    const ownerOf = this.#ownersOn(gateway);
    const listeners = attachment.listeners.flatMap(({ listener, hostnames }) => {
      const examined = this.#examine(hostnames);
      if (!seen.has(examined)) {
        seen.add(examined);
        for (const refusal of examined.refusals) refused.add(refusal);
        for (const each of examined.waiting) waiting.add(each);
      }
      if (examined.isRefused) return [];
      if (this.#admission.isAlone(listener.port, gateway)) {
        return { listener, hostnames: examined.open };
      }
      const served = examined.open.filter((hostname) => {
        if (hostname === null || hostname === listener.hostname) return true;
        const owner = ownerOf(hostname, listener.port);
        return owner === undefined || owner === listener.hostname;
      });
      return { listener, hostnames: served };
    });
    if (listeners.length === 0) {
      return {
        ok: false,
        condition: {
          ...falseCondition(
            "Accepted",
            "HostnameNotOwned",
            `spec.hostnames: ${
              showSome([...refused])
            }. Write other hostnames, or give the Gateway an address of its own.`,
          ),
          ofSharedAddress: true,
        },
      };
    }
    const notes = [
      ...(refused.size === 0 ? [] : [`not served: ${showSome([...refused])}`]),
      ...(waiting.size === 0 ? [] : [showSome([...waiting])]),
    ];
    return { ok: true, listeners, ...(notes.length === 0 ? {} : { note: notes.join("; ") }) };
  }

  #examine(hostnames: readonly Hostname[]): ExaminedHosts {
    let examined = this.#examined.get(hostnames);
    if (examined === undefined) {
      examined = this.#admission.examine(hostnames, this.#namespace);
      this.#examined.set(hostnames, examined);
    }
    return examined;
  }

  /** As `HostAdmission.ownerOf`, for each host and port once. */
  #ownersOn(gateway: ConfiguredGateway): (hostname: string, port: number) => string | undefined {
    const ports = new Map<number, Map<string, string | undefined>>();
    return (hostname, port) => {
      let owners = ports.get(port);
      if (owners === undefined) ports.set(port, owners = new Map());
      if (!owners.has(hostname)) {
        owners.set(hostname, this.#admission.ownerOf(hostname, port, gateway));
      }
      return owners.get(hostname);
    };
  }
}

function showHostname(hostname: Hostname): string {
  return hostname === null ? "requests for hosts that nobody names are" : `host ${hostname} is`;
}
