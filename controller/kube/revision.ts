/**
 * Resource versions in order. In: decimal digits, as the API server writes them. Out: which is newer.
 *
 * https://github.com/kubernetes/enhancements/tree/master/keps/sig-api-machinery/5504-comparable-resource-version
 */

const DIGITS = /^(?:0|[1-9]\d{0,99})$/;

/** Whether `value` is a resource version that can be compared. */
export function isRevision(value: unknown): value is string {
  return typeof value === "string" && DIGITS.test(value);
}

/** Negative where `a` is older, 0 where both are the same. They may be larger than any number. */
export function compareRevisions(a: string, b: string): number {
  if (a.length !== b.length) return a.length - b.length;
  return a < b ? -1 : a > b ? 1 : 0;
}

/** The newest; "0", which is older than any, for none. */
export function newestRevision(revisions: readonly string[]): string {
  return revisions.reduce((a, b) => compareRevisions(a, b) < 0 ? b : a, "0");
}

/** The oldest; "0" for none. */
export function oldestRevision(revisions: readonly string[]): string {
  if (revisions.length === 0) return "0";
  return revisions.reduce((a, b) => compareRevisions(a, b) > 0 ? b : a);
}
