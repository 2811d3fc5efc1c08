import assert from "node:assert/strict";
import { diffOutputs, explainOutputs } from "./explain_case.ts";

for (const [file, text] of [...explainOutputs(), ...diffOutputs()]) {
  const name = file.pathname.split("/").slice(-2).join("/");
  Deno.test(`explanations and comparisons of the sample folders are as in ${name}`, () => {
    assert.equal(text, Deno.readTextFileSync(file), "deno task golden:update writes it again");
  });
}
