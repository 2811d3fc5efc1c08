import assert from "node:assert/strict";
import { PROXY_OPTIONS } from "../proxy/cli/options.ts";
import { flagName } from "../shared/options.ts";
import { FLAGS_PAGE, flagsPage } from "./flags_page.ts";

Deno.test("docs/flags.md has the flags of the programs", () => {
  const page = Deno.readTextFileSync(new URL(`../${FLAGS_PAGE}`, import.meta.url));
  assert.equal(page, flagsPage(), "run deno task docs:update");
});

Deno.test("every flag has one row with as many cells as the header", () => {
  const rows = flagsPage().split("\n").filter((line) => line.startsWith("| `--"));
  for (const row of rows) assert.equal(row.match(/(?<!\\)\|/g)?.length, 4, row);
  for (const key of Object.keys(PROXY_OPTIONS)) {
    const own = rows.filter((row) => new RegExp(`^\\| \`--${flagName(key)}[ \`]`).test(row));
    assert.ok(own.length >= 1, key);
  }
});
