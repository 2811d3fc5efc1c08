/**
 * The size of a regular expression. In: a pattern. Out: how many steps the linear engine of V8 takes with
 * each character of a text, about; whoever writes patterns and whoever compiles them have one bound.
 */

/** Of what `writtenOut` counts. Gateway API allows 1,024 characters for a path. */
export const MAX_PATTERN = 1024;

/** The linear engine refuses more repetitions. */
export const MAX_REPETITION = 16;

/** Characters of a pattern, however few steps they are: to read them takes time too. */
const MAX_TEXT = 4 * MAX_PATTERN;

/**
 * Characters of a pattern whose repetitions are written out. A class counts as those between its
 * brackets: the engine tries its ranges one by one.
 */
export function writtenOut(pattern: string): number {
  if (pattern.length > MAX_TEXT) return pattern.length;
  /** Of each group that is open, the characters until now. */
  const sizes = [0];
  /** Of what a repetition would repeat. */
  let atom = 0;
  for (let at = 0; at < pattern.length;) {
    const char = pattern[at];
    REPETITION.lastIndex = at;
    const times = char === "{" ? REPETITION.exec(pattern) : null;
    if (times !== null) {
      sizes[sizes.length - 1] += atom * (Number(times[1]) - 1);
      at = REPETITION.lastIndex;
      continue;
    }
    const end = char === "[" ? classEnd(pattern, at) : at + (char === "\\" ? 2 : 1);
    atom = char === "[" ? Math.max(1, end - at - 2) : end - at;
    at = end;
    if (char === "(") {
      sizes.push(atom);
      continue;
    }
    if (char === ")" && sizes.length > 1) atom += sizes.pop()!;
    sizes[sizes.length - 1] += atom;
  }
  return sizes.reduce((sum, size) => sum + size, 0);
}

/** `{n}`, `{n,}` or `{m,n}`, of which the greatest number counts. */
const REPETITION = /\{(?:\d{1,9},)?(\d{1,9}),?\}/y;

/** Where the class that begins at `start` has ended. */
function classEnd(pattern: string, start: number): number {
  for (let at = start + 1; at < pattern.length; at++) {
    if (pattern[at] === "\\") at++;
    else if (pattern[at] === "]") return at + 1;
  }
  return pattern.length;
}
