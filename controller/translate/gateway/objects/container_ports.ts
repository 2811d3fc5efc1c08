/**
 * Container ports of listeners. In: the public ports of each Gateway, the oldest Gateway first, and the
 * container ports that were published before. Out: a container port for each public one, or none where
 * the range is full, or its namespace has its share.
 *
 * A port that was published stays, so that no socket moves while others come and go. A new one begins at
 * a hash of its name: two replicas that do not know of each other's choice yet mostly agree.
 *
 * As ports stay, a namespace that had all of them would keep them for good. New ones are at most half of what others
 * leave: however many namespaces take theirs, there is a port for the next one.
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

/** As many listeners as a Gateway may have. */
const LISTENERS = 64;

/** @param gateways The oldest first: where the range is full, the last ones get none. */
export function allocatePorts(
  gateways: readonly PublicPorts[],
  published: ContainerPorts,
  range: PortRange,
): ContainerPorts {
  const wanted = gateways.flatMap(({ key, ports }) => {
    const [namespace] = key.split("/");
    return [...new Set(ports)].sort((a, b) => a - b)
      .map((port) => ({ namespace, key: portKey(key, port) }));
  });
  const allocated = new Map<string, number>();
  const taken = new Set<number>();
  const counts = new Map<string, number>();
  const allocate = (namespace: string, key: string, port: number) => {
    allocated.set(key, port);
    taken.add(port);
    counts.set(namespace, (counts.get(namespace) ?? 0) + 1);
  };
  for (const { namespace, key } of wanted) {
    const port = published.get(key);
    if (port === undefined || taken.has(port) || !isInRange(range, port)) continue;
    allocate(namespace, key, port);
  }
  for (const { namespace, key } of wanted) {
    if (allocated.has(key)) continue;
    const own = counts.get(namespace) ?? 0;
    if (own >= shareOf(own, taken.size, range)) continue;
    const port = freePort(key, taken, range);
    // Nor is there one for those behind.
    if (port === null) break;
    allocate(namespace, key, port);
  }
  return allocated;
}

/** Half of what others leave, rounded up; all of it where one Gateway may need more than half of the range. */
function shareOf(own: number, taken: number, { from, to }: PortRange): number {
  const size = to - from + 1;
  const left = size - (taken - own);
  return size < 2 * LISTENERS ? left : Math.ceil(left / 2);
}

function freePort(key: string, taken: ReadonlySet<number>, range: PortRange): number | null {
  const size = range.to - range.from + 1;
  if (taken.size >= size) return null;
  let offset = createHash("sha256").update(key).digest().readUInt32BE() % size;
  while (taken.has(range.from + offset)) offset = (offset + 1) % size;
  return range.from + offset;
}
