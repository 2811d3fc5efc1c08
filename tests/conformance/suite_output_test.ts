import assert from "node:assert/strict";
import { SuiteOutput } from "./suite_output.ts";

Deno.test("a case ends with the last lines of its own output", () => {
  const output = new SuiteOutput(2);
  const lines = [
    "=== RUN   TestConformance",
    "set-up",
    'case ended: {"case":"First","result":"passed","seconds":1.5}',
    "=== RUN   TestConformance/Second",
    "one",
    "",
    "two",
    "three",
    'case ended: {"case":"Second","result":"failed","seconds":30}',
    "--- FAIL: TestConformance",
  ];
  assert.deepEqual(lines.flatMap((line) => output.add(line) ?? []), [
    { case: "First", result: "passed", seconds: 1.5, lastLines: ["set-up"] },
    { case: "Second", result: "failed", seconds: 30, lastLines: ["two", "three"] },
  ]);
  assert.deepEqual(output.lastLines, ["--- FAIL: TestConformance"]);
});
