import assert from "node:assert/strict";
import { BROKEN_INPUTS, planOfInput, problemOutputs, problemText } from "./problem_case.ts";

for (const [file, text] of problemOutputs()) {
  const name = file.pathname.split("/").at(-1);
  Deno.test(`problems of broken inputs are as in ${name}`, () => {
    assert.equal(text, Deno.readTextFileSync(file), "deno task golden:update writes it again");
  });
}

const ALL = Object.values(BROKEN_INPUTS).flat();

Deno.test("there are more than a hundred broken inputs, each reported with a code, a place and a remedy", () => {
  assert.ok(ALL.length >= 100, String(ALL.length));
  for (const input of ALL) {
    const { problems } = planOfInput(input);
    assert.notEqual(problems.length, 0, input.name);
    const needsSomething = problems.some(({ problem }) => problem.severity !== "info");
    assert.equal(needsSomething, input.needsNothing !== true, input.name);
    for (const { problem: { reason, message, remedy, severity }, at } of problems) {
      assert.match(reason, /^[A-Z]\w+$/);
      assert.notEqual(message, "");
      assert.match(remedy, /\S/);
      assert.ok(severity !== "error" || reason === "MappingUnused" || at !== null, input.name);
    }
  }
});

Deno.test("no report has a value of a Secret, of values of a chart, or of a credential", () => {
  for (const input of ALL) {
    assert.doesNotMatch(problemText(input), /hunter2|271828|BEGIN|[A-Za-z0-9+/]{60}/, input.name);
  }
});
