/** Caddy of PyPI, told what to do in its own JSON. */
import { join } from "node:path";
import { formatAddress } from "../../shared/net/address.ts";
import { Child } from "../child.ts";
import { endpointsOf } from "../endpoints.ts";
import { routesOf } from "../routes.ts";
import { TLS_GROUP, type TlsFiles } from "../tls.ts";
import { CADDY_WHEEL, commandOf, findWheel } from "./wheels.ts";
import type { Peer, Setup } from "../model.ts";

/** Of 100,000 it takes 38 s to start and 2.4 GiB: each has a proxy of its own. */
const MOST_ROUTES = 10_000;

const NOT_FOUND = { handler: "static_response", status_code: 404 };

export const CADDY: Peer = {
  name: "caddy",
  find: (build) => findWheel(CADDY_WHEEL, build),
  can: ({ routes = 1 }) => routes <= MOST_ROUTES,
  async start(setup: Setup): Promise<Child> {
    const { folder, workers } = setup;
    const file = join(folder, "caddy.json");
    await Deno.writeTextFile(file, JSON.stringify(configuration(setup)));
    const environment = {
      GOMAXPROCS: String(workers),
      // For what it would otherwise keep in the user's folders.
      XDG_DATA_HOME: folder,
      XDG_CONFIG_HOME: folder,
    };
    return Child.start([...commandOf(CADDY_WHEEL, environment), "run", "--config", file]);
  },
};

function configuration(setup: Setup): unknown {
  const { listen, tls, accessLog } = setup;
  const server = {
    listen: [formatAddress(listen)],
    automatic_https: { disable: true },
    protocols: ["h1", "h2", "h2c"],
    routes: routes(setup),
    ...(tls === null ? {} : {
      tls_connection_policies: [{
        protocol_min: "tls1.3",
        curves: [TLS_GROUP.toLowerCase()],
      }],
    }),
    // In JSON, on standard error.
    ...(accessLog ? { logs: {} } : {}),
  };
  return {
    admin: { disabled: true, config: { persist: false } },
    logging: { logs: { default: { level: accessLog ? "INFO" : "ERROR" } } },
    apps: {
      http: { servers: { in: server } },
      ...(tls === null ? {} : { tls: { certificates: certificates(tls) } }),
    },
  };
}

function certificates({ chain, key }: TlsFiles): unknown {
  return { load_files: [{ certificate: chain, key }] };
}

function routes(setup: Setup): unknown[] {
  const proxy = reverseProxy(setup);
  if (setup.routes === 1) return [{ handle: [proxy] }];
  const hosts = [...Map.groupBy(routesOf(setup.routes), ({ host }) => host)];
  const chosen = hosts.map(([host, paths]) => ({
    match: [{ host: [host] }],
    handle: [{
      handler: "subroute",
      routes: paths.map(({ path }) => ({
        match: [{ path: [path, `${path}/*`] }],
        terminal: true,
        handle: [proxy],
      })),
    }],
  }));
  return [...chosen, { handle: [NOT_FOUND] }];
}

/** X-Forwarded-For, X-Forwarded-Proto and X-Forwarded-Host it sets by itself. */
function reverseProxy(setup: Setup): unknown {
  return {
    handler: "reverse_proxy",
    upstreams: endpointsOf(setup).map((one) => ({ dial: formatAddress(one) })),
    load_balancing: { selection_policy: { policy: "round_robin" } },
    headers: {
      request: {
        set: {
          "X-Forwarded-Port": ["{http.request.local.port}"],
          "X-Real-Ip": ["{http.request.remote.host}"],
          "X-Request-Id": ["{http.request.uuid}"],
        },
      },
    },
    transport: {
      protocol: "http",
      // By default it keeps 32 to each host.
      keep_alive: { max_idle_conns_per_host: 320 },
      ...(setup.upstream === "grpc" ? { versions: ["h2c", "2"] } : {}),
    },
  };
}
