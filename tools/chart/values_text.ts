/**
 * The chart's values.yaml. In: the tree of values. Out: its text: each value below its comment, and
 * those without a default as a comment.
 */
import { stringify } from "yaml";
import { wrapText } from "../../shared/wrapped_text.ts";
import { isGroup, type Value, type ValueGroup, type ValueTree } from "./value.ts";

const WIDTH = 100;

export function valuesText(tree: ValueTree): string {
  return [
    "# Values of the chart pingress. Made from the programs' flags and tools/chart/values.ts by",
    "# deno task docs:update; do not edit.",
    "",
    ...Object.entries(tree).flatMap(([key, value], index) => [
      ...(index === 0 ? [] : [""]),
      ...entryLines(key, value, ""),
    ]),
    "",
  ].join("\n");
}

function entryLines(key: string, value: Value | ValueGroup, indent: string): string[] {
  const comment = wrapText(value.help, { indent: `${indent}# `, width: WIDTH });
  if (!isGroup(value)) return [...comment, ...leafLines(key, value, indent)];
  const entries = Object.entries(value.values);
  const lines = entries.flatMap(([key, value]) => entryLines(key, value, `${indent}  `));
  // Without a value of its own, the key would have the value null.
  const isEmpty = entries.every(([, value]) => !isGroup(value) && value.default === undefined);
  return [...comment, `${indent}${key}:${isEmpty ? " {}" : ""}`, ...lines];
}

function leafLines(key: string, { default: fallback, example }: Value, indent: string): string[] {
  if (fallback === undefined) return [`${indent}# ${key}: ${example}`];
  return stringify({ [key]: fallback }, { lineWidth: 0 }).trimEnd().split("\n")
    .map((line) => indent + line);
}
