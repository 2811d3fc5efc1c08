/**
 * Writes the golden files of lint and of `translate` anew: a `NAME.out.yaml` for each `translate/NAME.in.yaml`,
 * and none besides. Read the difference before you commit it: it is the change of behaviour.
 */
import {
  caseNames,
  formatTranslation,
  outputFile,
  outputNames,
  readCase,
  runCase,
} from "./translate_case.ts";
import { lintOutputs } from "./lint_case.ts";

const names = caseNames();
let changed = 0;
for (const name of names) {
  const input = readCase(name);
  const text = formatTranslation(runCase(input), input.showsClaims);
  if (textOf(outputFile(name)) === text) continue;
  Deno.writeTextFileSync(outputFile(name), text);
  console.log(`written: ${name}.out.yaml`);
  changed++;
}
for (const name of outputNames().filter((name) => !names.includes(name))) {
  Deno.removeSync(outputFile(name));
  console.log(`removed: ${name}.out.yaml`);
  changed++;
}
for (const [file, text] of lintOutputs()) {
  if (textOf(file) === text) continue;
  Deno.writeTextFileSync(file, text);
  console.log(`written: ${file.pathname.split("/").at(-1)}`);
  changed++;
}
console.log(`${names.length} cases, ${changed} files changed`);

function textOf(file: URL): string | null {
  try {
    return Deno.readTextFileSync(file);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return null;
    throw error;
  }
}
