/**
 * A worker that runs endless work with a limit. In: its start. Out: a message with what came of each.
 */
/// <reference lib="deno.worker" />
import { withinTime } from "../../proxy/io/time_limit.ts";

const thrown = (() => {
  try {
    return withinTime(() => {
      throw new RangeError("its own");
    });
  } catch (error) {
    return String(error);
  }
})();

self.postMessage({
  loop: withinTime(() => {
    for (;;);
  }),
  expression: withinTime(() => /^(a+)+$/.test("a".repeat(64) + "b")),
  value: withinTime(() => ["done"]),
  thrown,
});
