/**
 * Writes the golden files of lint, explain and diff, of `translate` and of Gateway API anew: a `NAME.out.yaml` for each
 * `NAME.in.yaml` of `translate/` and `gateway/`, and none besides. Read the difference before you commit it: it is the change of behaviour.
 */
import {
  caseNames,
  formatTranslation,
  outputFile,
  outputNames,
  readCase,
  runCase,
} from "./translate_case.ts";
import {
  formatGatewayCase,
  gatewayCaseNames,
  gatewayOutputFile,
  gatewayOutputNames,
  readGatewayCase,
  runGatewayCase,
} from "./gateway_case.ts";
import { diffOutputs, explainOutputs } from "./explain_case.ts";
import { lintOutputs } from "./lint_case.ts";
import { taskOptions } from "../../tools/task_options.ts";

taskOptions(
  {
    name: "deno task golden:update",
    summary: "Updates the golden files of the translation and of lint, in tests/golden.",
  },
  {},
  Deno.args,
);

const cases = [
  ...caseNames().map((name) => {
    const input = readCase(name);
    return [outputFile(name), formatTranslation(runCase(input), input.showsClaims)] as const;
  }),
  ...gatewayCaseNames().map((name) =>
    [gatewayOutputFile(name), formatGatewayCase(runGatewayCase(readGatewayCase(name)))] as const
  ),
];
let changed = 0;
for (const [file, text] of [...cases, ...lintOutputs(), ...explainOutputs(), ...diffOutputs()]) {
  if (textOf(file) === text) continue;
  Deno.writeTextFileSync(file, text);
  console.log(`written: ${fileName(file)}`);
  changed++;
}
const files = new Set(cases.map(([{ href }]) => href));
const outputs = [
  ...outputNames().map(outputFile),
  ...gatewayOutputNames().map(gatewayOutputFile),
];
for (const file of outputs.filter(({ href }) => !files.has(href))) {
  Deno.removeSync(file);
  console.log(`removed: ${fileName(file)}`);
  changed++;
}
console.log(`${cases.length} cases, ${changed} files changed`);

function fileName({ pathname }: URL): string | undefined {
  return pathname.split("/").at(-1);
}

function textOf(file: URL): string | null {
  try {
    return Deno.readTextFileSync(file);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return null;
    throw error;
  }
}
