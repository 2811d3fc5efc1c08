import assert from "node:assert/strict";
import { readAbReport } from "./ab.ts";

/** What ab prints, but for what nobody reads. */
function output(complete: number, length: number, html: number, more = ""): string {
  return `Document Path:          /small
Document Length:        ${length} bytes

Concurrency Level:      16
Time taken for tests:   2.000 seconds
Complete requests:      ${complete}
Failed requests:        0
${more}Total transferred:      242572 bytes
HTML transferred:       ${html} bytes
Requests per second:    1636.70 [#/sec] (mean)
`;
}

const PERCENTILES = "Percentage served,Time in ms\n0,1.5\n50,4.853\n99,12.5\n100,41.2\n";

Deno.test("completed handshakes count, in total and per second", () => {
  // Answers that come after the end bring more bytes than are counted.
  assert.deepEqual(readAbReport(output(1000, 6, 6012), PERCENTILES), {
    count: 1000,
    perSecond: 500,
    p50: 4.853,
    p99: 12.5,
    p999: null,
    errors: 0,
  });
});

Deno.test("failed handshakes are errors, although ab counts them as complete", () => {
  assert.equal(readAbReport(output(1000, 0, 0), PERCENTILES).errors, 1000);
  assert.equal(readAbReport(output(1000, 6, 3000), PERCENTILES).errors, 500);
});

Deno.test("statuses other than 2xx are errors", () => {
  const refused = output(1000, 6, 6000, "Non-2xx responses:      7\n");
  assert.equal(readAbReport(refused, PERCENTILES).errors, 7);
});

Deno.test("a report without numbers gives no result", () => {
  assert.throws(() => readAbReport("apr_socket_recv: Connection refused (111)", ""), /refused/);
});
