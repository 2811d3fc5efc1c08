/**
 * Addresses of Gateways. In: what is planned for each, and whether we lead. Out: Services and EndpointSlices as
 * planned, and the state of each Gateway for its status.
 */
import { AddressKeeper } from "./addresses/keeper.ts";
import type { GatewayAddressPlan, GatewayAddressState } from "./addresses/plan.ts";
import type { Output, OutputContext } from "./output.ts";

export interface GatewayAddressHooks {
  /** The state of a Gateway may have changed. Often called many times in a row. */
  readonly onChange: () => void;
}

export class GatewayAddressOutput implements Output {
  readonly #keeper: AddressKeeper;
  readonly #stopWatching: () => void;

  constructor({ client, fence, log, watches }: OutputContext, { onChange }: GatewayAddressHooks) {
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
  }

  /** Null for a Gateway that is not planned. @param gateway `namespace/name`. */
  state(gateway: string): GatewayAddressState | null {
    return this.#keeper.state(gateway);
  }

  forget(): void {
    this.#keeper.forget();
  }

  wake(): void {
    this.#keeper.wake();
  }

  async stop(): Promise<void> {
    this.#stopWatching();
    await this.#keeper.close();
  }
}
