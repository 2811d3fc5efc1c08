/**
 * Which sockets of listeners are open, and what is in the way of others. In: that of each event loop. Out: that
 * of all.
 */
import type { SocketObstacle } from "../../shared/stream/socket_obstacle.ts";
import { sortedObstacles } from "./socket_specs.ts";

export interface SocketStates {
  /** Sorted; those that are about to close are among them. */
  readonly open: readonly string[];
  /** Sorted by socket. */
  readonly obstacles: readonly SocketObstacle[];
}

/** Of several event loops: sockets that are open in each of them, and obstacles of any. */
export function joinedStates(all: readonly SocketStates[]): SocketStates {
  const [first, ...others] = all;
  if (first === undefined) return { open: [], obstacles: [] };
  if (others.length === 0) return first;
  const counts = new Map<string, number>();
  for (const socket of all.flatMap(({ open }) => open)) {
    counts.set(socket, (counts.get(socket) ?? 0) + 1);
  }
  const obstacles = new Map(
    all.flatMap(({ obstacles }) => obstacles).map(({ socket, reason }) => [socket, reason]),
  );
  return {
    open: [...counts].filter(([, count]) => count === all.length).map(([socket]) => socket).sort(),
    obstacles: sortedObstacles(obstacles),
  };
}
