import assert from "node:assert/strict";
import { describeListenError } from "./address.ts";
import { type AdminOptions, type AdminServer, loopbackOnly, startAdmin } from "./admin.ts";
import { Lifecycle } from "./lifecycle.ts";
import { createLogger } from "./log.ts";

interface Answer {
  readonly status: number;
  readonly head: string;
  readonly body: string;
}

/** Raw, because a browser's `fetch` would choose Host and method itself. */
async function ask(
  admin: AdminServer,
  path: string,
  more: { method?: string; host?: string } = {},
) {
  const connection = await Deno.connect(admin.address);
  const host = more.host ?? `127.0.0.1:${admin.address.port}`;
  const request = `${more.method ?? "GET"} ${path} HTTP/1.1\r\nHost: ${host}\r\n` +
    "Connection: close\r\n\r\n";
  await connection.write(new TextEncoder().encode(request));
  const text = await new Response(connection.readable).text();
  const [head, body] = text.split("\r\n\r\n");
  return { status: Number(head.split(" ")[1]), head: head.toLowerCase(), body } satisfies Answer;
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

Deno.test("healthz answers at every time, readyz only when ready and with the reason otherwise", async () => {
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

Deno.test("HEAD answers as GET without a body, other methods are refused", async () => {
  await withAdmin({}, async (admin) => {
    const head = await ask(admin, "/healthz", { method: "HEAD" });
    assert.equal(head.status, 200);
    assert.equal(head.body, "");
    const post = await ask(admin, "/healthz", { method: "POST" });
    assert.equal(post.status, 405);
    assert.match(post.head, /allow: get, head/);
  });
});

Deno.test("a name that someone made point here gets nothing", async () => {
  await withAdmin({ allowedHosts: ["Metrics.example"] }, async (admin) => {
    for (const host of ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example:9090"]) {
      assert.equal((await ask(admin, "/healthz", { host })).status, 421, host);
    }
    for (const host of ["localhost:9090", "[::1]:9090", "10.1.2.3", "metrics.example:9090"]) {
      assert.equal((await ask(admin, "/healthz", { host })).status, 200, host);
    }
  });
});

Deno.test("a path that is not there names those that are", async () => {
  const handlers = { "/metrics": () => new Response("counters\n") };
  await withAdmin({ handlers }, async (admin) => {
    assert.equal((await ask(admin, "/metrics")).body, "counters\n");
    const missing = await ask(admin, "/healthz/");
    assert.equal(missing.status, 404);
    assert.match(missing.body, /\/healthz, \/metrics, \/readyz/);
  });
});

Deno.test("a handler that throws is logged and tells the client nothing", async () => {
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

Deno.test("close frees the port even when an answer never ends", async () => {
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

Deno.test("a port in use is told with flag, address and remedy", () => {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const address = { hostname: "127.0.0.1", port: listener.addr.port };
  try {
    assert.throws(() => startAdmin({ ...address, lifecycle: new Lifecycle() }), (error) => {
      assert.equal(
        describeListenError(error, address, "--admin"),
        `Cannot listen on 127.0.0.1:${address.port} (--admin): another program has the port; ` +
          "stop it, or give --admin another address",
      );
      return true;
    });
  } finally {
    listener.close();
  }
});

Deno.test("what is for this machine alone is refused to others, with the way to it", async () => {
  const handler = loopbackOnly(() => new Response("inner\n"));
  for (const address of ["127.0.0.1", "127.8.9.10", "::1", "::ffff:127.0.0.1"]) {
    const answer = await handler(new Request("http://127.0.0.1/"), { address });
    assert.equal(answer.status, 200, address);
  }
  for (const address of ["10.0.0.1", "::ffff:10.0.0.1", "::", "128.0.0.1", "127.evil", ""]) {
    const answer = await handler(new Request("http://127.0.0.1/"), { address });
    assert.equal(answer.status, 403, address);
    assert.match(await answer.text(), /port-forward/);
  }
  await withAdmin({ handlers: { "/inner": handler } }, async (admin) => {
    assert.equal((await ask(admin, "/inner")).body, "inner\n");
  });
});
