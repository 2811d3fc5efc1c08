import assert from "node:assert/strict";
import { readH2loadReport } from "./h2load.ts";

/** What h2load prints, but for what nobody reads. */
function output(done: number, succeeded: number, failed: number, ok: number): string {
  return `Main benchmark duration is over for thread #0. Stopping all clients.

finished in 2.00s, 500.00 req/s, 672.13KB/s
requests: ${done} total, ${done + 128} started, ${done} done, ${succeeded} succeeded, ${failed} \
failed, ${failed} errored, 0 timeout
status codes: ${ok} 2xx, 0 3xx, 0 4xx, ${succeeded - ok} 5xx
traffic: 1.31MB (1376515) total, 851.56KB (872000) headers (space savings 39.78%)
`;
}

const LOG =
  "1795306782726093\t200\t4000\n1795306782726095\t-1\t9000\n1795306782726099\t200\t2000\n";

Deno.test("responses count, in total and per second, with their latencies", () => {
  assert.deepEqual(readH2loadReport(output(1000, 1000, 0, 1000), LOG, 2), {
    count: 1000,
    perSecond: 500,
    p50: 4,
    p99: 4,
    p999: 4,
    errors: 0,
  });
});

Deno.test("streams that are reset are errors", () => {
  assert.equal(readH2loadReport(output(1000, 900, 100, 900), LOG, 2).errors, 100);
});

Deno.test("statuses other than 2xx are errors", () => {
  assert.equal(readH2loadReport(output(1000, 1000, 0, 993), LOG, 2).errors, 7);
});

Deno.test("a report without numbers gives no result", () => {
  assert.throws(() => readH2loadReport("No protocol negotiated", "", 2), /No protocol/);
});
