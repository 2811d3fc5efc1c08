/**
 * `deno task dev`, `deno task explain` and `deno task pingress` as a newcomer meets them: child processes with the very
 * commands and permissions of deno.json, folders of manifests, and clients from outside.
 */
import assert from "node:assert/strict";
import { request as nodeRequest } from "node:http";
import { join } from "node:path";
import { connect as connectTls } from "node:tls";

const ROOT = join(import.meta.dirname!, "..", "..");
export const EXAMPLES = join(ROOT, "examples");

/** How long anything is waited for, in ms, before the test gives up. */
export const PATIENCE = 60_000;

/** All that commands about a folder print on standard error: a busy machine takes over a second for a step. */
export const PROGRESS = /^(?:Reading the manifests\n|Comparing\n)*$/;

type Task = "dev" | "explain" | "lint" | "pingress";

/** The task's command line, run by the same Deno as this test. */
export function taskArguments(task: Task): string[] {
  const config = JSON.parse(Deno.readTextFileSync(join(ROOT, "deno.json")));
  const [program, ...args] = config.tasks[task].command.split(" ");
  assert.equal(program, "deno");
  return args;
}

export function spawn(
  task: Task,
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Deno.ChildProcess {
  return new Deno.Command(Deno.execPath(), {
    args: [...taskArguments(task), ...args],
    cwd: ROOT,
    env: { NO_COLOR: "1", ...environment },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
}

/** Output of a process as it comes. */
export class Output {
  #text = "";
  #more = Promise.withResolvers<void>();
  #ended: Promise<void>;

  constructor(stream: ReadableStream<Uint8Array>) {
    this.#ended = (async () => {
      for await (const part of stream.pipeThrough(new TextDecoderStream())) {
        this.#text += part;
        this.#more.resolve();
        this.#more = Promise.withResolvers();
      }
    })();
  }

  /** Where what comes from now on begins. */
  get end(): number {
    return this.#text.length;
  }

  /** What has come from there on. */
  since(from: number): string {
    return this.#text.slice(from);
  }

  /** The first match at or after `from`, once it is there. */
  async match(pattern: RegExp, from = 0): Promise<RegExpExecArray> {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(
        () => reject(new Error(`no ${pattern} in:\n${this.#text.slice(from)}`)),
        PATIENCE,
      );
    });
    try {
      for (;;) {
        const more = this.#more.promise;
        const found = pattern.exec(this.#text.slice(from));
        if (found !== null) return found;
        await Promise.race([more, late]);
      }
    } finally {
      clearTimeout(timer);
    }
  }

  /** Everything, once the process has ended. */
  async all(): Promise<string> {
    await this.#ended;
    return this.#text;
  }
}

export interface RunningDev {
  readonly http: number;
  readonly https: number;
  readonly admin: number;
  readonly process: Deno.ChildProcess;
  readonly output: Output;
}

/** Ports of the system's choosing. */
export const FREE_PORTS = [
  "--listen-http=127.0.0.1:0",
  "--listen-https=127.0.0.1:0",
  "--admin=127.0.0.1:0",
];

/** Runs `deno task dev` while `use` runs, by default on ports of the system's choosing. */
export async function withDev(
  args: readonly string[],
  use: (dev: RunningDev) => Promise<void>,
  ports: readonly string[] = FREE_PORTS,
): Promise<void> {
  const process = spawn("dev", [...args, ...ports]);
  const output = new Output(process.stdout);
  const errors = new Output(process.stderr);
  try {
    const [, http, https, admin] = await output.match(
      / http:\/\/127\.0\.0\.1:(\d+) and https:\/\/127\.0\.0\.1:(\d+), readiness at http:\/\/127\.0\.0\.1:(\d+)\/[^]*(?:No problems|warnings?:)/,
    );
    await use({ http: Number(http), https: Number(https), admin: Number(admin), process, output });
  } finally {
    try {
      process.kill("SIGTERM");
    } catch {
      // It has ended already.
    }
    await process.status;
    await output.all();
    assert.equal(await errors.all(), "");
  }
}

export async function withFolder(
  files: Readonly<Record<string, string>>,
  use: (folder: string) => Promise<void>,
): Promise<void> {
  const folder = await Deno.makeTempDir();
  try {
    for (const [name, text] of Object.entries(files)) {
      await Deno.writeTextFile(join(folder, name), text);
    }
    await use(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
}

/** One request by Node's client, which lets the Host field be chosen. */
export function get(port: number, host: string, path: string, accept = "*/*"): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const headers = { host, accept };
    nodeRequest({ port, host: "127.0.0.1", path, headers, agent: false }, (response) => {
      let body = "";
      response.setEncoding("utf8");
      response.on("data", (part) => body += part);
      response.on("error", reject);
      response.on("end", () => {
        resolve({ status: response.statusCode!, headers: response.headers, body });
      });
    }).on("error", reject).end();
  });
}

/** The same by HTTPS, with the names in the certificate that came. */
export function getSecurely(
  port: number,
  host: string,
  path: string,
): Promise<{ body: string; certificate: string | undefined }> {
  return new Promise((resolve, reject) => {
    const socket = connectTls({
      host: "127.0.0.1",
      port,
      servername: host,
      // The demo certificate is signed by itself; which one came is what is looked at.
      rejectUnauthorized: false,
    }, () => {
      socket.write(`GET ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
    });
    let body = "";
    const certificate = () => socket.getPeerCertificate()?.subjectaltname;
    let names: string | undefined;
    socket.setEncoding("utf8");
    socket.on("data", (part) => {
      names ??= certificate();
      body += part;
    });
    socket.on("error", reject);
    socket.on("end", () => resolve({ body, certificate: names }));
  });
}

/** A client that keeps one connection, for answers with Content-Length or without body. */
export class KeptConnection {
  #connection: Deno.TcpConn;
  #waiting = "";

  constructor(connection: Deno.TcpConn) {
    this.#connection = connection;
  }

  async send(text: string): Promise<void> {
    const bytes = new TextEncoder().encode(text);
    for (let sent = 0; sent < bytes.length;) {
      sent += await this.#connection.write(bytes.subarray(sent));
    }
  }

  /** The next answer; rejects where the connection ends within it. */
  async answer(): Promise<{ head: string; body: string }> {
    for (;;) {
      const end = this.#waiting.indexOf("\r\n\r\n");
      if (end !== -1) {
        const head = this.#waiting.slice(0, end);
        const chunked = /\r\ntransfer-encoding: chunked/i.test(head);
        const length = Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1] ?? 0);
        const whole = chunked ? this.#waiting.indexOf("\r\n0\r\n\r\n", end) + 7 : end + 4 + length;
        if (whole > 6 && this.#waiting.length >= whole) {
          const body = this.#waiting.slice(end + 4, whole);
          this.#waiting = this.#waiting.slice(whole);
          return { head, body };
        }
      }
      const buffer = new Uint8Array(4096);
      const count = await this.#connection.read(buffer);
      if (count === null) throw new Error(`the connection ended after:\n${this.#waiting}`);
      this.#waiting += new TextDecoder().decode(buffer.subarray(0, count));
    }
  }

  close(): void {
    this.#connection.close();
  }
}

/** A program of a developer, which answers with its name. */
export async function withProgram(
  name: string,
  use: (port: number) => Promise<void>,
): Promise<void> {
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    () => new Response(name),
  );
  try {
    await use(server.addr.port);
  } finally {
    await server.shutdown();
  }
}

export function manifest(host: string, annotation = "{}"): string {
  return `apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: { name: app }
spec:
  ingressClassName: pingress
  rules:
    - host: ${host}
      http:
        paths:
          - path: /
            pathType: Prefix
            backend: { service: { name: web, port: { number: 80 } } }
---
apiVersion: v1
kind: Service
metadata: { name: web, annotations: ${annotation} }
spec: { ports: [{ port: 80 }] }
`;
}
