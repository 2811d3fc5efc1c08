/** The order of texts. In: two texts. Out: which comes first, the same on every machine. */

/** By UTF-16 code units, unlike localeCompare. */
export function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
