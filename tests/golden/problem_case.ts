/**
 * The table of broken inputs. In: `problem_inputs/`. Out: by topic, what `deno task dev` reports of each: place,
 * reason, line, message and remedy, for readers to judge.
 */
import { formatProblems, PLAIN } from "../../cli/terminal/problem_text.ts";
import { parseManifestBytes } from "../../dev/manifests/file_bytes.ts";
import { Manifests } from "../../dev/manifests/manifests.ts";
import type { Plan } from "../../dev/plan.ts";
import { planOf } from "../support/dev_plan.ts";
import { DOCUMENTS } from "./problem_inputs/documents.ts";
import { FIELDS } from "./problem_inputs/fields.ts";
import { GATEWAY_API } from "./problem_inputs/gateway.ts";
import type { BrokenInput } from "./problem_inputs/input.ts";
import { ROUTING } from "./problem_inputs/routing.ts";
import { SYNTAX } from "./problem_inputs/syntax.ts";

export const BROKEN_INPUTS: Readonly<Record<string, readonly BrokenInput[]>> = {
  syntax: SYNTAX,
  documents: DOCUMENTS,
  fields: FIELDS,
  routing: ROUTING,
  gateway: GATEWAY_API,
};

export function planOfInput({ files, options }: BrokenInput): Plan {
  const read = Object.entries(files).map(([file, text]) =>
    parseManifestBytes(file, typeof text === "string" ? new TextEncoder().encode(text) : text)
  );
  return planOf(new Manifests(read), options);
}

/** What is reported of one input. */
export function problemText(input: BrokenInput): string {
  return formatProblems(planOfInput(input).problems, { ...PLAIN, listsInfo: true });
}

/** The expected text of each topic, by its file. */
export function problemOutputs(): readonly (readonly [file: URL, text: string])[] {
  return Object.entries(BROKEN_INPUTS).map(([topic, inputs]) => [
    new URL(`problems/${topic}.out`, import.meta.url),
    inputs.map((input) => `=== ${input.name}\n${problemText(input)}\n`).join("\n"),
  ]);
}
