import assert from "node:assert/strict";
import { type LogFields, silentLogger } from "../../shared/log.ts";
import { HandshakeFailures } from "./handshake_failures.ts";

/** The lines at level info, and a promise for the next one. */
function startLog() {
  const lines: LogFields[] = [];
  let next = Promise.withResolvers<void>();
  const info = (message: string, fields: LogFields = {}) => {
    lines.push({ message, ...fields });
    next.resolve();
    next = Promise.withResolvers();
  };
  return { lines, log: { ...silentLogger, info }, next: () => next.promise };
}

const line = (count: number, last: string) => ({
  message: "TLS handshakes failed",
  count,
  last,
  client: "192.0.2.1",
});

Deno.test("the first failed handshake is logged at once, a flood of them in one line", async () => {
  const { log, lines, next } = startLog();
  const failures = new HandshakeFailures(log, 20);
  failures.add("192.0.2.1", "first");
  assert.deepEqual(lines, [line(1, "first")]);
  for (let i = 1; i <= 1000; i++) failures.add("192.0.2.1", `${i}`);
  assert.equal(lines.length, 1);
  await next();
  assert.deepEqual(lines.slice(1), [line(1000, "1000")]);
  failures.close();
});

Deno.test("pending handshake failures are logged at the shutdown", () => {
  const { log, lines } = startLog();
  const failures = new HandshakeFailures(log);
  failures.add("192.0.2.1", "first");
  failures.add("192.0.2.1", "second");
  failures.close();
  assert.deepEqual(lines, [line(1, "first"), line(1, "second")]);
  failures.close();
  assert.equal(lines.length, 2);
});
