/**
 * Closures that V8 puts into its old generation. In: the code of a file, formatted by `deno fmt`, with
 * comments and the insides of strings blanked (`codeOf`). Out: the property that each is assigned to.
 *
 * V8 takes a function that is assigned to a property as it is written (`a.b = () => …`) for a method of a
 * prototype, which lives long (`CheckAssigningFunctionLiteralToProperty` in its parser). Where it is a
 * callback, it and all that it refers to stay until a full collection, however short-lived: each client
 * connection kept 5.4 KB so. A constant before the assignment, an argument, or the initialiser of a field
 * is no such function.
 */

/** What may be the beginning of a function, behind an assignment to a property. */
const ASSIGNMENT = /\.(#?\w+) (?:\?\?|\|\||&&)?= (?:async )?(?=\(|function\b|\w+ =>)/g;

/** Such as `onWatched`. */
export function pretenuredClosures(code: string): string[] {
  return [...code.matchAll(ASSIGNMENT)]
    .filter((found) => isFunction(code, found.index + found[0].length))
    .map(([, property]) => property);
}

function isFunction(code: string, start: number): boolean {
  if (code[start] !== "(") return true;
  let depth = 0;
  let at = start;
  do {
    if (code[at] === "(") depth++;
    if (code[at] === ")") depth--;
    at++;
  } while (depth > 0 && at < code.length);
  const line = code.slice(at, code.indexOf("\n", at));
  return line.startsWith(" =>") || line.startsWith(": ") && line.includes(" => ");
}
