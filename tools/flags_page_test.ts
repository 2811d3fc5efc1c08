import assert from "node:assert/strict";
import { COMMANDS } from "../cli/commands.ts";
import { PROXY_OPTIONS } from "../proxy/cli/options.ts";
import { flagName, type OptionSpecs } from "../shared/options.ts";
import { FLAGS_PAGE, flagsPage } from "./flags_page.ts";

const PAGE = await flagsPage();

Deno.test("docs/flags.md has the flags of the programs", () => {
  const page = Deno.readTextFileSync(new URL(`../${FLAGS_PAGE}`, import.meta.url));
  assert.equal(page, PAGE, "run deno task docs:update");
});

Deno.test("every flag has one row with as many cells as the header", async () => {
  for (const row of rowsOf(PAGE)) assert.equal(row.match(/(?<!\\)\|/g)?.length, 4, row);
  assertRows("deno task proxy", PROXY_OPTIONS);
  for (const { load } of COMMANDS) {
    const { program, specs } = await load();
    assertRows(program.name, specs);
  }
});

function assertRows(program: string, specs: OptionSpecs): void {
  const section = PAGE.split(/^## /m).find((text) => text.startsWith(`\`${program}\`\n`));
  assert.ok(section !== undefined, program);
  const rows = rowsOf(section);
  for (const key of Object.keys(specs)) {
    const own = rows.filter((row) => new RegExp(`^\\| \`--${flagName(key)}[ \`[]`).test(row));
    assert.equal(own.length, 1, `${program} --${flagName(key)}`);
  }
}

function rowsOf(page: string): string[] {
  return page.split("\n").filter((line) => line.startsWith("| `--"));
}
