/** A proxy dials its own HTTPS ports to see whether they answer: nobody else notices. */
import assert from "node:assert/strict";
import { SelfProbes } from "../../proxy/listen/self_probes.ts";
import { TelemetryHub } from "../../proxy/telemetry/hub.ts";
import { Telemetry } from "../../proxy/telemetry/telemetry.ts";
import { LineOutput } from "../../shared/log.ts";
import { Backend, until } from "../support/backend.ts";
import { parseExposition } from "../support/exposition_parser.ts";
import { DeafPorts } from "../support/deaf_ports.ts";
import { textOf } from "../support/observed_proxy.ts";
import { certificateFor, TlsProxy } from "../support/tls_proxy.ts";

const CERTIFICATES = [await certificateFor("a", { names: ["a.test"] })];
const GET = "GET / HTTP/1.1\r\nHost: a.test";

/** Knows how many have been made. */
class CountedCalls extends SelfProbes {
  ended = 0;

  override end(call: number): void {
    this.ended++;
    super.end(call);
  }
}

Deno.test("the proxy's own probes close no idle connection of a client", async () => {
  await using backend = new Backend();
  const ownCalls = new CountedCalls();
  using proxy = await TlsProxy.start({
    certificates: CERTIFICATES,
    endpoints: [backend.port],
    limits: { connections: 10 },
    ownCalls,
  });
  const clients = await Promise.all(Array.from({ length: 8 }, () => proxy.connect()));
  for (const client of clients) assert.match(await client.ask(GET), /^HTTP\/1\.1 200 /);
  // What has been idle for less than a second stays in any case.
  await until("calls were made", () => ownCalls.ended >= 5);
  assert.equal(proxy.server.connectionCount, 8);
  for (const client of clients) {
    assert.match(await client.ask(GET), /^HTTP\/1\.1 200 /);
    client.close();
  }
});

Deno.test("the proxy's own probes do not count as shed connections", async () => {
  const ownCalls = new CountedCalls();
  const output = new LineOutput({ write: (bytes) => Promise.resolve(bytes.length) });
  const hub = new TelemetryHub({ accessLog: null, output });
  const worker = hub.attach((message) => telemetry.receive(message));
  const telemetry = new Telemetry(worker.setup, (message) => worker.receive(message));
  using _proxy = await TlsProxy.start({
    certificates: CERTIFICATES,
    // Without room for anybody, nor memory.
    limits: { connections: 0, memoryBytes: 1_000 },
    memoryInUse: () => 960,
    ownCalls,
    telemetry,
  });
  await until("calls were made", () => ownCalls.ended >= 2);
  const series = parseExposition(await textOf(hub));
  telemetry.close();
  const shed = [...series].filter(([name]) => name.startsWith("pingress_connections_shed_total"));
  assert.ok(shed.length > 0);
  assert.deepEqual(shed.filter(([, value]) => value !== 0), []);
});

Deno.test("a port that has stopped accepting is an obstacle to readiness until it is reopened", async () => {
  await using backend = new Backend();
  using ports = new DeafPorts();
  const told: [string, string | null][] = [];
  using proxy = await TlsProxy.start({
    certificates: CERTIFICATES,
    endpoints: [backend.port],
    onObstacle: (name, reason) => told.push([name, reason]),
  });
  ports.deafen();
  await until("it is noticed", () => told.length > 0);
  const name = `listener 127.0.0.1:${proxy.port}`;
  assert.deepEqual(told, [[name, "the port does not answer"]]);
  ports.hear();
  await until("it is over", () => told.length > 1);
  assert.deepEqual(told.slice(1), [[name, null]]);
  using client = await proxy.connect();
  assert.match(await client.ask(GET), /^HTTP\/1\.1 200 /);
});
