import assert from "node:assert/strict";
import { lintOutputs } from "./lint_case.ts";

for (const [file, text] of lintOutputs()) {
  const name = file.pathname.split("/").at(-1);
  Deno.test(`lint of the sample folder is as in ${name}`, () => {
    assert.equal(text, Deno.readTextFileSync(file), "deno task golden:update writes it again");
  });
}
