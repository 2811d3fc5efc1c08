/**
 * Addresses of Gateways. In: what is planned for each, and whether we lead. Out: Services and EndpointSlices as
 * planned, and the state of each Gateway for its status.
 */
import { keyOf } from "../base/identity.ts";
import { AddressKeeper } from "./addresses/keeper.ts";
import type { GatewayAddress, GatewayAddressPlan, GatewayAddressState } from "./addresses/plan.ts";
import { sharedAddressState } from "./addresses/shared_address.ts";
import type { Output, OutputContext } from "./output.ts";
import { ProxyAddresses } from "./proxy_addresses.ts";
import type { IngressAddress } from "./status/address.ts";

export interface GatewayAddressHooks {
  /** The state of a Gateway may have changed. Often called many times in a row. */
  readonly onChange: () => void;
}

export class GatewayAddressOutput implements Output {
  readonly #keeper: AddressKeeper;
  readonly #proxies: ProxyAddresses;
  readonly #stopWatching: () => void;
  /** By `keyOf`, Gateways that share the address of Ingresses. */
  #shared: ReadonlyMap<string, GatewayAddressPlan> = new Map();
  /** As of the last look; null where they are not known. */
  #addresses: readonly GatewayAddress[] | null = null;

  constructor(context: OutputContext, { onChange }: GatewayAddressHooks) {
    const { client, fence, log, watches } = context;
    this.#proxies = new ProxyAddresses(context, onChange);
    const nodes = watches.wanted("nodes");
    const keeper = this.#keeper = new AddressKeeper({
      client,
      fence,
      log,
      services: watches.informer("gatewayServices").store,
      slices: watches.informer("gatewaySlices").store,
      names: watches.informer("services").store,
      pods: watches.informer("pods").store,
      nodes: nodes === null ? null : {
        store: nodes.store,
        isKnown: () => nodes.isSynced || nodes.failures.length > 0,
      },
      onChange,
    });
    this.#stopWatching = nodes?.onFailures(() => keeper.refresh()) ?? (() => {});
  }

  /** Gateways whose objects are about to be written. */
  get backlog(): number {
    return this.#keeper.backlog;
  }

  /** @param plans As `AddressKeeper.sync`: null while Gateways are not known, which changes nothing. */
  update(plans: readonly GatewayAddressPlan[] | null): void {
    this.#keeper.sync(plans);
    if (plans === null) return;
    const shared = plans.filter(({ address }) => address === "shared");
    this.#shared = new Map(shared.map((plan) => [keyOf(plan.gateway), plan]));
    this.look();
  }

  /** An object of the proxies may have changed. */
  look(): void {
    if (this.#shared.size === 0) return;
    this.#addresses = this.#proxies.current()?.map(gatewayAddress) ?? null;
  }

  /** Null for a Gateway that is not planned. @param gateway `namespace/name`. */
  state(gateway: string): GatewayAddressState | null {
    const shared = this.#shared.get(gateway);
    return shared === undefined
      ? this.#keeper.state(gateway)
      : sharedAddressState(shared.addresses, this.#addresses);
  }

  forget(): void {
    this.#keeper.forget();
  }

  wake(): void {
    this.#keeper.wake();
  }

  async stop(): Promise<void> {
    this.#stopWatching();
    this.#proxies.close();
    await this.#keeper.close();
  }
}

function gatewayAddress({ ip, hostname }: IngressAddress): GatewayAddress {
  return ip === undefined
    ? { type: "Hostname", value: hostname }
    : { type: "IPAddress", value: ip };
}
