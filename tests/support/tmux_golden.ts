/**
 * Screens that are kept in `tests/golden/terminal`. In: a name and what a terminal shows. Out: whether it is what it
 * was; with PINGRESS_UPDATE_SCREENS=1 in the environment, the file is written anew: read the difference.
 */
import assert from "node:assert/strict";
import { join } from "node:path";

const FOLDER = join(import.meta.dirname!, "..", "golden", "terminal");

/** @param screen Without what differs from run to run, such as ports: with something as long in its place. */
export function assertScreen(name: string, screen: string): void {
  const shown = `${screen}\n`;
  const file = join(FOLDER, `${name}.screen`);
  if (Deno.env.get("PINGRESS_UPDATE_SCREENS") === "1") return Deno.writeTextFileSync(file, shown);
  assert.equal(shown, Deno.readTextFileSync(file), name);
}
