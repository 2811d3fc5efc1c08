import assert from "node:assert/strict";
import { describeListenError } from "../net/address.ts";
import { type AdminOptions, type AdminServer, loopbackOnly, startAdmin } from "./server.ts";
import { Lifecycle } from "../lifecycle.ts";
import { createLogger } from "../log.ts";

interface Answer {
  readonly status: number;
  readonly head: string;
  readonly body: string;
}

/** Raw, because `fetch` would choose Host and method itself; in HTTP/1.0, so without chunks. */
function ask(admin: AdminServer, path: string, more: { method?: string; host?: string } = {}) {
  const host = more.host ?? `127.0.0.1:${admin.address.port}`;
  return send(admin, `${more.method ?? "GET"} ${path} HTTP/1.0\r\nHost: ${host}\r\n\r\n`);
}

/** The answer to these bytes. */
async function send(admin: AdminServer, request: string): Promise<Answer> {
  const connection = await Deno.connect(admin.address);
  await connection.write(new TextEncoder().encode(request));
  const text = await new Response(connection.readable).text();
  const [head, body] = text.split("\r\n\r\n");
  return { status: Number(head.split(" ")[1]), head: head.toLowerCase(), body };
}

async function withAdmin(
  options: Partial<AdminOptions>,
  test: (admin: AdminServer) => Promise<void>,
): Promise<void> {
  const lifecycle = options.lifecycle ?? new Lifecycle();
  const admin = startAdmin({ hostname: "127.0.0.1", port: 0, ...options, lifecycle });
  try {
    await test(admin);
  } finally {
    await admin.close();
  }
}

Deno.test("healthz always responds with 200, readyz only when ready and otherwise with the reason", async () => {
  const lifecycle = new Lifecycle();
  await withAdmin({ lifecycle }, async (admin) => {
    assert.equal((await ask(admin, "/healthz")).status, 200);
    const starting = await ask(admin, "/readyz");
    assert.equal(starting.status, 503);
    assert.equal(starting.body, "starting\n");
    lifecycle.enter("ready");
    assert.equal((await ask(admin, "/readyz")).status, 200);
    lifecycle.setObstacle("listener", "the port does not answer");
    assert.equal((await ask(admin, "/readyz")).body, "listener: the port does not answer\n");
    lifecycle.clearObstacle("listener");
    lifecycle.enter("draining");
    const draining = await ask(admin, "/readyz?verbose");
    assert.equal(draining.status, 503);
    assert.equal(draining.body, "draining\n");
    assert.equal((await ask(admin, "/healthz")).status, 200);
  });
});

Deno.test("HEAD is GET without a body, other methods are rejected", async () => {
  await withAdmin({}, async (admin) => {
    const head = await ask(admin, "/healthz", { method: "HEAD" });
    assert.equal(head.status, 200);
    assert.equal(head.body, "");
    const post = await ask(admin, "/healthz", { method: "POST" });
    assert.equal(post.status, 405);
    assert.match(post.head, /allow: get, head/);
  });
});

Deno.test("a request under a foreign host name gets health, and no internal page", async () => {
  const handlers = { "/inner": loopbackOnly(() => new Response("inner\n")) };
  await withAdmin({ handlers }, async (admin) => {
    const names = ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example:9090", ""];
    for (const host of names) {
      assert.equal((await ask(admin, "/inner", { host })).status, 421, host);
      assert.equal((await ask(admin, "/healthz", { host })).status, 200, host);
    }
    for (const host of ["localhost:9090", "LOCALHOST", "[::1]:9090", "10.1.2.3"]) {
      assert.equal((await ask(admin, "/inner", { host })).status, 200, host);
    }
    const elsewhere = "GET http://evil.example/inner HTTP/1.1\r\nHost: localhost\r\n\r\n";
    assert.equal((await send(admin, elsewhere)).status, 421);
    assert.equal((await send(admin, "GET /inner HTTP/1.0\r\n\r\n")).status, 421);
  });
});

Deno.test("an invalid request gets 400 or 431, and no log line", async () => {
  let log = "";
  const logger = createLogger({ level: "debug", format: "json", write: (line) => log += line });
  await withAdmin({ logger }, async (admin) => {
    for (
      const request of [
        "GET /healthz HTTP/1.1\r\nHost: a b\r\n\r\n",
        "GET /healthz HTTP/1.1\r\nHost: a/b\r\n\r\n",
        "GET /healthz HTTP/1.1\r\nHost: a@b\r\n\r\n",
        "GET /healthz HTTP/1.1\r\nHost: a:99999\r\n\r\n",
        "GET /healthz HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n",
        "GET /healthz HTTP/1.1\r\n\r\n",
        "GET /healthz HTTP/1.1\r\nHost: a\r\nno field\r\n\r\n",
        "GET /healthz HTTP/1.1\r\nHost: a\r\n folded: b\r\n\r\n",
        "GET /healthz HTTP/1.1\r\nHost: a\r\nb: \0\r\n\r\n",
        "GET healthz HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET http:// HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET /healthz\r\n\r\n",
        "PRI * HTTP/2.0\r\n\r\n",
        "\r\n\r\n",
      ]
    ) {
      assert.equal((await send(admin, request)).status, 400, request);
    }
    const long = `GET /healthz HTTP/1.1\r\nHost: a\r\nb: ${"c".repeat(20_000)}\r\n\r\n`;
    assert.equal((await send(admin, long)).status, 431);
  });
  assert.equal(log, "");
});

Deno.test("a page is chunked, and an aborted one is recognisably incomplete", async () => {
  let log = "";
  const logger = createLogger({ level: "info", format: "json", write: (line) => log += line });
  const pieces = (...pieces: string[]) =>
    ReadableStream.from(pieces.map((piece) => new TextEncoder().encode(piece)));
  const handlers = {
    "/whole": () => new Response(pieces("one,", "", "two".repeat(50_000))),
    "/broken": () =>
      new Response(ReadableStream.from(async function* () {
        yield new TextEncoder().encode("one,");
        throw await Promise.resolve(new Error("an inner detail"));
      }())),
    "/empty": () => new Response(null),
  };
  await withAdmin({ handlers, logger }, async (admin) => {
    const base = `http://127.0.0.1:${admin.address.port}`;
    const whole = await fetch(`${base}/whole`);
    assert.equal(whole.headers.get("transfer-encoding"), "chunked");
    assert.equal(await whole.text(), `one,${"two".repeat(50_000)}`);
    assert.equal(await (await fetch(`${base}/empty`)).text(), "");
    assert.equal(log, "");
    const broken = await fetch(`${base}/broken`);
    await assert.rejects(broken.text());
  });
  assert.match(log, /an inner detail/);
});

Deno.test("the response to a request with a body arrives, although nobody reads the body", async () => {
  await withAdmin({}, async (admin) => {
    const body = "x".repeat(200_000);
    const head = `POST /healthz HTTP/1.1\r\nHost: a\r\nContent-Length: ${body.length}\r\n\r\n`;
    assert.equal((await send(admin, head + body)).status, 405);
  });
});

/** Settles when the other side ends the connection. */
async function gone(connection: Deno.Conn): Promise<void> {
  try {
    while (await connection.read(new Uint8Array(1024)) !== null);
  } catch {
    // Reset.
  } finally {
    connection.close();
  }
}

Deno.test("half a head, silence and an unread response end at their timeout", async () => {
  const endless = () => new Response(ReadableStream.from(repeat(new Uint8Array(65_536))));
  const limits = { head: 50, answer: 50 };
  await withAdmin({ limits, handlers: { "/endless": endless } }, async (admin) => {
    for (const sent of ["", "GET /healthz HTTP/1.1\r\nHo", "GET /endless HTTP/1.0\r\n\r\n"]) {
      const connection = await Deno.connect(admin.address);
      await connection.write(new TextEncoder().encode(sent));
      await gone(connection);
    }
    assert.equal((await ask(admin, "/healthz")).status, 200);
  });
});

function* repeat<T>(item: T): Generator<T> {
  for (;;) yield item;
}

Deno.test("one connection over the limit closes the oldest one without a request", async () => {
  const asked = Promise.withResolvers<void>();
  const answer = Promise.withResolvers<Response>();
  const handlers = {
    "/slow": () => {
      asked.resolve();
      return answer.promise;
    },
  };
  await withAdmin({ limits: { connections: 3 }, handlers }, async (admin) => {
    const slow = ask(admin, "/slow");
    await asked.promise;
    const silent = [];
    for (let i = 0; i < 2; i++) silent.push(await Deno.connect(admin.address));
    assert.equal((await ask(admin, "/healthz")).status, 200);
    await gone(silent[0]);
    const request = new TextEncoder().encode("GET /healthz HTTP/1.0\r\n\r\n");
    await silent[1].write(request);
    assert.match(await new Response(silent[1].readable).text(), /^HTTP\/1\.1 200 OK\r\n/);
    answer.resolve(new Response("at last\n"));
    assert.equal((await slow).body, "at last\n");
  });
});

Deno.test("an unknown path gets a list of the known ones", async () => {
  const handlers = { "/metrics": () => new Response("counters\n") };
  await withAdmin({ handlers }, async (admin) => {
    assert.equal((await ask(admin, "/metrics")).body, "counters\n");
    const missing = await ask(admin, "/healthz/");
    assert.equal(missing.status, 404);
    assert.match(missing.body, /\/healthz, \/metrics, \/readyz/);
  });
});

Deno.test("an exception of a handler is logged, and not shown to the client", async () => {
  let log = "";
  const logger = createLogger({ level: "info", format: "json", write: (line) => log += line });
  const handlers = {
    "/broken": () => {
      throw new Error("an inner detail");
    },
  };
  await withAdmin({ handlers, logger }, async (admin) => {
    const answer = await ask(admin, "/broken");
    assert.equal(answer.status, 500);
    assert.ok(!answer.body.includes("inner"));
  });
  assert.match(log, /an inner detail/);
});

Deno.test("close frees the port even if a response never ends", async () => {
  const endless = () => new Response(new ReadableStream({ pull: () => new Promise(() => {}) }));
  const admin = startAdmin({
    hostname: "127.0.0.1",
    port: 0,
    lifecycle: new Lifecycle(),
    handlers: { "/endless": endless },
  });
  const connection = await Deno.connect(admin.address);
  await connection.write(
    new TextEncoder().encode("GET /endless HTTP/1.1\r\nHost: localhost\r\n\r\n"),
  );
  await connection.read(new Uint8Array(1024));
  await admin.close();
  connection.close();
  Deno.listen(admin.address).close();
});

Deno.test("a port in use is reported with flag, address and remedy", () => {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const address = { hostname: "127.0.0.1", port: listener.addr.port };
  try {
    assert.throws(() => startAdmin({ ...address, lifecycle: new Lifecycle() }), (error) => {
      assert.equal(
        describeListenError(error, address, "--admin"),
        `Cannot listen on 127.0.0.1:${address.port} (--admin): another program has the port; ` +
          "stop it, or change --admin",
      );
      return true;
    });
  } finally {
    listener.close();
  }
});

Deno.test("pages for this machine only are refused to others, with the way to reach them", async () => {
  const handler = loopbackOnly(() => new Response("inner\n"));
  for (const address of ["127.0.0.1", "::1", "::ffff:127.0.0.1"]) {
    const answer = await handler(new Request("http://127.0.0.1/"), { address, close() {} });
    assert.equal(answer.status, 200, address);
  }
  // 127.0.0.6: what comes through an Istio sidecar, whoever sent it.
  const others = [
    "127.0.0.6",
    "::ffff:127.0.0.6",
    "127.8.9.10",
    "10.0.0.1",
    "::ffff:10.0.0.1",
    "::",
  ];
  for (const address of [...others, "128.0.0.1", "127.evil", ""]) {
    const answer = await handler(new Request("http://127.0.0.1/"), { address, close() {} });
    assert.equal(answer.status, 403, address);
    assert.match(await answer.text(), /port-forward/);
  }
  await withAdmin({ handlers: { "/inner": handler } }, async (admin) => {
    assert.equal((await ask(admin, "/inner")).body, "inner\n");
  });
});
