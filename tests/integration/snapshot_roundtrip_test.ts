import assert from "node:assert/strict";
import { parseSnapshot } from "../../shared/snapshot/parse.ts";
import { serialiseSnapshot } from "../../shared/snapshot/serialise.ts";
import { caseNames, readCase, runCase } from "../golden/translate_case.ts";

Deno.test("the proxy reads every translated snapshot, to the same bytes and without a problem", () => {
  const names = caseNames();
  assert.ok(names.length > 0);
  for (const name of names) {
    const { snapshot } = runCase(readCase(name));
    const text = serialiseSnapshot(snapshot, { revealKeys: true });
    const parsed = parseSnapshot(text);
    assert.deepEqual(parsed.problems, [], name);
    assert.ok(parsed.snapshot !== null, name);
    assert.equal(serialiseSnapshot(parsed.snapshot, { revealKeys: true }), text, name);
  }
});
