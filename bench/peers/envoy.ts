/** Envoy of PyPI: one listener, one cluster, no circuit breaker within reach. */
import { join } from "node:path";
import { type Address } from "../../shared/net/address.ts";
import { Child } from "../child.ts";
import { endpointsOf } from "../endpoints.ts";
import { type BenchRoute, routesAt, routesOf } from "../routes.ts";
import { TLS_GROUP, type TlsFiles } from "../tls.ts";
import { commandOf, ENVOY_WHEEL, findWheel } from "./wheels.ts";
import type { Peer, Running, Setup } from "../model.ts";

const TYPES = "type.googleapis.com/envoy";
const FILTERS = `${TYPES}.extensions.filters`;

/** More than any case holds; by default 1,024 connections and requests, of which more are refused. */
const OUT_OF_REACH = 1_000_000;

export const ENVOY: Peer = {
  name: "envoy",
  find: (build) => findWheel(ENVOY_WHEEL, build),
  async start(setup: Setup): Promise<Child> {
    const file = join(setup.folder, "envoy.json");
    await Deno.writeTextFile(file, JSON.stringify(bootstrap(setup)));
    if (setup.routes > 1) await writeRoutes(setup, routesOf(setup.routes));
    return Child.start([
      ...[...commandOf(ENVOY_WHEEL), "--config-path", file],
      ...["--concurrency", String(setup.workers)],
      ...["--disable-hot-restart", "--log-level", "error"],
    ]);
  },
  /** It watches the folder, and takes the routes without anything else. */
  reload({ setup }: Running, turn: number): Promise<void> {
    return writeRoutes(setup, routesAt(setup.routes, turn));
  },
};

function bootstrap(setup: Setup): unknown {
  const { listen, tls, workers } = setup;
  return {
    // With a name and a cluster it may take its routes from a file.
    node: { id: "bench", cluster: "bench" },
    static_resources: {
      listeners: [{
        name: "in",
        address: socketAddress(listen),
        enable_reuse_port: workers > 1,
        filter_chains: [{
          filters: [{ name: "http", typed_config: connectionManager(setup) }],
          ...(tls === null ? {} : { transport_socket: secured(tls, setup.http) }),
        }],
      }],
      clusters: [cluster(setup)],
    },
  };
}

function connectionManager({ folder, routes, accessLog }: Setup): unknown {
  const path = { path: routesFile(folder), watched_directory: { path: folder } };
  return {
    "@type": `${FILTERS}.network.http_connection_manager.v3.HttpConnectionManager`,
    stat_prefix: "in",
    // The client's address and scheme as fields; HTTP/2 by prior knowledge is told by its preface.
    use_remote_address: true,
    codec_type: "AUTO",
    upgrade_configs: [{ upgrade_type: "websocket" }],
    http_filters: [{
      name: "envoy.filters.http.router",
      typed_config: {
        "@type": `${FILTERS}.http.router.v3.Router`,
        suppress_envoy_headers: true,
      },
    }],
    ...(accessLog
      ? {
        access_log: [{
          name: "stdout",
          typed_config: {
            "@type": `${TYPES}.extensions.access_loggers.stream.v3.StdoutAccessLog`,
          },
        }],
      }
      : {}),
    ...(routes === 1 ? { route_config: routeConfiguration([]) } : {
      rds: {
        route_config_name: "routes",
        config_source: { resource_api_version: "V3", path_config_source: path },
      },
    }),
  };
}

/** @param routes none where everything goes to the backend. */
function routeConfiguration(routes: readonly BenchRoute[]): Record<string, unknown> {
  // Without limit, as streams of events last longer than its 15 s.
  const route = { cluster: "out", timeout: "0s" };
  const field = (key: string, value: string) => ({
    header: { key, value },
    append_action: "OVERWRITE_IF_EXISTS_OR_ADD",
  });
  const hosts = Map.groupBy(routes, ({ host }) => host);
  const all = { name: "all", domains: ["*"], routes: [{ match: { prefix: "/" }, route }] };
  return {
    name: "routes",
    ignore_port_in_host_matching: true,
    // X-Forwarded-For, X-Forwarded-Proto and X-Request-Id it sets by itself; for a client on the
    // same machine the first is that machine's own address.
    request_headers_to_add: [
      field("X-Forwarded-Host", "%REQ(:AUTHORITY)%"),
      field("X-Forwarded-Port", "%DOWNSTREAM_LOCAL_PORT%"),
      field("X-Real-IP", "%DOWNSTREAM_REMOTE_ADDRESS_WITHOUT_PORT%"),
    ],
    virtual_hosts: routes.length === 0 ? [all] : [...hosts].map(([host, paths]) => ({
      name: host,
      domains: [host],
      routes: paths.map(({ path }) => ({ match: { path_separated_prefix: path }, route })),
    })),
  };
}

/** Moved into its place, as it looks for that. */
async function writeRoutes(
  { folder }: Setup,
  routes: readonly BenchRoute[],
): Promise<void> {
  const type = `${TYPES}.config.route.v3.RouteConfiguration`;
  const resources = [{ "@type": type, ...routeConfiguration(routes) }];
  const file = routesFile(folder);
  await Deno.writeTextFile(`${file}.new`, JSON.stringify({ resources }));
  await Deno.rename(`${file}.new`, file);
}

function routesFile(folder: string): string {
  return join(folder, "routes.json");
}

function cluster(setup: Setup): unknown {
  const limits = {
    max_connections: OUT_OF_REACH,
    max_pending_requests: OUT_OF_REACH,
    max_requests: OUT_OF_REACH,
  };
  return {
    name: "out",
    type: "STATIC",
    connect_timeout: "3s",
    circuit_breakers: { thresholds: [limits] },
    load_assignment: {
      cluster_name: "out",
      endpoints: [{
        lb_endpoints: endpointsOf(setup).map((one) => ({
          endpoint: { address: socketAddress(one) },
        })),
      }],
    },
    ...(setup.upstream === "http" ? {} : {
      typed_extension_protocol_options: {
        "envoy.extensions.upstreams.http.v3.HttpProtocolOptions": {
          "@type": `${TYPES}.extensions.upstreams.http.v3.HttpProtocolOptions`,
          explicit_http_config: { http2_protocol_options: {} },
        },
      },
    }),
  };
}

function secured({ chain, key }: TlsFiles, http: 1 | 2): unknown {
  return {
    name: "tls",
    typed_config: {
      "@type": `${TYPES}.extensions.transport_sockets.tls.v3.DownstreamTlsContext`,
      common_tls_context: {
        // The cipher is the client's choice: BoringSSL takes all of TLS 1.3.
        tls_params: { tls_minimum_protocol_version: "TLSv1_3", ecdh_curves: [TLS_GROUP] },
        tls_certificates: [{
          certificate_chain: { filename: chain },
          private_key: { filename: key },
        }],
        alpn_protocols: http === 2 ? ["h2", "http/1.1"] : ["http/1.1"],
      },
    },
  };
}

function socketAddress({ hostname, port }: Address): unknown {
  return { socket_address: { address: hostname, port_value: port } };
}
