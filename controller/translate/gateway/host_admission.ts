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
import type { Attachment } from "./attachment.ts";
import type { ConfiguredGateway } from "./gateway_parameters.ts";
import { falseCondition } from "./objects/condition.ts";
import type { Hostname } from "./objects/hostname.ts";
import type { ListenerModel } from "./objects/listener.ts";
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

  /** @param namespace Of the route. */
  admit(gateway: ConfiguredGateway, attachment: Attachment, namespace: string): Attachment {
    if (gateway.address === "own" || !attachment.ok) return attachment;
    const refused = new Set<string>();
    const waiting = new Set<string>();
    const conflicts = new Set<string>();
    const listeners = attachment.listeners.flatMap(({ listener, hostnames }) => {
      const own = hostnames.filter((hostname) => {
        const refusal = this.#refusalOf(hostname, namespace);
        if (refusal !== null) refused.add(refusal);
        return refusal === null;
      });
      if (own.length === 0) return [];
      const conflict = gateway.conflicts.get(listener.name);
      if (conflict !== undefined) {
        conflicts.add(`listener ${listener.name} (${conflict.reason})`);
      }
      const served = own.filter((hostname) => {
        const ingress = this.#ingresses.get(hostname ?? ANY_HOST);
        if (ingress === undefined) return !this.#isIsolated(hostname, listener, gateway);
        waiting.add(`${showHostname(hostname)} served by ${ingress} until it is deleted`);
        return false;
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
      ...(conflicts.size === 0 ? [] : [`not served by ${showSome([...conflicts])}`]),
      ...(refused.size === 0 ? [] : [`not served: ${showSome([...refused])}`]),
      ...(waiting.size === 0 ? [] : [showSome([...waiting])]),
    ];
    return { ok: true, listeners, ...(notes.length === 0 ? {} : { note: `${notes.join("; ")}.` }) };
  }

  #refusalOf(hostname: Hostname, namespace: string): string | null {
    if (hostname === null || this.#ownership.standing(hostname, namespace) !== "refused") {
      return null;
    }
    const { namespace: owner } = this.#ownership.owners.get(hostname)!;
    return `host ${hostname} belongs to namespace ${owner}`;
  }

  /** Whether another listener of the Gateway has all these hosts, as its hostname is more specific. */
  #isIsolated(hostname: Hostname, listener: ListenerModel, gateway: ConfiguredGateway): boolean {
    if (hostname === null || hostname === listener.hostname) return false;
    const hostnames = this.#hostnamesOf(gateway).get(listener.port);
    if (hostnames === undefined) return false;
    if (hostnames.has(hostname)) return true;
    for (const pattern of broaderPatterns(hostname)) {
      if (hostnames.has(pattern)) return pattern !== listener.hostname;
    }
    return false;
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

function showHostname(hostname: Hostname): string {
  return hostname === null ? "requests for hosts that nobody names are" : `host ${hostname} is`;
}
