import assert from "node:assert/strict";
import { REASON_SECTIONS } from "../controller/problems/reasons.ts";
import { STATUS_PAGE, statusPage } from "./status_page.ts";

Deno.test("docs/status.md has the texts of the controller", () => {
  const page = Deno.readTextFileSync(new URL(`../${STATUS_PAGE}`, import.meta.url));
  assert.equal(page, statusPage(), "run deno task docs:update");
});

Deno.test("every reason has one row with as many cells as the header", () => {
  const rows = statusPage().split("\n").filter((line) => /^\| `[A-Z]/.test(line));
  for (const row of rows) assert.equal(row.match(/(?<!\\)\|/g)?.length, 5, row);
  const reasons = REASON_SECTIONS.flatMap(({ reasons }) => reasons.map(({ reason }) => reason));
  assert.deepEqual(rows.map((row) => /`([^`]+)`/.exec(row)![1]), reasons);
});
