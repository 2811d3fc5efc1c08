/**
 * Addresses that no name may stand for. In: addresses and networks of the snapshot. Out: whether an
 * address that a name was resolved to is among them. The controller checks endpoints by itself.
 */
import { CidrList } from "../../shared/net/cidr.ts";
import { addressForms } from "../../shared/net/reserved_address.ts";
import { isSamePart } from "../../shared/snapshot/equality.ts";

export class DeniedAddresses {
  #addresses: ReadonlySet<string> = new Set();
  #networks = CidrList.empty;
  #list: readonly string[] = [];

  /** False where nothing changes. What is no address or network is ignored: `parseSnapshot` refuses it. */
  replace(list: readonly string[]): boolean {
    if (isSamePart(list, this.#list)) return false;
    this.#list = list;
    // Thousands of nodes are found at once, and the few networks one by one.
    const [networks, addresses] = [true, false].map((wanted) =>
      list.filter((one) => one.includes("/") === wanted)
    );
    this.#addresses = new Set(addresses.flatMap(addressForms));
    const parsed = CidrList.parse(networks.join(","));
    this.#networks = typeof parsed === "string" ? CidrList.empty : parsed;
    return true;
  }

  /** @param address an IP address, in any form. */
  has(address: string): boolean {
    if (this.#list.length === 0) return false;
    return addressForms(address).some((form) =>
      this.#addresses.has(form) || this.#networks.contains(form)
    );
  }
}
