import assert from "node:assert/strict";
import { DIFFERENCES_PAGE, differencesPage } from "./differences_page.ts";

Deno.test(`${DIFFERENCES_PAGE} has the results of the comparison with nginx`, () => {
  const written = Deno.readTextFileSync(new URL(`../${DIFFERENCES_PAGE}`, import.meta.url));
  assert.equal(written, differencesPage(), "run deno task docs:update");
});
