/** docs/pingress.md has every command, and the fields of its JSON. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { COMMANDS } from "../cli/commands.ts";
import { main } from "../cli/main.ts";
import { capturedTerminal } from "../tests/support/captured_terminal.ts";

const PAGE = Deno.readTextFileSync(join(import.meta.dirname!, "../docs/pingress.md"));

/** First cells of the table below a heading, without its header. */
function cellsOf(heading: string): string[] {
  const section = PAGE.split(/^#+ /m).find((text) => text.startsWith(`${heading}\n`)) ?? "";
  return Array.from(section.matchAll(/^\| `(\w+)` .*$/gm), ([, cell]) => cell);
}

Deno.test("docs/pingress.md lists every command", () => {
  assert.deepEqual(cellsOf("The command pingress").sort(), COMMANDS.map(({ name }) => name).sort());
});

Deno.test("docs/pingress.md names every field of JSON that needs no input", async () => {
  for (const command of ["version", "codes", "completion"]) {
    const row = PAGE.split("\n").filter((line) => line.startsWith(`| \`${command}\` `)).at(-1)!;
    const { terminal, stdout } = capturedTerminal();
    assert.equal(await main([command, "-o", "json"], terminal), 0);
    const { v, ...value } = JSON.parse(stdout());
    assert.equal(v, 1);
    for (const field of fieldsOf(value)) {
      assert.ok(row.includes(`\`${field}\``), `${command}: ${field}`);
    }
  }
});

/** Names of fields, those of the entries of lists included. */
function fieldsOf(value: unknown): Set<string> {
  if (Array.isArray(value)) return new Set(value.flatMap((each) => [...fieldsOf(each)]));
  if (typeof value !== "object" || value === null) return new Set();
  return new Set(Object.entries(value).flatMap(([name, each]) => [name, ...fieldsOf(each)]));
}
