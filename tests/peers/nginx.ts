/**
 * nginx as a reverse proxy that forwards what we forward. In: where to listen and where its backend
 * is. Out: a running process.
 */
import { join } from "node:path";
import { nginxConf } from "../../bench/nginx_conf.ts";
import { freePort } from "../support/ports.ts";

export const MISSING = "nginx is not installed (remedy: apt-get install nginx-light)";
/** Debian has servers where the PATH of users who are not root does not lead. */
const PROGRAMS = ["nginx", "/usr/sbin/nginx"];
/** How long it may take to listen, in ms. */
const START = 10_000;

/** The command that starts nginx, or null where it is missing. */
export async function findNginx(): Promise<string | null> {
  for (const program of PROGRAMS) {
    try {
      const { success } = await new Deno.Command(program, { args: ["-v"], stderr: "null" })
        .output();
      if (success) return program;
    } catch {
      // Not here: the next place.
    }
  }
  return null;
}

export class Nginx {
  readonly port: number;
  readonly #process: Deno.ChildProcess;
  readonly #folder: string;

  private constructor(process: Deno.ChildProcess, folder: string, port: number) {
    this.#process = process;
    this.#folder = folder;
    this.port = port;
  }

  /** Starts `program` before the backend at `backendPort`; settles once it takes connections. */
  static start(program: string, backendPort: number): Promise<Nginx> {
    return Nginx.startWith(program, (port) => configuration(port, backendPort));
  }

  /** @param http What its `http` block says, for the port to listen on. */
  static async startWith(program: string, http: (port: number) => string): Promise<Nginx> {
    const folder = await Deno.makeTempDir({ prefix: "nginx-" });
    // Its worker drops root's rights and must still be able to pass.
    await Deno.chmod(folder, 0o755);
    const port = freePort();
    const file = join(folder, "nginx.conf");
    await Deno.writeTextFile(file, nginxConf(folder, 1, http(port)));
    const process = new Deno.Command(program, {
      args: ["-p", folder, "-c", file, "-e", "stderr"],
      stdin: "null",
      stdout: "null",
      stderr: "inherit",
    }).spawn();
    const nginx = new Nginx(process, folder, port);
    await nginx.#listening();
    return nginx;
  }

  async stop(): Promise<void> {
    try {
      this.#process.kill("SIGTERM");
    } catch {
      // It has ended by itself.
    }
    await this.#process.status;
    await Deno.remove(this.#folder, { recursive: true });
  }

  async #listening(): Promise<void> {
    const deadline = performance.now() + START;
    let ended = false;
    this.#process.status.then(() => ended = true);
    while (!ended && performance.now() < deadline) {
      try {
        (await Deno.connect({ hostname: "127.0.0.1", port: this.port })).close();
        return;
      } catch {
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    }
    await this.stop();
    throw new Error("nginx does not listen");
  }
}

function configuration(port: number, backendPort: number): string {
  return `  client_max_body_size 0;
  large_client_header_buffers 8 32k;
  upstream backend {
    server 127.0.0.1:${backendPort};
    keepalive 32;
  }
  server {
    listen 127.0.0.1:${port};
    location / {
      proxy_pass http://backend;
      proxy_http_version 1.1;
      proxy_request_buffering off;
      proxy_redirect off;
      proxy_next_upstream off;
      proxy_buffer_size 64k;
      proxy_buffers 8 64k;
      proxy_busy_buffers_size 128k;
      proxy_pass_header Server;
      proxy_pass_header Date;
      proxy_set_header Connection "";
      proxy_set_header Host $http_host;
      proxy_set_header X-Request-Id $request_id;
      proxy_set_header X-Forwarded-For $remote_addr;
      proxy_set_header X-Real-IP $remote_addr;
      proxy_set_header X-Forwarded-Proto $scheme;
      proxy_set_header X-Forwarded-Port $server_port;
      proxy_set_header X-Forwarded-Host $http_host;
    }
  }
`;
}
