import assert from "node:assert/strict";
import { Child, freePort } from "./child.ts";
import { type IdleReport } from "./idle_load.ts";
import { SpokenProgram } from "./spoken.ts";

const LOAD = new URL("idle_load.ts", import.meta.url).pathname;
const SERVERS = {
  1: new URL("sink_server.ts", import.meta.url).pathname,
  2: new URL("../tests/support/http2_server.ts", import.meta.url).pathname,
};

/** @param atRest what happens to the server while six connections rest, each after two requests. */
async function rest(
  http: 1 | 2,
  atRest: (server: Child) => Promise<void>,
): Promise<IdleReport> {
  const address = { hostname: "127.0.0.1", port: freePort() };
  const server = Child.start([Deno.execPath(), "run", "-A", SERVERS[http], String(address.port)]);
  await server.listening(address);
  const url = `http://127.0.0.1:${address.port}/small`;
  const load = new SpokenProgram([
    ...[Deno.execPath(), "run", "-A", "-q", LOAD, url],
    ...["", "6", "2", String(http)],
  ]);
  try {
    assert.equal(await load.line(), "open");
    await atRest(server);
    await load.nudge();
    return JSON.parse(await load.line());
  } finally {
    await load.hush();
    await load.gone();
    await server.stop();
  }
}

for (const http of [1, 2] as const) {
  Deno.test(`HTTP/${http}: connections that got a response and stay open are not errors`, async () => {
    const { opened, errors, p50, duration } = await rest(http, () => Promise.resolve());
    assert.deepEqual({ opened, errors }, { opened: 6, errors: 0 });
    assert.ok(p50 > 0 && duration > 0);
  });

  Deno.test(`HTTP/${http}: each connection that closes while idle is an error`, async () => {
    const { opened, errors } = await rest(http, (server) => server.stop());
    assert.deepEqual({ opened, errors }, { opened: 6, errors: 6 });
  });
}
