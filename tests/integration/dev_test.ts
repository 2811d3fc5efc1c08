/**
 * `deno task dev` and `deno task explain` as a newcomer meets them: child processes with the very
 * commands and permissions of deno.json, and clients from outside.
 */
import assert from "node:assert/strict";
import { request as nodeRequest } from "node:http";
import { join } from "node:path";
import { connect as connectTls } from "node:tls";

const ROOT = join(import.meta.dirname!, "..", "..");
const EXAMPLES = join(ROOT, "examples");

/** How long anything is waited for, in ms, before the test gives up. */
const PATIENCE = 20_000;

/** The task's command line, run by the same Deno as this test. */
function taskArguments(task: "dev" | "explain"): string[] {
  const config = JSON.parse(Deno.readTextFileSync(join(ROOT, "deno.json")));
  const [program, ...args] = config.tasks[task].command.split(" ");
  assert.equal(program, "deno");
  return args;
}

function spawn(task: "dev" | "explain", args: readonly string[]): Deno.ChildProcess {
  return new Deno.Command(Deno.execPath(), {
    args: [...taskArguments(task), ...args],
    cwd: ROOT,
    env: { NO_COLOR: "1" },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
}

/** Output of a process as it comes. */
class Output {
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

interface RunningDev {
  readonly http: number;
  readonly https: number;
  readonly admin: number;
  readonly process: Deno.ChildProcess;
  readonly output: Output;
}

/** Ports of the system's choosing. */
const FREE_PORTS = [
  "--listen-http=127.0.0.1:0",
  "--listen-https=127.0.0.1:0",
  "--admin=127.0.0.1:0",
];

/** Runs `deno task dev` on ports of the system's choosing while `use` runs. */
async function withDev(
  args: readonly string[],
  use: (dev: RunningDev) => Promise<void>,
): Promise<void> {
  const process = spawn("dev", [
    ...args,
    ...FREE_PORTS,
  ]);
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

async function withFolder(
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

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
}

/** One request by Node's client, which lets the Host field be chosen. */
function get(port: number, host: string, path: string, accept = "*/*"): Promise<Answer> {
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
function getSecurely(
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
class KeptConnection {
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
async function withProgram(name: string, use: (port: number) => Promise<void>): Promise<void> {
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

function manifest(host: string, annotation = "{}"): string {
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

Deno.test("the examples are served without a problem", async () => {
  await withDev([EXAMPLES], async ({ http, admin, output }) => {
    await output.match(/\nNo problems\n/);
    for (const path of ["/healthz", "/readyz"]) {
      assert.equal((await get(admin, "127.0.0.1", path)).status, 200);
    }
    const routes: readonly (readonly [string, string, string])[] = [
      ["app.example.com", "/api", "default/api"],
      ["app.example.com", "/api/users", "default/api"],
      ["app.example.com", "/apis", "default/web"],
      ["app.example.com", "/api/about", "default/web"],
      ["blue.apps.example.com", "/", "default/web"],
      ["a.b.apps.example.com", "/status", "default/api"],
      ["nobody.example.com", "/any", "default/web"],
    ];
    for (const [name, path, service] of routes) {
      const { status, headers } = await get(http, name, path);
      assert.deepEqual([status, headers["x-sample-service"]], [200, service], name + path);
    }
  });
});

Deno.test("HTTPS has the certificate of the Secret that the Ingress names", async () => {
  await withDev([EXAMPLES], async ({ https }) => {
    const { body, certificate } = await getSecurely(https, "blue.apps.example.com", "/x");
    assert.match(body, /\nGET \/x\n/);
    assert.match(body, /\nx-forwarded-proto: https\n/);
    assert.equal(certificate, "DNS:app.example.com, DNS:*.apps.example.com");
  });
});

Deno.test("with --ssl-redirect plain HTTP is sent to HTTPS where there is a certificate", async () => {
  await withDev([EXAMPLES, "--ssl-redirect"], async ({ http, https }) => {
    const { status, headers } = await get(http, "app.example.com", "/api");
    assert.equal(status, 308);
    assert.equal(headers.location, `https://app.example.com:${https}/api`);
    assert.equal((await get(http, "nobody.example.com", "/")).status, 200);
  });
});

Deno.test("the printed commands get answers when they are pasted", async () => {
  await withDev([EXAMPLES], async ({ output }) => {
    const [, first, second] = await output.match(/\nTry it:\n {2}(curl .*)\n {2}(curl .*)\n/);
    for (const line of [first, second]) {
      const { code, stdout, stderr } = await new Deno.Command("sh", { args: ["-c", line] })
        .output();
      if (code === 127) {
        console.log("skipped: curl is not installed; apt-get install curl");
        return;
      }
      assert.equal(code, 0, new TextDecoder().decode(stderr));
      assert.match(
        new TextDecoder().decode(stdout),
        /^Sample backend (one|two), in place of a pod of default\/web/,
      );
    }
  });
});

Deno.test("a saved manifest is served at once, and no connection notices", async () => {
  await withFolder({ "a.yaml": manifest("old.example.com") }, async (folder) => {
    await withDev([folder], async ({ http, output }) => {
      const connect = async () =>
        new KeptConnection(await Deno.connect({ hostname: "127.0.0.1", port: http }));
      const [idle, busy] = [await connect(), await connect()];
      try {
        await idle.send("GET /1 HTTP/1.1\r\nHost: old.example.com\r\n\r\n");
        assert.match((await idle.answer()).head, /^HTTP\/1\.1 200 /);
        await busy.send(
          "POST /upload HTTP/1.1\r\nHost: old.example.com\r\nContent-Length: 10\r\n\r\nhello",
        );

        const end = output.end;
        await Deno.writeTextFile(join(folder, "a.yaml"), manifest("new.example.com"));
        await output.match(
          /Changed, and served[\s\S]*new\.example\.com {2}Prefix \/[\s\S]*problems/,
          end,
        );

        await idle.send("GET /2 HTTP/1.1\r\nHost: new.example.com\r\n\r\n");
        assert.match((await idle.answer()).head, /^HTTP\/1\.1 200 /);
        await idle.send("GET /3 HTTP/1.1\r\nHost: old.example.com\r\n\r\n");
        assert.match((await idle.answer()).head, /^HTTP\/1\.1 404 /);
        await busy.send("world");
        const { head, body } = await busy.answer();
        assert.match(head, /^HTTP\/1\.1 200 /);
        assert.match(body, /hello[^]*world/);
      } finally {
        idle.close();
        busy.close();
      }
    });
  });
});

Deno.test("a half-saved manifest leaves what it said before in force", async () => {
  await withFolder({ "a.yaml": manifest("a.example.com") }, async (folder) => {
    await withDev([folder], async ({ http, output }) => {
      let end = output.end;
      const text = manifest("b.example.com");
      await Deno.writeTextFile(join(folder, "a.yaml"), `${text.slice(0, 250)}\n  - [`);
      await output.match(/a\.yaml:\d+:\d+ {2}error[^]*last good version is served/, end);
      assert.equal((await get(http, "a.example.com", "/")).status, 200);
      end = output.end;
      await Deno.writeTextFile(join(folder, "a.yaml"), text);
      await output.match(/b\.example\.com[^]*No problems/, end);
      assert.equal((await get(http, "a.example.com", "/")).status, 404);
      assert.equal((await get(http, "b.example.com", "/")).status, 200);
    });
  });
});

Deno.test("an annotation and --map send a Service to a program of the developer's", async () => {
  await withProgram("mine", async (mine) => {
    await withProgram("other", async (other) => {
      const annotation = `{ dev.pingress.io/endpoint: "127.0.0.1:${mine}" }`;
      const files = { "a.yaml": manifest("a.example.com", annotation) };
      await withFolder(files, async (folder) => {
        await withDev([folder], async ({ http, output }) => {
          await output.match(new RegExp(`127\\.0\\.0\\.1:${mine} \\(annotation\\)`));
          assert.equal((await get(http, "a.example.com", "/")).body, "mine");
        });
        await withDev(
          [folder, `--map=default/web=localhost:${other}`],
          async ({ http, output }) => {
            await output.match(new RegExp(`localhost:${other} \\(--map\\)`));
            assert.equal((await get(http, "a.example.com", "/")).body, "other");
          },
        );
      });
    });
  });
});

Deno.test("a folder with mistakes is served as far as it can be read", async () => {
  const files = {
    "good.yaml": manifest("good.example.com"),
    "broken.yaml": "kind: [",
    "host.yaml": manifest("under_score.example.com").replace("name: app", "name: bad"),
    "nginx.yaml": manifest("nginx.example.com").replace("name: app", "name: nginx")
      .replace("ingressClassName: pingress", "ingressClassName: nginx").split("---")[0],
    "web.yaml": "apiVersion: apps/v1\nkind: Deployment\nmetadata: { name: web }\n",
    "without.yaml": manifest("without.example.com").replace("name: app", "name: without")
      .replace("  ingressClassName: pingress\n", "").split("---")[0],
  };
  files["host.yaml"] = files["host.yaml"].split("---")[0];
  await withFolder(files, async (folder) => {
    await withDev([folder], async ({ http, output }) => {
      for (
        const line of [
          /broken\.yaml:1:\d+ {2}error\n/,
          /host\.yaml:7:7 {2}error {2}Ingress default\/bad {2}spec\.rules\[0\]\.host\n/,
          /nginx\.yaml:5:3 {2}warning {2}Ingress default\/nginx {2}spec\.ingressClassName\n {4}not served: class nginx\n {4}→ add --ingress-class nginx\n/,
          /web\.yaml:2:1 {2}warning {2}Deployment default\/web {2}kind\n/,
        ]
      ) await output.match(line);
      for (const name of ["good", "without"]) {
        assert.equal((await get(http, `${name}.example.com`, "/")).status, 200);
      }
      assert.equal((await get(http, "nginx.example.com", "/")).status, 404);
    });
    await withDev([folder, "--ingress-class=nginx"], async ({ http }) => {
      assert.equal((await get(http, "nginx.example.com", "/")).status, 200);
    });
  });
});

Deno.test("Ctrl-C lets a running exchange finish, and the exit code is 0", async () => {
  await withDev([EXAMPLES], async ({ http, process, output }) => {
    const client = new KeptConnection(await Deno.connect({ hostname: "127.0.0.1", port: http }));
    try {
      await client.send(
        "POST / HTTP/1.1\r\nHost: app.example.com\r\nContent-Length: 4\r\n" +
          "Expect: 100-continue\r\n\r\n",
      );
      // The exchange is under way once somebody asks for its body.
      assert.match((await client.answer()).head, /^HTTP\/1\.1 100 /);
      process.kill("SIGINT");
      // A terminal sends it to the whole group, and `deno task` passes on its own.
      process.kill("SIGINT");
      await listenerIsGone(http);
      await client.send("done");
      const { head, body } = await client.answer();
      assert.match(head, /^HTTP\/1\.1 200 /);
      assert.match(body, /done/);
      assert.equal((await process.status).code, 0);
      assert.match(await output.all(), /\nStopped\.\n$/);
    } finally {
      client.close();
    }
  });
});

async function listenerIsGone(port: number): Promise<void> {
  const end = Date.now() + PATIENCE;
  while (Date.now() < end) {
    try {
      (await Deno.connect({ hostname: "127.0.0.1", port })).close();
    } catch {
      return;
    }
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error(`port ${port} is still open`);
}

Deno.test("a start that cannot succeed says why in one line, and what to do", async () => {
  const taken = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = taken.addr;
  try {
    for (
      const [args, code, pattern] of [
        [
          [EXAMPLES, `--listen-http=127.0.0.1:${port}`],
          1,
          /\(--listen-http\): another program has the port/,
        ],
        [
          [EXAMPLES, FREE_PORTS[0], `--listen-https=127.0.0.1:${port}`],
          1,
          /\(--listen-https\): another program has the port/,
        ],
        [
          [EXAMPLES, FREE_PORTS[0], FREE_PORTS[1], `--admin=127.0.0.1:${port}`],
          1,
          /\(--admin\): another program has the port/,
        ],
        [["no/such/folder"], 1, /^There is no file or folder no\/such\/folder; name one/],
        [[EXAMPLES, "--listen-http=0.0.0.0:0"], 1, /deno run -P=dev --allow-net dev\/main\.ts/],
        [[EXAMPLES, "--listen-https=[::]:0"], 1, /deno run -P=dev --allow-net dev\/main\.ts/],
        [
          [EXAMPLES, "--map=default/web=10.9.8.7:80"],
          1,
          /^Cannot dial 10\.9\.8\.7:80 .*deno run -P=dev --allow-net dev\/main\.ts/,
        ],
        [[EXAMPLES, "--allow-external-name"], 1, /^Cannot dial .*--allow-net/],
      ] as const
    ) {
      const { code: got, stderr } = await spawn("dev", args).output();
      const text = new TextDecoder().decode(stderr);
      assert.equal(got, code, text);
      assert.match(text, pattern);
      assert.equal(text.trim().split("\n").length, 1, text);
    }
  } finally {
    taken.close();
  }
});

Deno.test("a wrong command line exits with 2, --help with 0", async () => {
  const wrong = await spawn("dev", ["--no-such-flag"]).output();
  assert.equal(wrong.code, 2);
  const help = await spawn("dev", ["--help"]).output();
  assert.equal(help.code, 0);
  assert.match(new TextDecoder().decode(help.stdout), /--listen-http[^]*127\.0\.0\.1:8080/);
});

Deno.test("explain exits with 0 for a route, 1 for none, 2 for a wrong command line", async () => {
  await withFolder({ "a.yaml": manifest("a.example.com") }, async (folder) => {
    for (
      const [args, code, pattern] of [
        [
          [EXAMPLES, "https://app.example.com/api/x"],
          0,
          /\nRoute: app\.example\.com Prefix \/api\n/,
        ],
        [[EXAMPLES, "http://anything/at/all"], 0, /\nRoute: \* Prefix \/\n/],
        [[folder, "http://b.example.com/"], 1, /\nRoute: none takes this path/],
        [[folder, "http://a.example.com/%zz"], 1, /400/],
        [[folder, "http://"], 2, /is no URL/],
        [[folder], 2, /needs DIR URL/],
        [["no/such/folder", "http://a/"], 2, /no\/such\/folder/],
      ] as const
    ) {
      const { code: got, stdout, stderr } = await spawn("explain", args).output();
      const text = new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr);
      assert.equal(got, code, text);
      assert.match(text, pattern);
    }
  });
});

/** A client that is not ours, and what it takes to get `/` of app.example.com with it. */
const CLIENTS: readonly { program: string; remedy: string; args: (port: number) => string[] }[] = [
  {
    program: "curl",
    remedy: "apt-get install curl",
    args: (port) => [
      "--silent",
      "--show-error",
      "--noproxy",
      "*",
      "--header",
      "Host: app.example.com",
      `http://127.0.0.1:${port}/api`,
      "--next",
      "--silent",
      "--noproxy",
      "*",
      "--header",
      "Host: app.example.com",
      "--data",
      "posted by curl",
      `http://127.0.0.1:${port}/`,
    ],
  },
  {
    program: "node",
    remedy: "apt-get install nodejs",
    args: (port) => ["--eval", nodeProgram(port)],
  },
];

/** Two requests on one connection of Node's client. */
function nodeProgram(port: number): string {
  return `
const http = require("node:http");
const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
const ask = (path, method, body) => new Promise((resolve, reject) => {
  const headers = { host: "app.example.com" };
  const options = { agent, host: "127.0.0.1", port: ${port}, path, method, headers };
  const request = http.request(options, (response) => {
    let text = "";
    response.on("data", (part) => text += part).on("error", reject);
    response.on("end", () => resolve([text, request.reusedSocket]));
  });
  request.on("error", reject).end(body);
});
(async () => {
  const [first] = await ask("/api", "GET");
  const [second, reused] = await ask("/", "POST", "posted by node");
  console.log(first, second, reused ? "reused" : "not reused");
  agent.destroy();
})();
`;
}

for (const { program, remedy, args } of CLIENTS) {
  Deno.test(`${program} gets and posts through the proxy`, async () => {
    await withDev([EXAMPLES], async ({ http }) => {
      let result: Deno.CommandOutput;
      try {
        result = await new Deno.Command(program, { args: args(http) }).output();
      } catch (error) {
        if (!(error instanceof Deno.errors.NotFound)) throw error;
        console.log(`skipped: ${program} is not installed; ${remedy}`);
        return;
      }
      const text = new TextDecoder().decode(result.stdout);
      assert.equal(result.code, 0, new TextDecoder().decode(result.stderr));
      assert.match(text, /Sample backend (one|two), in place of a pod of default\/api/);
      assert.match(text, new RegExp(`posted by ${program}`));
      if (program === "node") assert.match(text, /(?<!not )reused/);
    });
  });
}
