import assert from "node:assert/strict";
import { explainOutputs } from "./explain_case.ts";

for (const [file, text] of explainOutputs()) {
  const name = file.pathname.split("/").slice(-2).join("/");
  Deno.test(`explanations of the sample folder are as in ${name}`, () => {
    assert.equal(text, Deno.readTextFileSync(file), "deno task golden:update writes it again");
  });
}
