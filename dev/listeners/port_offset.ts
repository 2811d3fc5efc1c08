/**
 * Ports of all listeners, moved together (`--port-offset`). In: the command line's options. Out: the same
 * with ports that are so much higher; for `auto`, the smallest offset at which all of them are free.
 */
import type { Address } from "../../shared/net/address.ts";
import { DEFAULT_LISTEN_RANGE, isInRange, type PortRange } from "../../shared/net/port_range.ts";
import type { ServiceMapping } from "../service_mapping.ts";
import { ReservedPorts } from "./reserved_ports.ts";

export type PortOffset = number | "auto";

/** Of the command line, what ports are about. */
export interface ListenOptions {
  readonly listenHttp: readonly Address[];
  readonly listenHttps: readonly Address[];
  readonly admin: Address;
  readonly portOffset: PortOffset;
  readonly plan: {
    readonly mappings: readonly ServiceMapping[];
    readonly listenRange?: PortRange;
  };
}

export interface PlacedOptions<O extends ListenOptions, R = ReservedPorts> {
  readonly options: O;
  /** That `auto` has found; else 0. */
  readonly offset: number;
  /** The ports that `auto` has found. */
  readonly reserved: R;
}

/** Offsets that are tried. */
const MAX_OFFSET = 1000;
const MAX_PORT = 65535;

/** Null where the text is neither `auto` nor a number of ports. */
export function parsePortOffset(text: string): PortOffset | null {
  if (text === "auto") return text;
  return /^\d{1,5}$/.test(text) && Number(text) <= MAX_PORT ? Number(text) : null;
}

/** The options with the ports that `--port-offset` says, or a sentence for people. */
export function placePorts<O extends ListenOptions>(options: O): PlacedOptions<O> | string {
  const { portOffset: offset } = options;
  if (offset === "auto") {
    return atFreePorts(options, ReservedPorts.hold) ??
      `--port-offset auto found no offset up to ${MAX_OFFSET} at which all ports are free`;
  }
  const moved = withOffset(options, offset);
  return moved === null
    ? `--port-offset ${offset} leads to ports above ${MAX_PORT}; write a smaller number`
    : { options: moved, offset: 0, reserved: new ReservedPorts() };
}

/** Port 0, which is any free one, stays. Null where a port would be too high. */
function withOffset<O extends ListenOptions>(options: O, offset: number): O | null {
  const moved = (address: Address) =>
    address.port === 0 ? address : { ...address, port: address.port + offset };
  const result = {
    ...options,
    listenHttp: options.listenHttp.map(moved),
    listenHttps: options.listenHttps.map(moved),
    admin: moved(options.admin),
  };
  return addressesOf(result).some(({ port }) => port > MAX_PORT) ? null : result;
}

/**
 * The options at the smallest offset at which all listeners' ports are free; null for none.
 *
 * @param hold reserves the ports of all addresses; null where one is not free.
 */
export function atFreePorts<O extends ListenOptions, R>(
  options: O,
  hold: (addresses: readonly Address[]) => R | null,
): PlacedOptions<O, R> | null {
  const { mappings, listenRange = DEFAULT_LISTEN_RANGE } = options.plan;
  // Programs that requests are sent to may not have started yet.
  const meant = new Set(mappings.flatMap(({ target }) => target.endpoints.map(({ port }) => port)));
  const isUsable = ({ port }: Address) =>
    port === 0 || (!meant.has(port) && !isInRange(listenRange, port));
  for (let offset = 0; offset <= MAX_OFFSET; offset++) {
    const moved = withOffset(options, offset);
    if (moved === null) return null;
    const addresses = addressesOf(moved);
    const reserved = addresses.every(isUsable) ? hold(addresses) : null;
    if (reserved !== null) return { options: moved, offset, reserved };
  }
  return null;
}

function addressesOf({ listenHttp, listenHttps, admin }: ListenOptions): readonly Address[] {
  return [...listenHttp, ...listenHttps, admin];
}

export function canListen(address: Address): boolean {
  try {
    Deno.listen(address).close();
    return true;
  } catch {
    return false;
  }
}
