/**
 * Ports held from the moment they are chosen until their listeners open, so that no other program takes
 * one meanwhile: a second `dev` that starts at the same time chooses others. In: addresses. Out:
 * whether all of them were free.
 */
import { type Address, formatAddress } from "../../shared/net/address.ts";
import { isGranted } from "../../shared/rights.ts";

export class ReservedPorts {
  readonly #held = new Map<string, Deno.Listener>();

  /**
   * Holds the ports of all addresses. Null, and none is held, where another program has one. Port 0 is not
   * held, nor is a port that Deno does not allow yet: `rights.ts` asks for it.
   */
  static hold(addresses: readonly Address[]): ReservedPorts | null {
    const ports = new ReservedPorts();
    for (const address of addresses) {
      const host = formatAddress(address);
      if (address.port === 0 || !isGranted({ name: "net", host })) continue;
      try {
        ports.#held.set(host, Deno.listen(address));
      } catch {
        ports.releaseAll();
        return null;
      }
    }
    return ports;
  }

  /** Gives up a port, whose listener is to open at once. */
  release(address: Address): void {
    const key = formatAddress(address);
    this.#held.get(key)?.close();
    this.#held.delete(key);
  }

  releaseAll(): void {
    for (const listener of this.#held.values()) listener.close();
    this.#held.clear();
  }
}
