/** What commands print as JSON is as docs/schemas says. */
import assert from "node:assert/strict";
import { join } from "node:path";
import type { Static } from "typebox";
import { Compile } from "typebox/compile";
import { DIFF_JSON } from "../cli/diff/diff_schema.ts";
import { EXPLAIN_JSON, EXPLANATION } from "../cli/explain/explanation_schema.ts";
import type { UrlExplanation } from "../dev/explain/url_explanation.ts";
import { jsonSchemas } from "./json_schemas.ts";

const ROOT = join(import.meta.dirname!, "..");

for (const [file, text] of jsonSchemas()) {
  Deno.test(`${file} is as deno task docs:update writes it`, () => {
    assert.equal(Deno.readTextFileSync(join(ROOT, file)), text);
  });
}

/** Either way round, so that no field is left out of one of the two. */
type Same<A, B> = [A] extends [B] ? [B] extends [A] ? true : false : false;

type Mutable<T> = { -readonly [K in keyof T]: Mutable<T[K]> };

Deno.test("explanations have the fields of their schema, and no others", () => {
  const isSame: Same<Mutable<UrlExplanation>, Mutable<Static<typeof EXPLANATION>>> = true;
  assert.ok(isSame);
});

for (const [golden, schema] of [["explain", EXPLAIN_JSON], ["diff", DIFF_JSON]] as const) {
  Deno.test(`the JSON of ${golden} is as its schema says`, () => {
    const text = Deno.readTextFileSync(join(ROOT, `tests/golden/${golden}/json.out`));
    const validator = Compile(schema);
    assert.deepEqual([...validator.Errors(JSON.parse(text))], []);
  });
}
