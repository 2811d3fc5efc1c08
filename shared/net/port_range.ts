/** Ranges of ports. In: text such as `10000-10255`. Out: first and last port. */

export interface PortRange {
  readonly first: number;
  /** Not below `first`. */
  readonly last: number;
}

/**
 * Of container ports for listeners, by default: enough for 256 ports of Gateways, above those that need a
 * privilege and below those that Linux gives to outgoing connections (32768 and up).
 */
export const DEFAULT_LISTEN_RANGE: PortRange = { first: 10_000, last: 10_255 };

/** Ports of a range, at most: a proxy has a socket for each that is used, in each worker. */
const MAX_PORTS = 4096;

/** Null for what is none, or has too many ports. */
export function parsePortRange(text: string): PortRange | null {
  const match = /^(\d{1,5})-(\d{1,5})$/.exec(text);
  if (match === null) return null;
  const [first, last] = match.slice(1).map(Number);
  return first >= 1 && first <= last && last <= 65_535 && last - first < MAX_PORTS
    ? { first, last }
    : null;
}

export function formatPortRange({ first, last }: PortRange): string {
  return `${first}-${last}`;
}

export function isInRange({ first, last }: PortRange, port: number): boolean {
  return port >= first && port <= last;
}
