/**
 * Ports held from the moment they are chosen until their listeners open, so that no other program takes
 * one meanwhile: a second `dev` that starts at the same time chooses others. In: addresses. Out:
 * whether all of them were free.
 */
import { type Address, formatAddress } from "../../shared/net/address.ts";

export class ReservedPorts {
  readonly #held = new Map<string, Deno.Listener>();

  /**
   * Holds the ports of all addresses. Null, and none is held, where another program has one. Port 0 is not
   * held, nor is a port that Deno does not allow yet: `rights.ts` asks for it.
   */
  static hold(addresses: readonly Address[]): ReservedPorts | null {
    const ports = new ReservedPorts();
    for (const address of addresses) {
      if (address.port === 0 || !isAllowed(address)) continue;
      try {
        ports.#held.set(formatAddress(address), Deno.listen(address));
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

export function isAllowed(address: Address): boolean {
  const { state } = Deno.permissions.querySync({ name: "net", host: formatAddress(address) });
  return state === "granted";
}
