import { deepEqual, equal } from "node:assert/strict";
import { groupFiles, ungroup } from "./test_groups.ts";

Deno.test("at most sixteen files share a group, each is in one, and they stay in their order", () => {
  const files = Array.from({ length: 33 }, (_, i) => `proxy/a/${i}_test.ts`);
  deepEqual(groupFiles(files), [files.slice(0, 16), files.slice(16, 32), [files[32]]]);
  deepEqual(groupFiles([]), []);
});

for (
  const [what, line, shown] of [
    [
      "a verdict",
      "../tmp/x/3.group.ts => proxy/a_test.ts: a name: with a colon ... ok (1ms)",
      "./proxy/a_test.ts => a name: with a colon ... ok (1ms)",
    ],
    [
      "a step",
      "../tmp/x/3.group.ts => proxy/a_test.ts: a test ... a step ... FAILED (1ms)",
      "./proxy/a_test.ts => a test ... a step ... FAILED (1ms)",
    ],
    [
      "a verdict in colours",
      "\x1b[0m\x1b[38;5;245m../tmp/x/3.group.ts => \x1b[0mproxy/a_test.ts: a test ... \x1b[0m\x1b[32mok\x1b[0m",
      "\x1b[0m\x1b[38;5;245m./proxy/a_test.ts => \x1b[0ma test ... \x1b[0m\x1b[32mok\x1b[0m",
    ],
    [
      "a step in colours",
      "\x1b[0m\x1b[38;5;245m../tmp/x/3.group.ts =>\x1b[0m proxy/a_test.ts: a test ... a step ... ok",
      "\x1b[0m\x1b[38;5;245m./proxy/a_test.ts =>\x1b[0m a test ... a step ... ok",
    ],
    [
      "a failure, whose place is in the trace",
      "proxy/a_test.ts: a test \x1b[0m\x1b[38;5;245m=> ../tmp/x/3.group.ts:5:7\x1b[0m",
      "a test \x1b[0m\x1b[38;5;245m=> ./proxy/a_test.ts\x1b[0m",
    ],
    [
      "a failure of a step",
      "proxy/a_test.ts: a test ... a step => ./proxy/a_test.ts:5:7",
      "a test ... a step => ./proxy/a_test.ts:5:7",
    ],
    [
      "what a test printed",
      "see proxy/a_test.ts: it says => ok",
      "see proxy/a_test.ts: it says => ok",
    ],
  ]
) {
  Deno.test(`the output names files, not groups: ${what}`, () => equal(ungroup(line), shown));
}
