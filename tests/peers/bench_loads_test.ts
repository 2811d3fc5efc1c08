/** The benchmark's loads of many connections, and their backend: what they count, and what they reject. */
import assert from "node:assert/strict";
import { Child, freePort } from "../../bench/child.ts";
import { goProgramOf } from "../../bench/go_programs.ts";
import type { ConnectionsReport } from "../../bench/loads/metered.ts";
import { SpokenProgram } from "../../bench/spoken.ts";
import { TlsProxy } from "../support/tls_proxy.ts";
import { certificate, snapshotFor } from "./front.ts";
import { findPrograms } from "./go_program.ts";
import { withAuthority } from "./origin.ts";

/** Runs `use` with the port of the backend and the path of a load; says where Go is missing. */
async function withBackend(
  load: "event_load" | "websocket_load",
  use: (port: number, load: string) => Promise<void>,
): Promise<void> {
  const programs = await findPrograms("loads of the benchmark", [
    goProgramOf("backend"),
    goProgramOf(load),
  ]);
  if (programs === null) return;
  const address = { hostname: "127.0.0.1", port: freePort() };
  const backend = Child.start([programs[0], String(address.port)]);
  await backend.listening(address);
  try {
    await use(address.port, programs[1]);
  } finally {
    await backend.stop();
  }
}

async function report(command: readonly (string | number)[]): Promise<ConnectionsReport> {
  const load = new SpokenProgram(command.map(String));
  try {
    assert.equal(await load.line(), "open");
    return JSON.parse(await load.line());
  } finally {
    await load.hush();
    await load.gone();
  }
}

function assertCounted({ p50, p90, p99, p999, max, ...counts }: ConnectionsReport): void {
  assert.equal(counts.errors, 0);
  assert.ok(counts.fewest >= 1 && counts.fewest <= counts.most && counts.most <= counts.count);
  const latencies = [p50, p90, p99, p999, max];
  assert.ok(p50 > 0);
  assert.deepEqual(latencies, latencies.toSorted((a, b) => a - b));
}

Deno.test("each WebSocket of the load gets its echoes", async () => {
  await withBackend("websocket_load", async (port, load) => {
    assertCounted(await report([load, port, 20, 1]));
  });
});

Deno.test("a WebSocket that is refused is an error of the load", async () => {
  await withBackend("websocket_load", async (_, load) => {
    await using server = Deno.serve(
      { hostname: "127.0.0.1", port: 0, onListen: () => {} },
      () => new Response("no"),
    );
    const { errors, count } = await report([load, server.addr.port, 3, 1]);
    assert.deepEqual([errors, count], [3, 0]);
  });
});

Deno.test("events of HTTP/1.1 count once all streams are open", async () => {
  await withBackend("event_load", async (port, load) => {
    for (const path of ["events", "burst"]) {
      assertCounted(await report([load, `http://127.0.0.1:${port}/${path}`, "", 1, 4, 1, 2]));
    }
  });
});

Deno.test("events of HTTP/2 come on the connections that are asked for", async () => {
  await withBackend("event_load", async (port, load) => {
    using proxy = await TlsProxy.start({ certificates: [certificate] });
    proxy.server.apply(snapshotFor({ protocol: "http", ports: [port] }), [certificate]);
    await withAuthority(async (authority) => {
      const url = `https://127.0.0.1:${proxy.port}/events`;
      assertCounted(await report([load, url, authority, 2, 2, 10, 2]));
    });
  });
});

Deno.test("a rejected stream ends the load before anything counts", async () => {
  await withBackend("event_load", async (port, load) => {
    const url = `http://127.0.0.1:${port}/echo`;
    await assert.rejects(report([load, url, "", 1, 4, 1, 2]), /ended before its first event/);
  });
});
