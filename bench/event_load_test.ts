import assert from "node:assert/strict";
import { Child, freePort } from "./child.ts";
import { type EventReport } from "./event_load.ts";
import { SpokenProgram } from "./spoken.ts";

const LOAD = new URL("event_load.ts", import.meta.url).pathname;

async function listenTo(program: string, path: string): Promise<EventReport> {
  const address = { hostname: "127.0.0.1", port: freePort() };
  const script = new URL(program, import.meta.url).pathname;
  const server = Child.start([Deno.execPath(), "run", "-A", script, String(address.port)]);
  await server.listening(address);
  const url = `http://127.0.0.1:${address.port}${path}`;
  const load = new SpokenProgram([
    ...[Deno.execPath(), "run", "-A", "-q", LOAD, url, "", "1", "4", "1", "2"],
  ]);
  try {
    assert.equal(await load.line(), "open");
    return JSON.parse(await load.line());
  } finally {
    await load.hush();
    await load.gone();
    await server.stop();
  }
}

Deno.test("events of HTTP/1.1 count once all streams are open", async () => {
  const { events, errors } = await listenTo("event_server.ts", "/events");
  assert.equal(errors, 0);
  assert.ok(events >= 4, `${events} events on four streams in two seconds`);
});

Deno.test("a rejected stream ends the load before anything counts", async () => {
  await assert.rejects(listenTo("echo_server.ts", "/echo"), /ended before its first event/);
});
