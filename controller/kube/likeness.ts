/**
 * Whether two versions of an object say the same. In: two values as JSON has them. Out: yes or no,
 * or the newer one made of the parts of the older as far as they are alike, so that readers can keep
 * what they have made of a part.
 */

/** A field that is undefined counts as missing. The order of fields means nothing. */
export function isAlike(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (Array.isArray(a) || Array.isArray(b)) {
    return Array.isArray(a) && Array.isArray(b) && a.length === b.length &&
      a.every((value, i) => isAlike(value, b[i]));
  }
  const left = a as Record<string, unknown>;
  const right = b as Record<string, unknown>;
  for (const name in left) if (!isAlike(left[name], right[name])) return false;
  for (const name in right) {
    if (right[name] !== undefined && left[name] === undefined) return false;
  }
  return true;
}

/** `after`, with each top-level field that is alike in `before` taken from there. */
export function withPartsOf<T extends object>(before: T, after: T): T {
  const parts: Partial<Record<keyof T, unknown>> = { ...after };
  for (const name of Object.keys(after) as (keyof T)[]) {
    if (isAlike(before[name], after[name])) parts[name] = before[name];
  }
  return parts as T;
}
