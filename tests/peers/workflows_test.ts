/** The workflows of GitHub Actions, as actionlint reads them. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { runCommand } from "../../tools/command.ts";
import { ACTIONLINT, findPrograms } from "./go_program.ts";

const ROOT = join(import.meta.dirname!, "../..");

Deno.test("actionlint finds nothing in the workflows", async () => {
  const programs = await findPrograms("actionlint", [ACTIONLINT]);
  if (programs === null) return;
  const found = await runCommand(programs[0], ["-no-color"], { cwd: ROOT });
  assert.equal(found.code, 0, found.stdout + found.stderr);
});
