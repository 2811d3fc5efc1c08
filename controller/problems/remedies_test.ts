import assert from "node:assert/strict";
import { PROBLEM_REASONS } from "./reasons.ts";
import { REMEDIES } from "./remedies.ts";

Deno.test("every reason of a problem has a remedy, and none has another name", () => {
  assert.deepEqual(
    Object.keys(REMEDIES).sort(),
    PROBLEM_REASONS.map(({ reason }) => reason).sort(),
  );
});

Deno.test("a remedy is one or two whole sentences", () => {
  for (const [reason, remedy] of Object.entries(REMEDIES)) {
    assert.match(remedy, /^[A-Z].*[^.;,]\.$/, reason);
  }
});
