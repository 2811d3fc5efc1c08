/**
 * Values of the chart, as the generators see them. In: nothing. Out: what a value is, a group of
 * them, and the parts of JSON Schema that they use.
 */

/** The part of JSON Schema that the chart uses. */
export interface JsonSchema {
  readonly $schema?: string;
  readonly $ref?: string;
  readonly title?: string;
  readonly description?: string;
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly pattern?: string;
  readonly minLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly items?: JsonSchema;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly additionalProperties?: boolean | JsonSchema;
  readonly $defs?: Readonly<Record<string, JsonSchema>>;
}

/** One value, a leaf of values.yaml. */
export interface Value {
  /** Sentences, with their full stops. */
  readonly help: string;
  readonly schema: JsonSchema;
  /** What values.yaml sets; left out, the key is a comment there, and the program has a default. */
  readonly default?: unknown;
  /** What the comment shows then. */
  readonly example?: string;
}

/** Values below one key. */
export interface ValueGroup {
  readonly help: string;
  readonly values: ValueTree;
}

export type ValueTree = Readonly<Record<string, Value | ValueGroup>>;

export function isGroup(value: Value | ValueGroup): value is ValueGroup {
  return "values" in value;
}

/** Each value with its path: `controller.flags.backend`. */
export function* valuesOf(tree: ValueTree, path = ""): Generator<readonly [string, Value]> {
  for (const [key, value] of Object.entries(tree)) {
    if (isGroup(value)) yield* valuesOf(value.values, `${path}${key}.`);
    else yield [`${path}${key}`, value];
  }
}
