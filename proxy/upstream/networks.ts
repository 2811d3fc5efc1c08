/**
 * Where the proxy may dial. In: the networks of the command line and the addresses that are the
 * proxy's own. Out: for an endpoint's address, null or why it is refused.
 *
 * Endpoints come from whoever may write a Service, an EndpointSlice or a DNS record. Without this
 * check that is also whoever wants to read the cloud's metadata, a node's loopback services or the
 * admin port through us (request forgery, as in CVE-2021-25745). Deno's permissions bound the same
 * from outside; a right to listen is also a right to dial that address, so they cannot do it alone.
 */
import ipaddr from "ipaddr.js";
import type { Address } from "../../shared/net/address.ts";
import type { CidrList } from "../../shared/net/cidr.ts";
import { isInRange, type ListenRange, type PortRange } from "../../shared/net/port_range.ts";
import { reservedAddress } from "../../shared/net/reserved_address.ts";

export interface UpstreamNetworksOptions {
  /** Nothing outside of these may be dialled; an empty list leaves all but what never may. */
  readonly networks: CidrList;
  /** 127.0.0.0/8 and ::1 are endpoints too: on a laptop and in tests. */
  readonly allowLoopback: boolean;
}

interface OwnRange extends PortRange {
  /** Null for every address of this machine. */
  readonly address: string | null;
}

export class UpstreamNetworks {
  readonly #options: UpstreamNetworksOptions;
  /** `address port` of our own listeners. */
  readonly #own = new Set<string>();
  /** Ports of our own on every address of this machine. */
  readonly #ownPorts = new Set<number>();
  /** Ports that may become ours. */
  #range: OwnRange | null = null;

  constructor(options: UpstreamNetworksOptions) {
    this.#options = options;
  }

  /** Refuses an address on which this process listens: a request must not come round again. */
  protect({ hostname, port }: Address): void {
    if (!ipaddr.isValid(hostname)) {
      // A name such as localhost: whatever it stands for.
      this.#ownPorts.add(port);
      return;
    }
    const address = ipaddr.process(hostname);
    if (address.range() === "unspecified") this.#ownPorts.add(port);
    else this.#own.add(`${address} ${port}`);
  }

  /** Likewise for all ports on which it may listen, be they listened on now or not. */
  protectRange({ hostname, from, to }: ListenRange): void {
    const address = ipaddr.isValid(hostname) ? ipaddr.process(hostname) : null;
    const isAny = address === null || address.range() === "unspecified";
    this.#range = { address: isAny ? null : String(address), from, to };
  }

  /** Null for an address that may be dialled, else what is wrong with it, for the log. */
  refusal(text: string, port: number): string | null {
    if (!ipaddr.isValid(text)) return "not an address";
    const address = ipaddr.process(text);
    const isOwn = this.#own.has(`${address} ${port}`) ||
      this.#mayListenOn(String(address), port);
    if (isOwn) return "this proxy's own listener";
    const reserved = reservedAddress(text);
    if (reserved !== null && !(reserved.kind === "loopback" && this.#options.allowLoopback)) {
      return reserved.kind === "loopback"
        ? `${reserved.what} (see --allow-loopback-upstreams)`
        : reserved.what;
    }
    const { networks } = this.#options;
    return networks.isEmpty || networks.contains(text) ? null : "outside of --upstream-networks";
  }

  /**
   * True for a connection that has reached ourselves: a listener on every address of this machine
   * cannot list them without more permissions, but dialled from here both ends have the same one.
   */
  isOwn(local: Address, remote: Address): boolean {
    const { port, hostname } = remote;
    const isOwnPort = this.#ownPorts.has(port) || this.#mayListenOn(null, port);
    return isOwnPort && local.hostname === hostname;
  }

  /** Whether the range is of this address, null for every one of this machine, and has the port. */
  #mayListenOn(address: string | null, port: number): boolean {
    return this.#range !== null && this.#range.address === address && isInRange(this.#range, port);
  }
}
