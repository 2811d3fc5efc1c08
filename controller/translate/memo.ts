/**
 * What was made before. In: objects that never change once they are given, as the store of an
 * informer holds them. Out: for the same object what was made of it before, so that a translation
 * costs as much as what changed since the last one.
 *
 * What is remembered is always what would be made again: nothing that depends on the clock, on other
 * objects or on options may be, unless it is compared with what it was made of.
 */

/** A function that reads each object once, and forgets it together with the object. */
export function oncePerObject<T>(read: (object: object) => T): (object: object) => T {
  const known = new WeakMap<object, { readonly value: T }>();
  return (object) => {
    let entry = known.get(object);
    if (entry === undefined) {
      entry = { value: read(object) };
      known.set(object, entry);
    }
    return entry.value;
  };
}

/** Whether two lists have the very same elements in the same order. */
export function isSameList(a: readonly unknown[], b: readonly unknown[]): boolean {
  if (a === b) return true;
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) {
    if (a[i] !== b[i]) return false;
  }
  return true;
}
