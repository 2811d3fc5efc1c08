import assert from "node:assert/strict";
import { anchorOf, CODES } from "../cli/codes/catalogue.ts";
import { CODES_PAGE, codesPage } from "./codes_page.ts";
import { anchorsOf } from "./markdown.ts";

Deno.test("docs/codes.md has the codes of the programs", () => {
  const page = Deno.readTextFileSync(new URL(`../${CODES_PAGE}`, import.meta.url));
  assert.equal(page, codesPage(), "run deno task docs:update");
});

Deno.test("every code has a heading that can be linked to", () => {
  const anchors = anchorsOf(codesPage());
  for (const code of CODES) assert.ok(anchors.has(anchorOf(code)), code.code);
  assert.equal(new Set(CODES.map(anchorOf)).size, CODES.length);
});
