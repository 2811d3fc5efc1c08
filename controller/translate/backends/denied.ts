/**
 * Addresses that no backend has: the API server's, those of nodes, and the networks of Services. In: the
 * Service `kubernetes` with its EndpointSlices, Nodes and ServiceCIDRs, as far as they can be read. Out:
 * the addresses and networks, for endpoints of tenants and for what proxies resolve by DNS.
 *
 * Who may write a Service chooses where proxies dial (CWE-918): a kubelet's port, the API server, or a
 * Service that a NetworkPolicy admits proxies to and not the tenant. Pods of the host's network have
 * the address of their node, so an endpoint with a Pod as targetRef may be there.
 */
import { isIP } from "node:net";
import ipaddr from "ipaddr.js";
import { CidrList } from "../../../shared/net/cidr.ts";
import { addressForms } from "../../../shared/net/reserved_address.ts";
import { asList, asText, fieldOf } from "../../base/json.ts";
import { isSameList, LastResult } from "../../base/memo.ts";
import { compareText } from "../../base/text_order.ts";

export type DeniedKind = "api" | "node" | "service";

export class Denied {
  /** Addresses and networks, sorted. */
  readonly list: readonly string[];
  readonly #addresses: ReadonlyMap<string, DeniedKind>;
  /** `address port`. */
  readonly #apiPorts: ReadonlySet<string>;
  readonly #networks: CidrList;

  constructor(
    addresses: ReadonlyMap<string, DeniedKind>,
    apiPorts: ReadonlySet<string>,
    networks: readonly string[],
  ) {
    this.#addresses = addresses;
    this.#apiPorts = apiPorts;
    const parsed = CidrList.parse(networks.join(","));
    this.#networks = typeof parsed === "string" ? CidrList.empty : parsed;
    this.list = [...addresses.keys(), ...networks].sort(compareText);
  }

  /**
   * Null for an address, in its canonical form, that an endpoint may have.
   *
   * @param isPod as its targetRef says: such a one may be on a node, but never on a Service's address.
   */
  refusal(address: string, port: number, isPod: boolean): DeniedKind | null {
    if (this.list.length === 0) return null;
    if (!address.includes(":")) return this.#refusalOf(address, port, isPod);
    for (const form of addressForms(address)) {
      const kind = this.#refusalOf(form, port, isPod);
      if (kind !== null) return kind;
    }
    return null;
  }

  #refusalOf(address: string, port: number, isPod: boolean): DeniedKind | null {
    if (this.#apiPorts.has(`${address} ${port}`)) return "api";
    const kind = this.#addresses.get(address);
    if (kind === "service" || (kind !== undefined && !isPod)) return kind;
    return this.#networks.contains(address) ? "service" : null;
  }

  isSameAs(other: Denied): boolean {
    return isSameList(this.list, other.list) &&
      isSameList([...this.#apiPorts].sort(), [...other.#apiPorts].sort());
  }
}

export interface DeniedInputs {
  /** The API server's Service; null where it cannot be read. */
  readonly service: unknown;
  /** Of that Service. */
  readonly slices: readonly unknown[];
  readonly nodes: readonly unknown[] | null;
  readonly serviceCidrs: readonly unknown[] | null;
}

/** `keyOf` the API server's Service. */
export const API_SERVICE = "default/kubernetes";

export class DeniedReader {
  readonly #memory = new LastResult<DeniedInputs, Denied>();

  /** The very same as before where what is denied is. */
  read(inputs: DeniedInputs): Denied {
    const before = this.#memory.last;
    const isSame = before !== null && before.inputs.service === inputs.service &&
      before.inputs.nodes === inputs.nodes && before.inputs.serviceCidrs === inputs.serviceCidrs &&
      isSameList(before.inputs.slices, inputs.slices);
    if (isSame) return before.result;
    const denied = readAll(inputs);
    return this.#memory.keep(inputs, before?.result.isSameAs(denied) ? before.result : denied);
  }
}

function readAll({ service, slices, nodes, serviceCidrs }: DeniedInputs): Denied {
  const addresses = new Map<string, DeniedKind>();
  const apiPorts = new Set<string>();
  const add = (written: unknown, kind: DeniedKind): string | null => {
    // Names of nodes are no addresses, and neither is `None`.
    if (typeof written !== "string" || isIP(written) === 0 || written.includes("%")) return null;
    const address = ipaddr.process(written).toString();
    addresses.set(address, kind);
    return address;
  };
  for (const node of nodes ?? []) {
    for (const entry of listOf(fieldOf(node, "status"), "addresses")) {
      add(fieldOf(entry, "address"), "node");
    }
  }
  for (const slice of slices) {
    const ports = listOf(slice, "ports").map((port) => fieldOf(port, "port"));
    for (const endpoint of listOf(slice, "endpoints")) {
      for (const written of listOf(endpoint, "addresses")) {
        const address = add(written, "api");
        for (const port of ports) if (address !== null) apiPorts.add(`${address} ${port}`);
      }
    }
  }
  const spec = fieldOf(service, "spec");
  for (const address of [fieldOf(spec, "clusterIP"), ...listOf(spec, "clusterIPs")]) {
    add(address, "service");
  }
  const networks = (serviceCidrs ?? []).flatMap((object) =>
    listOf(fieldOf(object, "spec"), "cidrs").flatMap((cidr) => asText(cidr) ?? [])
  ).filter((cidr) => typeof CidrList.parse(cidr) !== "string");
  return new Denied(addresses, apiPorts, [...new Set(networks)]);
}

function listOf(value: unknown, field: string): readonly unknown[] {
  return asList(fieldOf(value, field)) ?? [];
}
