/**
 * Ports of all listeners, moved together (`--port-offset`). In: the command line's options. Out: the same
 * with ports that are so much higher; for `auto`, the smallest offset at which all of them are free.
 */
import type { Address } from "../../shared/net/address.ts";
import { DEFAULT_LISTEN_RANGE, isInRange, type PortRange } from "../../shared/net/port_range.ts";
import type { ServiceMapping } from "../service_mapping.ts";
import { isAllowed, ReservedPorts } from "./reserved_ports.ts";

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

export interface PlacedOptions<O extends ListenOptions> {
  readonly options: O;
  /** That `auto` has found; else 0. */
  readonly offset: number;
}

export interface ReservedOptions<O extends ListenOptions> extends PlacedOptions<O> {
  /** The ports that `auto` has found. */
  readonly reserved: ReservedPorts;
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
export function placePorts<O extends ListenOptions>(options: O): ReservedOptions<O> | string {
  const { portOffset: offset } = options;
  if (offset === "auto") {
    return atReservedPorts(options) ??
      `--port-offset auto found no offset up to ${MAX_OFFSET} at which all ports are free`;
  }
  const moved = withOffset(options, offset);
  return moved === null
    ? `--port-offset ${offset} leads to ports above ${MAX_PORT}; write a smaller number`
    : { options: moved, offset: 0, reserved: new ReservedPorts() };
}

/** As `atFreePorts`, with the ports reserved. */
function atReservedPorts<O extends ListenOptions>(options: O): ReservedOptions<O> | null {
  for (let first = 0;;) {
    const placed = atFreePorts(options, isFreeOrForbidden, first);
    if (placed === null) return null;
    const reserved = ReservedPorts.hold(addressesOf(placed.options));
    if (reserved !== null) return { ...placed, reserved };
    // Another program has taken one just now.
    first = placed.offset + 1;
  }
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

/** The options at the smallest offset from `first` on at which all listeners' ports are free; null for none. */
export function atFreePorts<O extends ListenOptions>(
  options: O,
  isFree: (address: Address) => boolean,
  first = 0,
): PlacedOptions<O> | null {
  const { mappings, listenRange = DEFAULT_LISTEN_RANGE } = options.plan;
  // Programs that requests are sent to may not have started yet.
  const meant = new Set(mappings.flatMap(({ target }) => target.endpoints.map(({ port }) => port)));
  const isUsable = (address: Address) =>
    address.port === 0 ||
    (!meant.has(address.port) && !isInRange(listenRange, address.port) && isFree(address));
  for (let offset = first; offset <= MAX_OFFSET; offset++) {
    const moved = withOffset(options, offset);
    if (moved === null) return null;
    if (addressesOf(moved).every(isUsable)) return { options: moved, offset };
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

/** One that Deno does not allow is not tried: `rights.ts` asks for it, or says what is lacking. */
function isFreeOrForbidden(address: Address): boolean {
  return !isAllowed(address) || canListen(address);
}
