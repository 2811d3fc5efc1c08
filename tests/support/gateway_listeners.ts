/**
 * Snapshots with listeners of a Gateway, and ports for them. In: listeners and routes as a test names
 * them. Out: a snapshot, free ports that follow each other, and clients.
 */
import type { ServerCertificate } from "../../proxy/certificates/store.ts";
import type { Listener, Origin, Route, Snapshot } from "../../shared/snapshot/types.ts";
import type { ListenRange } from "../../shared/net/port_range.ts";
import { snapshotOf } from "./test_proxy.ts";

export const HOSTNAME = "127.0.0.1";

const ORIGIN: Origin = { kind: "Gateway", namespace: "test", name: "gw", field: "spec.listeners" };

/**
 * Ports below those that the system hands out, in blocks of so many; and below 30,000, where a kube-proxy on
 * this machine, as in the tests of the cluster, sends the connections of NodePorts elsewhere.
 */
const BLOCKS = { from: 20_000, count: 19, size: 512 };

/**
 * A block that is this module's alone while its thread runs, so that test files that run at once never
 * take each other's ports. A socket of UDP marks it: no test uses that protocol on these ports.
 */
const block = reserveBlock();

interface Block {
  readonly from: number;
  readonly mark: Deno.DatagramConn;
}

function reserveBlock(): Block {
  const start = Math.floor(Math.random() * BLOCKS.count);
  for (let i = 0; i < BLOCKS.count; i++) {
    const from = BLOCKS.from + (start + i) % BLOCKS.count * BLOCKS.size;
    try {
      const mark = Deno.listenDatagram({ transport: "udp", hostname: HOSTNAME, port: from });
      return { from, mark };
    } catch (error) {
      if (!(error instanceof Deno.errors.AddrInUse)) throw error;
    }
  }
  throw new Error("all blocks of ports are taken: more tests run at once than there are blocks");
}

/** So many ports of loopback in a row, at most 512, that are free now. */
export function freeRange(count: number): ListenRange {
  for (;;) {
    const from = block.from + Math.floor(Math.random() * (BLOCKS.size - count));
    const taken: Deno.TcpListener[] = [];
    try {
      for (let port = from; port < from + count; port++) {
        taken.push(Deno.listen({ hostname: HOSTNAME, port }));
      }
      return { hostname: HOSTNAME, from, to: from + count - 1 };
    } catch (error) {
      if (!(error instanceof Deno.errors.AddrInUse)) throw error;
    } finally {
      for (const listener of taken) listener.close();
    }
  }
}

/** HTTP on port 80 of a Gateway, unless it says otherwise; its id is `test/gw/<name>`. */
export function listener(
  name: string,
  socket: number | string,
  more: Partial<Listener> = {},
): Listener {
  return {
    id: `test/gw/${name}`,
    port: 80,
    socket: String(socket),
    protocol: "HTTP",
    wildcards: "suffix",
    fallThrough: true,
    origin: ORIGIN,
    ...more,
  };
}

/** The same for HTTPS on port 443. */
export function secureListener(
  name: string,
  socket: number | string,
  more: Partial<Listener> = {},
): Listener {
  return listener(name, socket, { port: 443, protocol: "HTTPS", ...more });
}

/** `/` of a host on listeners, to the upstream with this name. */
export function route(listeners: readonly Listener[], host: string, upstream: string): Route {
  return {
    id: `${listeners.map(({ id }) => id)} ${host}`,
    listeners: listeners.map(({ id }) => id).sort(),
    host,
    match: { path: { type: "Prefix", value: "/" } },
    action: { kind: "forward", backends: [{ upstream }] },
    origin: ORIGIN,
  };
}

export interface GatewayParts {
  readonly listeners: readonly Listener[];
  readonly routes?: readonly Route[];
  /** Ports on loopback by the names of upstreams. */
  readonly upstreams: Readonly<Record<string, number>>;
}

/** Any host of the built-in listeners goes to the first upstream. */
export function gatewaySnapshot({ listeners, routes = [], upstreams }: GatewayParts): Snapshot {
  const [plain] = snapshotOf([]).routes;
  const [first] = Object.keys(upstreams);
  const builtIn: Route = {
    ...plain,
    action: { kind: "forward", backends: [{ upstream: first }] },
  };
  return {
    ...snapshotOf([]),
    listeners: listeners.toSorted((a, b) => a.id < b.id ? -1 : 1),
    routes: [...routes, builtIn],
    upstreams: Object.entries(upstreams).map(([id, port]) => ({
      id,
      protocol: "http",
      addresses: { kind: "endpoints", endpoints: [{ address: HOSTNAME, port }] },
    })),
  };
}

/** Certificates as a snapshot has them that only listeners use. */
export function certificatesOf(
  certificates: readonly ServerCertificate[],
): Snapshot["certificates"] {
  return certificates.map(({ id, hosts, chain, key }) => ({
    id,
    hosts,
    chain: { kind: "pem", pem: chain },
    key: { kind: "secret", pem: key },
    origin: { kind: "Secret", namespace: "test", name: id, field: "data" },
  }));
}

/** Whether somebody accepts connections there. */
export async function accepts(port: number): Promise<boolean> {
  try {
    (await Deno.connect({ hostname: HOSTNAME, port })).close();
    return true;
  } catch {
    return false;
  }
}
