/**
 * Addresses that go for a moment only. In: those of nodes with a ready proxy, at each change. Out: the
 * same, with those that went less than a minute ago: while proxies are rolled out, neither thousands
 * of Ingresses are written for each node, nor DNS records made from them come and go.
 */
import { type Clock, systemClock } from "../../../shared/clock.ts";
import { type After, systemAfter } from "../write/queue.ts";
import { addressList, type IngressAddress, textOf } from "./address.ts";

/** Milliseconds that an address stays after its proxy has gone: longer than a pod takes to start. */
const HOLD = 60_000;

export interface AddressHoldOptions {
  /** Called when an address is held no longer: `settle` gives another answer from now on. */
  readonly onRelease: () => void;
  /** Milliseconds; 60,000 without it. */
  readonly hold?: number;
  readonly clock?: Clock;
  readonly after?: After;
}

export class AddressHold {
  readonly #options: AddressHoldOptions;
  readonly #clock: Clock;
  readonly #after: After;
  /** When each was there last, on the monotonic clock. */
  readonly #seenAt = new Map<string, number>();
  #present: readonly string[] = [];
  #cancel: () => void = () => {};

  constructor(options: AddressHoldOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#after = options.after ?? systemAfter;
  }

  /** @param addresses Those of now; null where they are not known, as `publishedAddresses` says it. */
  settle(addresses: readonly IngressAddress[] | null): readonly IngressAddress[] | null {
    if (addresses === null) return null;
    const now = this.#clock.monotonic();
    const hold = this.#options.hold ?? HOLD;
    for (const text of this.#present) this.#seenAt.set(text, now);
    this.#present = addresses.map(textOf);
    for (const text of this.#present) this.#seenAt.set(text, now);
    let next = Infinity;
    for (const [text, seenAt] of this.#seenAt) {
      if (this.#present.includes(text)) continue;
      const left = seenAt + hold - now;
      if (left <= 0) this.#seenAt.delete(text);
      else next = Math.min(next, left);
    }
    this.#cancel();
    if (next < Infinity) this.#cancel = this.#after(next, this.#options.onRelease);
    return addressList(this.#seenAt.keys());
  }

  /** Calls `onRelease` no more. */
  close(): void {
    this.#cancel();
  }
}
