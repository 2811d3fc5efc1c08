/**
 * Whether two parts of a snapshot say the same. In: two values of one type. Out: yes or no, every
 * field included, whatever the schema adds to them; at once where they are the same object.
 *
 * Workers compare too, so nothing of the schema is loaded for it.
 */
import { Redacted } from "../redacted.ts";

/** A field that is undefined is one that is missing. Keys count, and never show. */
export function isSamePart<T>(a: T, b: T): boolean {
  return isSame(a, b);
}

function isSame(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (Array.isArray(a) || Array.isArray(b)) {
    return Array.isArray(a) && Array.isArray(b) && a.length === b.length &&
      a.every((one, i) => isSame(one, b[i]));
  }
  if (a instanceof Redacted || b instanceof Redacted) {
    return a instanceof Redacted && b instanceof Redacted && a.reveal() === b.reveal();
  }
  return isSameObject(a as Fields, b as Fields);
}

type Fields = Readonly<Record<string, unknown>>;

function isSameObject(a: Fields, b: Fields): boolean {
  let count = 0;
  for (const name in a) {
    if (a[name] === undefined) continue;
    count++;
    if (!Object.hasOwn(b, name) || !isSame(a[name], b[name])) return false;
  }
  for (const name in b) if (b[name] !== undefined) count--;
  return count === 0;
}
