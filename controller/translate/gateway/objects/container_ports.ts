/**
 * Container ports of listeners. In: the public ports of each Gateway, the oldest Gateway first, and the
 * container ports that were published before. Out: a container port for each public one, or none where
 * the range is full.
 *
 * A port that was published stays, so that no socket moves while others come and go. A new one begins at
 * a hash of its name: two replicas that do not know of each other's choice yet mostly agree.
 */
import { createHash } from "node:crypto";
import { isInRange, type PortRange } from "../../../../shared/net/port_range.ts";

/** Of a Gateway. */
export interface PublicPorts {
  /** `namespace/name`. */
  readonly key: string;
  readonly ports: readonly number[];
}

/** By `portKey`. */
export type ContainerPorts = ReadonlyMap<string, number>;

export function portKey(gateway: string, port: number): string {
  return `${gateway} ${port}`;
}

/** @param gateways The oldest first: where the range is full, the last ones get none. */
export function allocatePorts(
  gateways: readonly PublicPorts[],
  published: ContainerPorts,
  range: PortRange,
): ContainerPorts {
  const keys = gateways.flatMap(({ key, ports }) =>
    [...new Set(ports)].sort((a, b) => a - b).map((port) => portKey(key, port))
  );
  const allocated = new Map<string, number>();
  const taken = new Set<number>();
  for (const key of keys) {
    const port = published.get(key);
    if (port === undefined || taken.has(port) || !isInRange(range, port)) continue;
    allocated.set(key, port);
    taken.add(port);
  }
  for (const key of keys) {
    if (allocated.has(key)) continue;
    const port = freePort(key, taken, range);
    // Nor is there one for those behind.
    if (port === null) break;
    allocated.set(key, port);
    taken.add(port);
  }
  return allocated;
}

function freePort(key: string, taken: ReadonlySet<number>, range: PortRange): number | null {
  const size = range.to - range.from + 1;
  if (taken.size >= size) return null;
  let offset = createHash("sha256").update(key).digest().readUInt32BE() % size;
  while (taken.has(range.from + offset)) offset = (offset + 1) % size;
  return range.from + offset;
}
