/** The schema of the chart's values. In: the tree of values. Out: the text of `values.schema.json`. */
import { FLAG_DEFINITIONS } from "./flag_values.ts";
import { isGroup, type JsonSchema, type Value, type ValueGroup, type ValueTree } from "./value.ts";

const DIALECT = "https://json-schema.org/draft/2020-12/schema";

/** What Helm gives to a chart that is part of another. */
const GLOBAL: JsonSchema = {
  description: "Values of the chart that contains this one.",
  type: "object",
};

export function schemaText(tree: ValueTree): string {
  const { properties, ...rest } = treeSchema(tree);
  const schema: JsonSchema = {
    $schema: DIALECT,
    title: "Values of the chart pingress",
    ...rest,
    properties: { ...properties, global: GLOBAL },
    $defs: FLAG_DEFINITIONS,
  };
  return `${JSON.stringify(schema, null, 2)}\n`;
}

/**
 * A key that is not known is a mistake, and so is one with a default that is missing: a user set it to
 * null, which Helm leaves out, and templates would print nothing for it.
 */
function treeSchema(tree: ValueTree): JsonSchema {
  const entries = Object.entries(tree);
  const required = entries.filter(([, value]) => isGroup(value) || value.default !== undefined)
    .map(([key]) => key);
  return {
    type: "object",
    ...(required.length === 0 ? {} : { required }),
    properties: Object.fromEntries(entries.map(([key, value]) => [key, schemaOf(value)])),
    additionalProperties: false,
  };
}

function schemaOf(value: Value | ValueGroup): JsonSchema {
  if (isGroup(value)) return { description: value.help, ...treeSchema(value.values) };
  return { description: value.help, ...value.schema };
}
