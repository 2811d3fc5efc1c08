/**
 * Whose forwarded headers are believed. In: the networks of `--trusted-proxies`, and those of the
 * active snapshot, which change. Out: whether an address is in one of them.
 */
import type { CidrList } from "../../shared/net/cidr.ts";
import { NetworkSet } from "../../shared/net/network_set.ts";
import { isSamePart } from "../../shared/snapshot/equality.ts";
import type { Client } from "./message.ts";

export class TrustedProxies {
  /** Of the process. */
  readonly #own: CidrList;
  #networks: readonly string[] = [];
  /** Null for none. */
  #published: NetworkSet | null = null;

  constructor(own: CidrList) {
    this.#own = own;
  }

  contains(address: string): boolean {
    return this.#own.contains(address) || (this.#published?.contains(address) ?? false);
  }

  /**
   * Whether `X-Real-IP` of this peer names the client where there is no `X-Forwarded-For`. Only for
   * `--trusted-proxies`: the snapshot's networks are those of ingress-nginx, which reads
   * `X-Forwarded-For` alone, and a load balancer there may pass on a client's own `X-Real-IP`.
   */
  takesRealIp(address: string): boolean {
    return this.#own.contains(address);
  }

  /**
   * Replaces the networks of the snapshot. The clients of open connections follow at once: a request
   * only looks at its client, and a connection of a load balancer may last for a day.
   *
   * @param networks Addresses and networks; throws for others, and believes nobody beside
   *   `--trusted-proxies` then.
   */
  replace(networks: readonly string[], connections: Iterable<{ readonly client: Client }>): void {
    if (isSamePart(networks, this.#networks)) return;
    this.#networks = [];
    this.#published = null;
    try {
      if (networks.length > 0) this.#published = new NetworkSet(networks);
      this.#networks = networks;
    } finally {
      for (const { client } of connections) client.trusted = this.contains(client.address);
    }
  }
}
