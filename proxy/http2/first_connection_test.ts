/** The first connection after a time without any: until then no sweep has kept the clock up to date. */
import assert from "node:assert/strict";
import { QuietTransport } from "../../tests/fuzz/quiet_transport.ts";
import { until } from "../../tests/support/backend.ts";
import { get, headers, settings } from "../../tests/support/h2_frames.ts";
import { answers, MemoryClient } from "../../tests/support/h2_memory_client.ts";
import { ProxyError } from "../errors.ts";
import { NO_BODY } from "../http/body.ts";
import { DEFAULT_LIMITS } from "../http/limits.ts";
import { createBuffers } from "../io/buffer_pool.ts";
import { Deadlines } from "../io/deadlines.ts";
import { Http2ClientConnection } from "./client_connection.ts";

/** Of a proxy that has had no connection for an hour. */
function idleForAnHour(): Deadlines {
  const { now } = performance;
  performance.now = () => now.call(performance) - 3_600_000;
  try {
    return new Deadlines();
  } finally {
    performance.now = now;
  }
}

async function swept(deadlines: Deadlines, times: number): Promise<void> {
  const entry = { deadlinePlace: -1, count: 0, check: () => void entry.count++ };
  deadlines.add(entry);
  await until("sweeps", () => entry.count >= times);
  deadlines.delete(entry);
}

for (
  const [says, greetsFirst] of [
    ["its idle timeout", true],
    ["the time for its SETTINGS", false],
  ] as const
) {
  Deno.test(`the first client after an hour without any has all of ${says}`, async () => {
    const deadlines = idleForAnHour();
    using client = new MemoryClient(answers(() => NO_BODY), {}, deadlines);
    if (greetsFirst) await client.greet();
    await swept(deadlines, 3);
    if (!greetsFirst) await client.greet();
    await client.send(headers(1, get("/"), { end: true }));
    assert.deepEqual(client.ended.map(({ status }) => status), [200]);
  });
}

Deno.test("the first connection to a backend after an hour without any is new", () => {
  const connection = new Http2ClientConnection(new QuietTransport(settings(), [], null), false, {
    limits: DEFAULT_LIMITS,
    buffers: createBuffers(),
    deadlines: idleForAnHour(),
  });
  const age = performance.now() - connection.openedAt;
  connection.close(new ProxyError("upstream_closed"));
  assert.ok(age < 60_000, `${age} ms old`);
});
