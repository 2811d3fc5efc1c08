/**
 * What RFC 9113 and RFC 7541 ask of a server, case by case. In: h2spec. Out: all 147 of its strict
 * cases pass, over TLS and with prior knowledge.
 */
import assert from "node:assert/strict";
import { Backend } from "../support/backend.ts";
import { startFront } from "./front.ts";
import { findPrograms, H2SPEC } from "./go_program.ts";
import { CASES, playPage, resultIn, runH2spec } from "./h2spec.ts";

Deno.test("h2spec's strict cases pass", async (t) => {
  const found = await findPrograms("h2spec's cases", [H2SPEC]);
  if (found === null) return;
  const [program] = found;
  await using backend = new Backend(playPage);
  await using front = await startFront({ protocol: "http", ports: [backend.port] });

  await t.step("147 of 147 over TLS", async () => {
    const { count, failed } = await runH2spec(program, front.securePort, { tls: true });
    assert.deepEqual({ count, failed }, { count: CASES, failed: [] });
  });

  await t.step("147 of 147 with prior knowledge", async () => {
    const { count, failed } = await runH2spec(program, front.port, { tls: false });
    assert.deepEqual({ count, failed }, { count: CASES, failed: [] });
  });
});

Deno.test("h2spec's report names each case that did not pass", () => {
  const report = `<?xml version="1.0" encoding="UTF-8"?>
<testsuites>
  <testsuite name="6.7. PING" package="http2/6.7" id="6.7" tests="2" skipped="0" failures="0" errors="1">
    <testcase package="http2/6.7" classname="Sends a PING frame" time="0.0004"></testcase>
    <testcase package="http2/6.7" classname="Sends a PING frame with ACK" time="0.0005">
      <error>PING Frame (opaque_data:&#34;h2spec&#34;)
Connection closed
Timeout</error>
    </testcase>
  </testsuite>
  <testsuite name="5.1.2. Stream Concurrency" package="http2/5.1.2" id="5.1.2" tests="1" skipped="1" failures="0" errors="0">
    <testcase package="http2/5.1.2" classname="Sends too many" time="0.0015">
      <skipped></skipped>
    </testcase>
  </testsuite>
</testsuites>`;
  assert.deepEqual(resultIn(report), {
    count: 3,
    passed: 1,
    failed: [
      "http2/6.7 PING: Sends a PING frame with ACK: " +
      'not PING Frame (opaque_data:"h2spec"), or Connection closed, but Timeout',
      "http2/5.1.2 Stream Concurrency: Sends too many: skipped",
    ],
  });
});
