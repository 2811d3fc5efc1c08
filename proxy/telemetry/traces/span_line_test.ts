import assert from "node:assert/strict";
import { fieldsOf } from "../../http/fields.ts";
import { type Exchange, ExchangeRecord, RequestHead, RequestTrace } from "../../http/message.ts";
import { turnNow } from "../../io/turn_clock.ts";
import { LineBatch } from "../lines/line_batch.ts";
import { SpanLine } from "./span_line.ts";

const ENDPOINT = { address: "10.0.0.7", port: 8080, protocol: "http" };

/** As far as a span shows it. */
function exchangeOf(duration: number): Exchange {
  const record = new ExchangeRecord();
  record.begin();
  Object.assign(record, { method: "GET", status: 200, duration });
  const request = new RequestHead(fieldsOf([]));
  Object.assign(request, { method: "GET", host: "a", authority: "a", path: "/" });
  const client = { address: "192.0.2.7", port: 40_000, localPort: 80, secure: false };
  return { record, request, client, added: null } as unknown as Exchange;
}

/** Start and end of each span, in ns. */
function timesOf(write: (line: SpanLine) => void): readonly bigint[] {
  let text = "";
  const batch = new LineBatch({
    ...{ interval: 1000, size: 64 * 1024 },
    send: (bytes) => text += new TextDecoder().decode(bytes),
  });
  write(new SpanLine(batch.out, false));
  batch.added(1);
  batch.flush();
  return Array.from(text.matchAll(/TimeUnixNano":"(\d+)"/g), ([, digits]) => BigInt(digits));
}

Deno.test("an attempt that begins and ends with its request has the same times", () => {
  const now = 1_795_838_681_859;
  for (let i = 0; i < 5_000; i++) {
    const turn = turnNow();
    const startedAt = turn - i * 0.731357;
    const duration = turn - startedAt;
    const exchange = exchangeOf(duration);
    const times = timesOf((line) => {
      const trace = new RequestTrace();
      line.request(exchange, trace, "0", now);
      const attempt = {
        ...{ id: "1", endpoint: ENDPOINT, status: 200, error: null, resends: 0 },
        ...{ startedAt, endedAt: turn },
      };
      line.attempt(exchange, trace, attempt as never, "0", now);
    });
    assert.equal(times.length, 4);
    assert.deepEqual(times.slice(0, 2), times.slice(2), `${duration} ms`);
    assert.equal(times[1], BigInt(now) * 1_000_000n);
  }
});
