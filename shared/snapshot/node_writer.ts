/**
 * Writing parts of a snapshot by their schema. In: parts. Out: their JSON, with fields in the order of
 * the schema whatever order the object has; ids by content.
 */
import type { Static, TSchema } from "typebox";
import type { Secret } from "../redacted.ts";
import type { Frozen } from "./schema_hints.ts";
import type { Node } from "./node_reader.ts";
import { sha256Of } from "./published_set.ts";

type Part<S extends TSchema> = Frozen<Static<S>>;

/** JSON without white space. Keys are "[redacted]" unless revealed; such a text cannot be read back. */
export function nodeText<S extends TSchema>(
  schema: S,
  value: Part<S>,
  options: { readonly revealKeys: boolean } = { revealKeys: false },
): string {
  return JSON.stringify(plain(schema as Node, value, options.revealKeys));
}

/** The value as plain JSON, its fields in order. What is undefined or null is left as it is. */
function plain(node: Node, value: unknown, revealKeys: boolean): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (node.secret) return revealKeys ? (value as Secret).reveal() : (value as Secret).toJSON();
  if (Array.isArray(value)) return plainList(node.items!, value, revealKeys);
  if (node.anyOf !== undefined) return plain(choiceOf(node.anyOf, value), value, revealKeys);
  if (node.patternProperties !== undefined) return plainRecord(node, value, revealKeys);
  const result: Record<string, unknown> = {};
  const fields = value as Readonly<Record<string, unknown>>;
  for (const [name, property] of propertiesOf(node)) {
    const field = fields[name];
    if (field !== undefined) result[name] = plain(property, field, revealKeys);
  }
  return result;
}

function plainList(node: Node, list: readonly unknown[], revealKeys: boolean): unknown {
  return node.type === "string" || node.type === "integer"
    ? list
    : list.map((element) => plain(node, element, revealKeys));
}

/** Its fields sorted by name. */
function plainRecord(node: Node, value: object, revealKeys: boolean): unknown {
  const element = Object.values(node.patternProperties!)[0];
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => a < b ? -1 : a > b ? 1 : 0)
      .map(([name, one]) => [name, plain(element, one, revealKeys)]),
  );
}

/** The one of several objects that has the value's `kind`. */
function choiceOf(choices: readonly Node[], value: object): Node {
  const { kind } = value as { readonly kind?: unknown };
  return choices.find(({ properties }) =>
    properties !== undefined && (properties.kind === undefined || properties.kind.const === kind)
  )!;
}

const properties = new WeakMap<Node, readonly (readonly [string, Node])[]>();

function propertiesOf(node: Node): readonly (readonly [string, Node])[] {
  let entries = properties.get(node);
  if (entries === undefined) properties.set(node, entries = Object.entries(node.properties!));
  return entries;
}

/** An id for a part that is known by its content: the same content, the same id. 32 hex digits. */
export function contentId<S extends TSchema>(schema: S, value: Omit<Part<S>, "id">): string {
  return sha256Of(nodeText(schema, { ...value, id: undefined } as unknown as Part<S>)).slice(0, 32);
}
