import assert from "node:assert/strict";
import { type AskedEndpoint, RequestTrace } from "../../http/message.ts";
import { turnNow } from "../../io/turn_clock.ts";
import { LineBatch } from "../lines/line_batch.ts";
import { type EndedRequest, SpanLine } from "./span_line.ts";

const ENDPOINT: AskedEndpoint = { address: "10.0.0.7", port: 8080, protocol: "http" };

/** One that got its whole time from one attempt. */
function ended(times: Pick<EndedRequest, "endedAt" | "endedTurn" | "duration">): EndedRequest {
  const trace = new RequestTrace();
  trace.attempts.push({
    ...{ id: "1", endpoint: ENDPOINT, status: 200, error: null, resends: 0 },
    ...{ startedAt: times.endedTurn - times.duration, endedAt: times.endedTurn },
  });
  return {
    ...times,
    ...{ trace, traceId: "0", isSampled: true, method: "GET", status: 200, error: null },
    ...{ path: "/", query: "", sentPath: "/", sentQuery: "", host: "a", authority: "a" },
    ...{ isSecure: false, clientAddress: "192.0.2.7", peerAddress: "192.0.2.7", peerPort: 40_000 },
    ...{ version: 11, userAgent: "", requestId: "", route: "", upstream: "" },
  };
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
    const duration = turn - (turn - i * 0.731357);
    const request = ended({ endedAt: now, endedTurn: turn, duration });
    const times = timesOf((line) => line.request(request));
    assert.equal(times.length, 4);
    assert.deepEqual(times.slice(0, 2), times.slice(2), `${duration} ms`);
    assert.equal(times[1], BigInt(now) * 1_000_000n);
  }
});
