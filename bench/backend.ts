/**
 * What stands behind the proxies. In: nothing. Out: servers, each started when a case first needs it:
 * nginx for what it serves (`/small`, `/1mib`), where it is installed, and our own for the rest,
 * because no configuration of nginx reads a body to its end before it answers (`sink_server.ts`, and
 * `grpc_server.ts` for calls of gRPC), speaks WebSocket, or keeps on saying something
 * (`programs/backend`).
 */
import { join } from "node:path";
import { type Address, formatAddress } from "../shared/net/address.ts";
import { Child, freePort, versionOf } from "./child.ts";
import { endpointsOf } from "./endpoints.ts";
import { goProgram } from "./go_programs.ts";
import { nginxConf } from "./nginx_conf.ts";
import type { Case, Path } from "./model.ts";

export interface Backend {
  /** Where this case's path is served; throws where its program is missing. */
  addressFor(what: Case): Promise<Address>;
  stop(): Promise<void>;
}

/** Which server has a path. */
type Name = "fast" | "sink" | "streams" | "grpc";

const SERVERS: Readonly<Record<Path, Name>> = {
  "/small": "fast",
  "/1mib": "fast",
  "/chunked": "sink",
  "/upload": "sink",
  "/echo": "streams",
  "/events": "streams",
  "/burst": "streams",
  "/grpc": "grpc",
};

export function startBackend(folder: string): Backend {
  const starts: Readonly<Record<Name, () => Promise<Server>>> = {
    fast: async () =>
      await versionOf(["nginx", "-v"]) === null ? started("sink") : startNginx(folder),
    sink: () => startScript("sink_server.ts"),
    streams: async () => startGo(await goProgram("backend")),
    grpc: () => startScript("grpc_server.ts"),
  };
  const servers = new Map<Name, Promise<Server>>();
  const started = (name: Name): Promise<Server> => {
    const server = servers.get(name) ?? starts[name]();
    servers.set(name, server);
    return server;
  };
  return {
    addressFor: async ({ path }) => (await started(SERVERS[path])).address,
    async stop() {
      const all = await Promise.allSettled(servers.values());
      const running = all.flatMap((one) => one.status === "fulfilled" ? [one.value.child] : []);
      for (const child of new Set(running)) await child.stop();
    },
  };
}

interface Server {
  readonly address: Address;
  readonly child: Child;
}

async function startScript(name: string): Promise<Server> {
  const address = { hostname: "127.0.0.1", port: freePort() };
  const script = new URL(name, import.meta.url).pathname;
  const child = Child.start([
    ...[Deno.execPath(), "run", `--allow-net=127.0.0.1:${address.port}`, script],
    String(address.port),
  ]);
  await child.listening(address);
  return { address, child };
}

async function startGo(program: string): Promise<Server> {
  const address = { hostname: "127.0.0.1", port: freePort() };
  const child = Child.start([program, String(address.port)]);
  await child.listening(address);
  return { address, child };
}

/** As many addresses as any case has endpoints. */
const ADDRESSES = 1000;

/** With a thousand endpoints, each proxy may keep a connection to each. */
const CONNECTIONS = 16_384;

async function startNginx(folder: string): Promise<Server> {
  const address = { hostname: "127.0.0.1", port: freePort() };
  const listens = endpointsOf({ backend: address, endpoints: ADDRESSES })
    .map((one) => `    listen ${formatAddress(one)} backlog=4096;`).join("\n");
  const file = join(folder, "nginx.conf");
  await Deno.writeFile(join(folder, "1mib"), new Uint8Array(1024 * 1024).fill(120));
  // nginx's worker runs as nobody when it is started by root, and must reach the file.
  await Deno.chmod(folder, 0o755);
  await Deno.writeTextFile(
    file,
    nginxConf(
      folder,
      1,
      `  keepalive_requests 10000000;
  sendfile on;
  open_file_cache max=10;
  server {
${listens}
    location = /small { default_type text/plain; return 200 "hello\\n"; }
    location /small/ { default_type text/plain; return 200 "hello\\n"; }
    location = /v1/traces { client_max_body_size 0; return 200; }
    location = /1mib { root ${folder}; }
  }
`,
      CONNECTIONS,
    ),
  );
  const child = Child.start(["nginx", "-p", folder, "-c", file, "-e", "stderr"]);
  await child.listening(address);
  return { address, child };
}
