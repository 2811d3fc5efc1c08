/** Requests to `deno task dev` as a developer looks at them: at the terminal, in a browser, at the admin port. */
import assert from "node:assert/strict";
import { WebSocket } from "ws";
import {
  EXAMPLES,
  get,
  manifest,
  type RunningDev,
  withDev,
  withFolder,
} from "../support/dev_process.ts";

const BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";

Deno.test("--tap prints a line for each request, without its query and headers", async () => {
  await withDev([EXAMPLES, "--tap"], async ({ http, output }) => {
    await get(http, "app.example.com", "/api/users?token=secret", "x-secret/accept");
    await get(http, "nobody.test.", "/x?token=secret");
    await output.match(
      /\n\d\d:\d\d:\d\d GET app\.example\.com\/api\/users 200 [\d.]+ ms → default\/api:\w+ \(127\.0\.0\.1:\d+\)\n/,
    );
    // The examples have a rule for any host.
    await output.match(/ GET nobody\.test\/x 200 /);
    assert.doesNotMatch(output.since(0), /secret/);
  });
  await withFolder({ "a.yaml": manifest("a.example.com").split("---")[0] }, async (folder) => {
    await withDev([folder, "--tap"], async ({ http, output }) => {
      await get(http, "b.example.com", "/");
      await output.match(
        / GET b\.example\.com\/ 404 [\d.]+ ms no_route: No route for this host and path\n/,
      );
      await get(http, "a.example.com", "/");
      await output.match(
        / GET a\.example\.com\/ 503 [\d.]+ ms no_endpoint: there is no Service web in .*\n/,
      );
    });
  });
});

Deno.test("without --tap no request is printed", async () => {
  await withDev([EXAMPLES], async ({ http, output }) => {
    await output.match(/Watching/);
    const end = output.end;
    await get(http, "app.example.com", "/api");
    assert.equal(output.since(end), "");
  });
});

Deno.test("a browser gets a page with the reason, the place and a link to the explanation", async () => {
  await withFolder({ "a.yaml": manifest("a.example.com").split("---")[0] }, async (folder) => {
    await withDev([folder], async ({ http, admin }) => {
      const page = await get(http, "a.example.com", "/x?a=<b>", BROWSER);
      assert.equal(page.status, 503);
      assert.equal(page.headers["content-type"], "text/html; charset=utf-8");
      assert.match(String(page.headers["content-security-policy"]), /default-src 'none'/);
      assert.match(page.body, /<h1>503 Service Unavailable<\/h1>/);
      assert.match(page.body, /<b>ServiceNotFound<\/b>: /);
      assert.match(page.body, /a\.yaml:\d+:\d+/);
      assert.ok(!page.body.includes('<b>"'), "nothing of the request is markup");
      const [, link] = /<a href="([^"]+)">/.exec(page.body)!;
      assert.ok(link.startsWith(`http://127.0.0.1:${admin}/explain?url=`), link);
      const { pathname, search } = new URL(link.replaceAll("&#38;", "&"));
      const explained = await get(admin, `127.0.0.1:${admin}`, pathname + search);
      assert.equal(explained.status, 200);
      assert.match(explained.body, /\nRoute: a\.example\.com Prefix \/\n/);

      const other = await get(http, "b.example.com", "/", BROWSER);
      assert.equal(other.status, 404);
      assert.match(other.body, /no_route[^]*a\.example\.com/);

      // Programs get what a cluster's proxies send.
      for (const accept of ["*/*", "text/plain", "application/json"]) {
        const plain = await get(http, "b.example.com", "/", accept);
        assert.doesNotMatch(String(plain.headers["content-type"]), /html/);
        assert.doesNotMatch(plain.body, /a\.example\.com/);
      }
    });
  });
});

Deno.test("the admin port lists what it has: metrics, explanations, the CA", async () => {
  await withDev([EXAMPLES], async ({ http, admin }) => {
    const ask = (path: string, accept = "*/*") => get(admin, `127.0.0.1:${admin}`, path, accept);
    const index = await ask("/");
    assert.equal(index.status, 200);
    const page = await ask("/", BROWSER);
    for (const path of ["/explain?url=", "/metrics", "/ca.crt", "/healthz", "/readyz"]) {
      assert.ok(index.body.includes(path), path);
      assert.ok(page.body.includes(path), path);
    }
    await get(http, "app.example.com", "/api");
    const { body: metrics } = await ask("/metrics");
    assert.match(
      metrics,
      /\npingress_requests_total\{[^}]*route="app\.example\.com Prefix \/api"[^}]*\} 1\n/,
    );
    for (
      const name of [
        "pingress_route_info",
        "pingress_requests_active",
        "pingress_metrics_entries",
        "pingress_upstream_requests_total",
        "pingress_upstream_duration_seconds",
        "pingress_endpoints",
        "pingress_worker_cpu_seconds_total",
        "pingress_worker_delay_seconds",
        "pingress_worker_heap_bytes",
        "pingress_limit",
        "process_cpu_seconds_total",
      ]
    ) assert.ok(metrics.includes(`\n# TYPE ${name} `), name);
    const wanted = encodeURIComponent("https://app.example.com/api/users");
    const explained = await ask(`/explain?url=${wanted}&method=POST&header=x-a:%201`);
    assert.match(
      explained.body,
      /\n {2}method {2}POST\n[^]*\nRoute: app\.example\.com Prefix \/api\n/,
    );
    assert.equal((await ask("/explain")).status, 400);
    // A web page cannot read it through a name that it makes point here.
    assert.equal((await get(admin, "evil.test", `/explain?url=${wanted}`)).status, 421);
    assert.match((await ask("/ca.crt")).body, /BEGIN CERTIFICATE/);
  });
});

/** A client of `ws` that has opened a connection to the host. */
async function connect(url: string, host: string): Promise<WebSocket> {
  const options = { headers: { host }, rejectUnauthorized: false, servername: host };
  const socket = new WebSocket(url, options);
  await new Promise((resolve, reject) => socket.once("open", resolve).once("error", reject));
  return socket;
}

Deno.test("a sample backend echoes the messages of a WebSocket, over HTTP and HTTPS", async () => {
  await withDev([EXAMPLES], async ({ http, https }) => {
    for (const url of [`ws://127.0.0.1:${http}/chat`, `wss://127.0.0.1:${https}/chat`]) {
      const socket = await connect(url, "app.example.com");
      const next = () =>
        new Promise<[Uint8Array, boolean]>((resolve) =>
          socket.once("message", (data, isBinary) => resolve([data as Uint8Array, isBinary]))
        );
      const text = next();
      socket.send("häh?");
      const [echoed, isBinary] = await text;
      assert.deepEqual([new TextDecoder().decode(echoed), isBinary], ["häh?", false]);
      const binary = next();
      const bytes = crypto.getRandomValues(new Uint8Array(60_000));
      socket.send(bytes);
      const [same, wasBinary] = await binary;
      assert.deepEqual([new Uint8Array(same), wasBinary], [bytes, true]);
      const closed = new Promise((resolve) => socket.once("close", resolve));
      socket.close(1000);
      assert.equal(await closed, 1000);
    }
  });
});

/** Reads Server-Sent Events until there are so many. */
async function events({ http }: RunningDev, host: string, count: number): Promise<string[]> {
  const connection = await Deno.connect({ hostname: "127.0.0.1", port: http });
  try {
    await connection.write(new TextEncoder().encode(
      `GET /events HTTP/1.1\r\nHost: ${host}\r\nAccept: text/event-stream\r\n\r\n`,
    ));
    let text = "";
    const decoder = new TextDecoder();
    const buffer = new Uint8Array(4096);
    const found = () => text.match(/event: \w+/g) ?? [];
    while (found().length < count) {
      const read = await connection.read(buffer);
      if (read === null) break;
      text += decoder.decode(buffer.subarray(0, read), { stream: true });
    }
    assert.match(text, /^HTTP\/1\.1 200 [^]*content-type: text\/event-stream/i);
    return found();
  } finally {
    connection.close();
  }
}

Deno.test("a sample backend sends Server-Sent Events, in HTTP/1.1 and in HTTP/2", async () => {
  await withDev([EXAMPLES], async (dev) => {
    const expected = ["event: request", "event: time", "event: time"];
    assert.deepEqual(await events(dev, "app.example.com", 3), expected);
    assert.deepEqual(await events(dev, "grpc.example.com", 3), expected);
    assert.equal((await get(dev.http, "grpc.example.com", "/")).status, 200);
  });
});
