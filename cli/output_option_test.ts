import assert from "node:assert/strict";
import { shortFlagOf, withLongNames } from "./output_option.ts";

for (
  const [written, expected] of [
    [["-o", "json"], ["--output", "json"]],
    [["-o=json"], ["--output=json"]],
    [["-ojson"], ["--output=json"]],
    [["-n", "web", "-A", "-w"], ["--namespace", "web", "--all-namespaces", "--watch"]],
    [["-H", "X-Beta: yes"], ["--header", "X-Beta: yes"]],
    [["-f=a/b"], ["--file=a/b"]],
    [["-h", "-x", "--output", "-"], ["-h", "-x", "--output", "-"]],
    [["-wide"], ["-wide"]],
    [["-o", "json", "--", "-o", "-A"], ["--output", "json", "--", "-o", "-A"]],
  ] as const
) {
  Deno.test(`short flags: ${written.join(" ")} is ${expected.join(" ")}`, () => {
    assert.deepEqual(withLongNames(written), expected);
  });
}

Deno.test("a flag that has a short one is found by its long name", () => {
  assert.equal(shortFlagOf("output"), "o");
  assert.equal(shortFlagOf("port-offset"), null);
});
