import assert from "node:assert/strict";
import { eventually } from "./support/condition.ts";
import { startFaultProxy } from "./support/fault_proxy.ts";

/** Echoes; counts what it holds. */
function startEcho() {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const open = new Set<Deno.Conn>();
  const serving = (async () => {
    for await (const connection of listener) {
      open.add(connection);
      connection.readable.pipeTo(connection.writable).catch(() => {})
        .finally(() => open.delete(connection));
    }
  })();
  return {
    port: listener.addr.port,
    open,
    async [Symbol.asyncDispose]() {
      listener.close();
      await serving.catch(() => {});
      await eventually("end of connections", () => open.size === 0);
    },
  };
}

async function say(client: Deno.Conn, text: string): Promise<void> {
  await client.write(new TextEncoder().encode(text));
}

async function hear(client: Deno.Conn): Promise<string | null> {
  const bytes = new Uint8Array(100);
  const count = await client.read(bytes);
  return count === null ? null : new TextDecoder().decode(bytes.subarray(0, count));
}

Deno.test("a fault proxy forwards bytes, and both ends of a connection", async () => {
  await using echo = startEcho();
  await using proxy = await startFaultProxy(echo.port);
  using client = await Deno.connect({ port: proxy.port });
  await say(client, "one");
  assert.equal(await hear(client), "one");
  assert.equal(proxy.connections, 1);
  await client.closeWrite();
  assert.equal(await hear(client), null);
  await eventually("closed pair", () => proxy.connections === 0);
});

Deno.test("a reset reaches the client as a reset, and a cut as an end", async () => {
  await using echo = startEcho();
  await using proxy = await startFaultProxy(echo.port);
  using first = await Deno.connect({ port: proxy.port });
  await say(first, "one");
  await hear(first);
  proxy.reset();
  await assert.rejects(hear(first), Deno.errors.ConnectionReset);
  using second = await Deno.connect({ port: proxy.port });
  await say(second, "two");
  await hear(second);
  proxy.cut();
  assert.equal(await hear(second), null);
  assert.equal(proxy.connections, 0);
  await eventually("ends at the target", () => echo.open.size === 0);
});

Deno.test("a refusing proxy keeps open connections", async () => {
  await using echo = startEcho();
  await using proxy = await startFaultProxy(echo.port);
  using first = await Deno.connect({ port: proxy.port });
  await say(first, "one");
  await hear(first);
  proxy.refuse(true);
  await assert.rejects(async () => {
    using refused = await Deno.connect({ port: proxy.port });
    await hear(refused);
  }, Deno.errors.ConnectionReset);
  await say(first, "two");
  assert.equal(await hear(first), "two");
  proxy.refuse(false);
  using third = await Deno.connect({ port: proxy.port });
  await say(third, "three");
  assert.equal(await hear(third), "three");
  assert.deepEqual([proxy.accepted, proxy.refused], [3, 1]);
});

Deno.test("a stalled proxy is silent, and forwards received bytes when it resumes", async () => {
  await using echo = startEcho();
  await using proxy = await startFaultProxy(echo.port);
  using client = await Deno.connect({ port: proxy.port });
  await say(client, "one");
  await hear(client);
  proxy.stall(true);
  await say(client, "two");
  let heard: string | null = "";
  const hearing = hear(client).then((text) => heard = text);
  await new Promise((resolve) => setTimeout(resolve, 100));
  assert.equal(heard, "");
  assert.equal(proxy.connections, 1);
  proxy.stall(false);
  await hearing;
  assert.equal(heard, "two");
  proxy.delay(20);
  await say(client, "three");
  assert.equal(await hear(client), "three");
});

Deno.test("a stalled proxy hides that one side has closed", async () => {
  await using echo = startEcho();
  await using proxy = await startFaultProxy(echo.port);
  using client = await Deno.connect({ port: proxy.port });
  await say(client, "one");
  await hear(client);
  proxy.stall(true);
  const [atTarget] = echo.open;
  atTarget.close();
  let isOver = false;
  const hearing = hear(client).catch(() => null).then(() => isOver = true);
  await new Promise((resolve) => setTimeout(resolve, 100));
  assert.equal(isOver, false);
  proxy.stall(false);
  await hearing;
});

Deno.test("a stalled proxy can be closed", async () => {
  await using echo = startEcho();
  const proxy = await startFaultProxy(echo.port);
  using client = await Deno.connect({ port: proxy.port });
  proxy.stall(true);
  await say(client, "one");
  await proxy.close();
  await assert.rejects(hear(client), Deno.errors.ConnectionReset);
});

Deno.test("blackholed connections stay open and silent, and new ones work", async () => {
  await using echo = startEcho();
  await using proxy = await startFaultProxy(echo.port);
  using old = await Deno.connect({ port: proxy.port });
  await say(old, "one");
  await hear(old);
  proxy.forget();
  await say(old, "two");
  const answer = hear(old).catch(() => "reset");
  using fresh = await Deno.connect({ port: proxy.port });
  await say(fresh, "three");
  assert.equal(await hear(fresh), "three");
  const first = await Promise.race([answer, hearLater(fresh)]);
  assert.equal(first, "four");
  proxy.reset();
  assert.equal(await answer, "reset");
});

/** Another round on a connection that is good. */
async function hearLater(client: Deno.Conn): Promise<string | null> {
  await say(client, "four");
  return await hear(client);
}
