/**
 * What stands behind the proxies. In: nothing. Out: running servers: nginx for what it serves
 * (`/small`, `/1mib`), where it is installed, and our own for the rest, because no configuration of
 * nginx reads a body to its end before it answers (`sink_server.ts`, and `grpc_server.ts` for calls
 * of gRPC), speaks WebSocket (`echo_server.ts`), or keeps on saying something (`event_server.ts`).
 */
import { join } from "node:path";
import { type Address, formatAddress } from "../shared/net/address.ts";
import { Child, freePort, versionOf } from "./child.ts";
import { endpointsOf } from "./endpoints.ts";
import { nginxConf } from "./nginx_conf.ts";
import type { Case, Path } from "./model.ts";

export interface Backend {
  /** Where this case's path is served. */
  addressFor(what: Case): Address;
  stop(): Promise<void>;
}

export async function startBackend(folder: string): Promise<Backend> {
  const sink = await startScript("sink_server.ts");
  const echo = await startScript("echo_server.ts");
  const events = await startScript("event_server.ts");
  const grpc = await startScript("grpc_server.ts");
  const fast = await versionOf(["nginx", "-v"]) === null ? sink : await startNginx(folder);
  const servers: Readonly<Record<Path, Server>> = {
    "/small": fast,
    "/1mib": fast,
    "/chunked": sink,
    "/upload": sink,
    "/echo": echo,
    "/events": events,
    "/grpc": grpc,
  };
  return {
    addressFor: ({ path }) => servers[path].address,
    async stop() {
      for (const { child } of new Set(Object.values(servers))) await child.stop();
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
