/**
 * Manifests with a value of another kind in one place. In: objects as they should be. Out: for each field of
 * theirs, texts that have something else there, as a tool, a template or an attacker may write it.
 */

type Json = unknown;

/** The keys and indexes on the way to a value. */
export type Path = readonly (string | number)[];

/** What stands in place of a value. Parsed, so that `__proto__` is a key like others. */
export const REPLACEMENTS: readonly (readonly [name: string, value: Json])[] = [
  ["null", null],
  ["a number", 7],
  ["a boolean", true],
  ["an empty text", ""],
  ["another text", "x"],
  ["a text of control characters", "a\u001b[31m\u009b2J\n\u202eb"],
  ["a huge text", "y".repeat(20_000)],
  ["an empty list", []],
  ["a list with null", [null]],
  ["a list of everything", [1, "a", null, [], {}, true]],
  ["an empty map", {}],
  ["a map with toString", { toString: 1 }],
  ["a map with valueOf and toString", { toString: "a", valueOf: null }],
  ["a map with __proto__", JSON.parse(`{"__proto__":{"name":"web"}}`)],
  ["a map with constructor and length", { constructor: "a", length: -1, hasOwnProperty: 1 }],
  ["a map with toJSON", { toJSON: "a" }],
  ["a deep list", nested(200)],
  ["a list of maps", [{ toString: 1 }, { name: { toString: 1 } }]],
];

function nested(depth: number): Json {
  return depth === 0 ? [] : [nested(depth - 1)];
}

/** The way to every value below an object, those of maps and lists included. */
export function pathsIn(value: Json, before: Path = []): Path[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => {
    const path = [...before, Array.isArray(value) ? Number(key) : key];
    return [path, ...pathsIn(inner, path)];
  });
}

/** A copy with another value at the end of the way. */
export function withValueAt(object: Json, [key, ...rest]: Path, value: Json): Json {
  if (key === undefined) return value;
  const copy = structuredClone(object) as Record<string | number, Json>;
  // As a parser does: `__proto__` is a field of its own.
  Object.defineProperty(copy, key, {
    value: withValueAt(copy[key], rest, value),
    enumerable: true,
    configurable: true,
    writable: true,
  });
  return copy;
}
