import assert from "node:assert/strict";
import { join } from "node:path";
import { OutcomeFolder, parseOutcomes } from "./outcomes.ts";

const SUBJECT = { commit: "1234567", suite: "v1.6.3", channel: "standard" };

async function withFolder(test: (path: string) => Promise<void>): Promise<void> {
  const path = await Deno.makeTempDir();
  try {
    await test(join(path, "state"));
  } finally {
    await Deno.remove(path, { recursive: true });
  }
}

Deno.test("a run continues with the outcomes of the one before", () =>
  withFolder(async (path) => {
    const first = await OutcomeFolder.open(path, SUBJECT);
    assert.deepEqual(await first.outcomes(), []);
    await Deno.writeTextFile(first.file, '{"case":"A","result":"passed","seconds":1}\n');
    const second = await OutcomeFolder.open(path, SUBJECT);
    assert.deepEqual(await second.outcomes(), [{ case: "A", result: "passed", seconds: 1 }]);
  }));

Deno.test("failed cases are forgotten on request, others stay", () =>
  withFolder(async (path) => {
    const folder = await OutcomeFolder.open(path, SUBJECT);
    const lines = ["passed", "failed"].map((result) =>
      `${JSON.stringify({ case: result, result, seconds: 1 })}\n`
    );
    await Deno.writeTextFile(folder.file, lines.join(""));
    await folder.forgetFailed();
    assert.equal(await Deno.readTextFile(folder.file), lines[0]);
  }));

Deno.test("outcomes of another commit are refused, with the remedy", () =>
  withFolder(async (path) => {
    await OutcomeFolder.open(path, SUBJECT);
    await assert.rejects(
      OutcomeFolder.open(path, { ...SUBJECT, commit: "7654321" }),
      /has outcomes of .*1234567.*Remove the folder/,
    );
  }));

Deno.test("a line that was cut off is no outcome", () => {
  assert.deepEqual(parseOutcomes('{"case":"A","result":"passed","seconds":1}\n{"case":"B","res'), [
    { case: "A", result: "passed", seconds: 1 },
  ]);
});
