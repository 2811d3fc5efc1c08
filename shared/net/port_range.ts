/** Ranges of ports. In: text such as `10000-10255`. Out: the first and the last port. */

export interface PortRange {
  readonly from: number;
  /** The last one. */
  readonly to: number;
}

/** Ports of one address on which a program may listen. */
export interface ListenRange extends PortRange {
  /** An IP address without brackets, or `localhost`. */
  readonly hostname: string;
}

/**
 * Of container ports for listeners, by default: enough for 256 ports of Gateways, above those that need a
 * privilege and below those that Linux gives to outgoing connections (32768 and up). The admission policy of
 * `overlays/gateway` and the NetworkPolicy of the proxies have the same.
 */
export const DEFAULT_LISTEN_RANGE: PortRange = { from: 10_000, to: 10_255 };

/**
 * Ports of a range, at most: each is a permission of the proxy and may be a socket in each of its workers, and
 * a report to the controller must have room for all that are not open (`MAX_OBSTACLES`).
 */
export const MAX_RANGE_PORTS = 512;

/** Null where the text is no range of ports from 1 to 65535, or has too many. */
export function parsePortRange(text: string): PortRange | null {
  const [, from, to] = /^([1-9]\d{0,4})-([1-9]\d{0,4})$/.exec(text)?.map(Number) ?? [];
  return from === undefined || from > to || to > 65_535 || to - from >= MAX_RANGE_PORTS
    ? null
    : { from, to };
}

export function formatPortRange({ from, to }: PortRange): string {
  return `${from}-${to}`;
}

export function isInRange({ from, to }: PortRange, port: number): boolean {
  return port >= from && port <= to;
}

/** Every port, in order. */
export function portsOf({ from, to }: PortRange): number[] {
  return Array.from({ length: to - from + 1 }, (_, i) => from + i);
}
