/** What a backend of HTTP/2 answers while nobody takes it yet. */
import assert from "node:assert/strict";
import { QuietTransport } from "../../tests/fuzz/quiet_transport.ts";
import { type Field, headers, join, repeat, settings } from "../../tests/support/h2_frames.ts";
import { createBuffers } from "../io/buffer_pool.ts";
import { Deadlines } from "../io/deadlines.ts";
import { ProxyError } from "../errors.ts";
import { fieldsOf } from "../http/fields.ts";
import { DEFAULT_LIMITS } from "../http/limits.ts";
import { NO_BODY } from "../http/body.ts";
import { RequestHead } from "../http/message.ts";
import { Http2ClientConnection } from "./client_connection.ts";

/** The statuses that a reader gets who comes once all of this has arrived. */
async function statusesOf(...heads: readonly Uint8Array[]): Promise<number[]> {
  const transport = new QuietTransport(join(settings(), ...heads), [], null);
  const context = { limits: DEFAULT_LIMITS, buffers: createBuffers(), deadlines: new Deadlines() };
  const connection = new Http2ClientConnection(transport, false, context);
  try {
    const stream = connection.open();
    const request = new RequestHead(fieldsOf([]));
    request.method = "GET";
    request.path = "/";
    stream.send(request, null, "a.test", null, NO_BODY, DEFAULT_LIMITS);
    while (!stream.isClosed) await new Promise((resume) => setTimeout(resume, 0));
    const statuses: number[] = [];
    while (!(statuses.at(-1)! >= 200)) statuses.push((await stream.receive()).status);
    return statuses;
  } finally {
    connection.close(new ProxyError("upstream_closed"));
  }
}

const interim = (status: number) => headers(1, [[":status", String(status)]]);
const HINT: Field = ["link", "</a.css>; rel=preload"];
const hints = (count: number) => repeat(count, () => headers(1, [[":status", "103"], HINT]));
const FINAL = headers(1, [[":status", "200"]], { end: true });

for (
  const [name, heads, expected] of [
    ["as many as may wait", [hints(8)], Array(8).fill(103)],
    ["more than may wait", [hints(64)], Array(8).fill(103)],
    ["what a client waits for behind them", [hints(9), interim(100)], [...Array(8).fill(103), 100]],
    ["that again and again", [hints(9), repeat(50, () => interim(100))], [
      ...Array(8).fill(103),
      100,
    ]],
    ["that first", [interim(100), hints(60)], [100, ...Array(7).fill(103)]],
  ] as const
) {
  Deno.test(`unread interim heads are buffered within a bound: ${name}`, async () => {
    assert.deepEqual(await statusesOf(...heads, FINAL), [...expected, 200]);
  });
}
