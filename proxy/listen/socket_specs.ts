/**
 * Which sockets the listeners of a configuration need. In: listeners, and the ports that the proxy may
 * open for them. Out: what each socket is for, and why others cannot be opened. Pure.
 */
import { formatPortRange, isInRange, type PortRange } from "../../shared/net/port_range.ts";
import { BUILT_IN_LISTENERS, gatewayOf } from "../../shared/snapshot/listener_id.ts";
import type { Listener } from "../../shared/snapshot/types.ts";
import type { SocketObstacle } from "../../shared/stream/socket_obstacle.ts";

/** A socket of one or several listeners of a Gateway. */
export interface SocketSpec {
  /** As listeners name it: its port in decimal digits. */
  readonly socket: string;
  /** The container port. */
  readonly port: number;
  /** The port that clients know. */
  readonly publicPort: number;
  readonly isSecure: boolean;
  /** Whose it is, by the ids of its listeners: `<namespace>/<gateway>`, each once. */
  readonly gateways: readonly string[];
}

export interface SocketSpecs {
  readonly specs: ReadonlyMap<string, SocketSpec>;
  /** Sorted by socket, each socket once. */
  readonly obstacles: readonly SocketObstacle[];
}

/** @param range null where the proxy opens none. */
export function socketSpecs(
  listeners: readonly Listener[],
  range: PortRange | null,
): SocketSpecs {
  const specs = new Map<string, SocketSpec>();
  const obstacles = new Map<string, string>();
  for (const listener of listeners) {
    const { socket } = listener;
    if (BUILT_IN_LISTENERS.has(socket)) continue;
    const spec = specOf(listener);
    const known = specs.get(socket);
    const reason = reasonAgainst(listener, spec, range) ??
      (known === undefined || known.isSecure === spec.isSecure
        ? null
        : "its listeners have different protocols: give them different ports");
    if (reason !== null) obstacles.set(socket, obstacles.get(socket) ?? reason);
    else if (known === undefined) specs.set(socket, spec);
    else if (!known.gateways.includes(spec.gateways[0])) {
      specs.set(socket, { ...known, gateways: [...known.gateways, ...spec.gateways] });
    }
  }
  return { specs, obstacles: sortedObstacles(obstacles) };
}

/** @param reasons By socket. */
export function sortedObstacles(reasons: ReadonlyMap<string, string>): readonly SocketObstacle[] {
  return [...reasons].map(([socket, reason]) => ({ socket, reason }))
    .sort((a, b) => a.socket < b.socket ? -1 : 1);
}

function specOf({ id, socket, port, protocol }: Listener): SocketSpec {
  return {
    socket,
    port: Number(socket),
    publicPort: port,
    isSecure: protocol === "HTTPS",
    gateways: [gatewayOf(id) || id],
  };
}

/** Why the socket cannot be opened, with the remedy; null for nothing. */
function reasonAgainst(
  { protocol }: Listener,
  { socket, port }: SocketSpec,
  range: PortRange | null,
): string | null {
  if (!/^[1-9][0-9]{0,4}$/.test(socket)) return "it is no port in decimal digits";
  if (range === null) return "the proxy was started without --listen-range";
  if (!isInRange(range, port)) {
    return `it is outside of --listen-range ${formatPortRange(range)}`;
  }
  return protocol === "TLS" ? "listeners with the protocol TLS are not supported" : null;
}
