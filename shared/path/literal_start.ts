/**
 * How texts begin that a regular expression matches. In: the expression, which may be one that cannot be
 * compiled. Out: the characters that all of these texts begin with.
 */

/**
 * How every text begins that the pattern may match, as far as its first characters stand for
 * themselves; "" where they do not.
 */
export function literalStart(pattern: string): string {
  if (pattern.includes("|")) return "";
  const start = /^\^?([^\\^$.*+?()[\]{}|]*)/.exec(pattern)![1];
  const next = pattern[pattern.startsWith("^") ? start.length + 1 : start.length];
  return next !== undefined && "*?{".includes(next) ? start.slice(0, -1) : start;
}
