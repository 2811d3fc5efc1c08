/**
 * The page of all codes. In: the catalogue of `pingress codes`. Out: the text of `docs/codes.md`, with
 * a heading for each, so that a message can link to it.
 */
import { type Code, CODES, codesBySection, isSituation } from "../cli/codes/catalogue.ts";
import { kindText } from "../cli/codes/code_text.ts";

/** Where the page stands, relative to the repository. */
export const CODES_PAGE = "docs/codes.md";

export function codesPage(): string {
  return [
    "# Codes",
    "",
    "Made from the programs themselves by `deno task docs:update`; do not edit.",
    "",
    "`pingress codes CODE` prints one of them at a terminal. Codes of problems are the reasons of",
    "[Events, of `/problems` and of metrics](status.md), and of conditions of",
    "[Gateway API](gateway-status.md). Codes of responses that a proxy sends itself are in the",
    "[access log](access-log.md) and in [metrics](metrics.md#error-codes). With an *error*, something",
    "is not served as written; with a *warning* it is, but needs attention; with an *info* there is",
    "nothing to do.",
    "",
    ...[...codesBySection(CODES)].flatMap(([title, codes]) => [
      `## ${title}`,
      "",
      ...codes.flatMap(codeLines),
    ]),
  ].join("\n");
}

function exampleLines({ example }: Code): string[] {
  if (example === null) return [];
  return isSituation(example)
    ? [`Example: ${example}`, ""]
    : ["```yaml", ...example.split("\n"), "```", ""];
}

function codeLines(code: Code): string[] {
  return [
    `### \`${code.code}\``,
    "",
    ...(code.side === null && code.severities.length === 0 ? [] : [`*${kindText(code)}*`, ""]),
    `${code.meaning}`,
    "",
    ...exampleLines(code),
    `Remedy: ${code.remedy}`,
    "",
  ];
}
