/**
 * Addresses under which proxies can be reached, from one look to the next. In: the objects of the proxies, as
 * watches show them. Out: what stands in the status of Ingresses, and of Gateways that share their address.
 */
import type { OutputContext } from "./output.ts";
import type { IngressAddress } from "./status/address.ts";
import { AddressHold } from "./status/address_hold.ts";
import { type AddressService, publishedAddresses } from "./status/published_addresses.ts";
import { PROXY_NAME } from "./workload/names.ts";

export class ProxyAddresses {
  readonly #context: Pick<OutputContext, "watches" | "options">;
  readonly #hold: AddressHold;

  /** @param onRelease Called when an address is held no longer: `current` gives another answer from now on. */
  constructor(context: Pick<OutputContext, "watches" | "options">, onRelease: () => void) {
    this.#context = context;
    this.#hold = new AddressHold({ onRelease });
  }

  /** Sorted, each once; empty where there is none yet; null where they are not known. */
  current(): readonly IngressAddress[] | null {
    const { watches, options: { namespace, backend, publishAddresses } } = this.#context;
    // Those of pods stand for those of nodes where these cannot be read, but not before.
    const addresses = !watches.areNodesKnown ? null : publishedAddresses({
      publishAddresses,
      backend,
      service: watches.workload("Service", namespace, PROXY_NAME) as AddressService | null,
      pods: watches.informer("pods").store.list(),
      nodes: watches.addressNodes ?? [],
    });
    // Those of nodes come and go with their proxies.
    return watches.addressNodes !== null ? this.#hold.settle(addresses) : addresses;
  }

  /** Calls `onRelease` no more. */
  close(): void {
    this.#hold.close();
  }
}
