/**
 * JSON of unknown shape. In: what a manifest may hold in any place. Out: the value if it has the
 * wanted shape, else null; and text for people that shows such a value safely.
 */

export type JsonObject = Readonly<Record<string, unknown>>;

/** The value if it is an object (not a list), else null. */
export function asObject(value: unknown): JsonObject | null {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? value as JsonObject
    : null;
}

export function asList(value: unknown): readonly unknown[] | null {
  return Array.isArray(value) ? value : null;
}

/** The value if it is text with at least one character, else null. */
export function asText(value: unknown): string | null {
  return typeof value === "string" && value !== "" ? value : null;
}

/** How a text, a number or a boolean is written; null for anything else: `String` of a map may throw. */
export function asScalar(value: unknown): string | null {
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean"
    ? String(value)
    : null;
}

/** The value if it is a port number, 1 to 65535, else null. */
export function asPort(value: unknown): number | null {
  return Number.isInteger(value) && value as number >= 1 && value as number <= 65535
    ? value as number
    : null;
}

/** Whether YAML says nothing here: the field is missing, or null. */
export function isAbsent(value: unknown): value is null | undefined {
  return value === undefined || value === null;
}

/** An own field, so that `constructor` and the like are absent; undefined where there is none. */
export function fieldOf(object: unknown, name: string): unknown {
  const record = asObject(object);
  return record !== null && Object.hasOwn(record, name) ? record[name] : undefined;
}

/** The first field that is not among those known; null for none. */
export function unknownField(value: unknown, known: ReadonlySet<string>): string | null {
  return Object.keys(asObject(value) ?? {}).find((name) => !known.has(name)) ?? null;
}

const QUOTED_LENGTH = 80;

/** What follows may be a key: people paste one where its Secret's name is meant. */
const PEM_START = "-----BEGIN";

/**
 * A value of a user as it may stand in a message: on one line, without control or invisible
 * characters, and short, whatever it holds; of PEM, nothing but that it is such.
 */
export function quote(value: unknown): string {
  if (typeof value !== "string") return `${describe(value)}`;
  const pem = value.indexOf(PEM_START);
  const length = pem < 0 ? QUOTED_LENGTH : Math.min(QUOTED_LENGTH, pem + PEM_START.length);
  const shown = value.length > length ? `${value.slice(0, length)}…` : value;
  return JSON.stringify(shown).replace(
    /[^\x20-\x7e…]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** What a value is, for "is … where text is meant". */
export function describe(value: unknown): string {
  if (isAbsent(value)) return "nothing";
  if (typeof value === "string") return value === "" ? "empty text" : "text";
  if (typeof value === "number" || typeof value === "boolean") return `${typeof value} ${value}`;
  return Array.isArray(value) ? "a list" : "an object";
}

/** The same text for equal JSON, whatever the order of keys; "" for what is nested too deeply. */
export function stableText(value: unknown): string {
  try {
    return JSON.stringify(value, (_key, inner: unknown) => {
      const record = asObject(inner);
      if (record === null) return inner;
      return Object.fromEntries(Object.entries(record).sort(([a], [b]) => a < b ? -1 : 1));
    }) ?? "";
  } catch (error) {
    // It is written by recursion, which some thousand levels of lists exhaust.
    if (error instanceof RangeError) return "";
    throw error;
  }
}

/** Below it everything counts as different; no object of the API is as deep. */
const COMPARED_DEPTH = 100;

/** Whether two values of JSON are equal, whatever the order of keys. */
export function isSameJson(a: unknown, b: unknown, depth = 0): boolean {
  if (a === b) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (depth > COMPARED_DEPTH || Array.isArray(a) !== Array.isArray(b)) return false;
  const keys = Object.keys(a);
  if (keys.length !== Object.keys(b).length) return false;
  const left = a as JsonObject;
  const right = b as JsonObject;
  return keys.every((key) =>
    Object.hasOwn(right, key) && isSameJson(left[key], right[key], depth + 1)
  );
}

const SHOWN_ITEMS = 5;

/** `a, b, c, d, e and 7 more`. */
export function showSome(items: readonly string[]): string {
  const shown = items.slice(0, SHOWN_ITEMS).join(", ");
  return items.length > SHOWN_ITEMS ? `${shown} and ${items.length - SHOWN_ITEMS} more` : shown;
}

/** So many characters of a text at most: what is cut off is the end. */
export function shortened(text: string, limit: number): string {
  return text.length > limit ? `${text.slice(0, Math.max(0, limit - 1))}…` : text;
}
