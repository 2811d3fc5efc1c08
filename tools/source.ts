/**
 * Reads TypeScript just far enough to see what it imports. In: the text of a file. Out: its code
 * with comments and the insides of strings blanked (same length, so that positions agree), and its
 * import specifiers.
 */

export interface Import {
  /** As written: `./x.ts`, `node:util`, `yaml`; null for a computed one. */
  readonly specifier: string | null;
  /** Erased before the code runs: `import type …`, or nothing but `type` names in the braces. */
  readonly typeOnly: boolean;
  /** The names between the braces, as they are called in the other file. */
  readonly names: readonly string[];
}

/** Words after which a slash begins a regular expression, not a division. */
const BEFORE_REGEXP =
  /(?:^|[-=(,;:?!&|{}[+*%^~<>])\s*$|\b(?:return|typeof|case|in|of|delete|void|throw|await|yield)\s*$/;

/** The text with comments and the insides of strings, templates and regular expressions blanked. */
export function codeOf(text: string): string {
  const code: string[] = [];
  const blank = (part: string) => code.push(part.replace(/[^\n]/g, " "));
  /** Open braces of each template that is being substituted, the innermost last. */
  const templates: number[] = [];
  let at = 0;
  const through = (end: number) => {
    const to = end === -1 ? text.length : end;
    blank(text.slice(at, to));
    at = to;
  };
  while (at < text.length) {
    const two = text.slice(at, at + 2);
    const char = text[at];
    if (two === "//") through(text.indexOf("\n", at));
    else if (two === "/*") {
      const end = text.indexOf("*/", at + 2);
      through(end === -1 ? -1 : end + 2);
    } else if (char === '"' || char === "'") quoted(char);
    else if (char === "`") template();
    else if (char === "}" && templates.at(-1) === 0) {
      templates.pop();
      template();
    } else if (char === "/" && BEFORE_REGEXP.test(code.slice(-40).join(""))) regexp();
    else {
      if (templates.length > 0 && char === "{") templates[templates.length - 1]++;
      if (templates.length > 0 && char === "}") templates[templates.length - 1]--;
      code.push(char);
      at++;
    }
  }
  return code.join("");

  function quoted(quote: string): void {
    code.push(quote);
    at++;
    let end = at;
    while (end < text.length && text[end] !== quote && text[end] !== "\n") {
      end += text[end] === "\\" ? 2 : 1;
    }
    through(Math.min(end, text.length));
    if (text[at] === quote) code.push(text[at++]);
  }

  /** From a backtick, or from the brace that ends a substitution, to the next of the two. */
  function template(): void {
    let end = at + 1;
    while (end < text.length && text[end] !== "`") {
      if (text[end] === "$" && text[end + 1] === "{") {
        through(end + 2);
        templates.push(0);
        return;
      }
      end += text[end] === "\\" ? 2 : 1;
    }
    through(Math.min(end + 1, text.length));
  }

  function regexp(): void {
    let end = at + 1;
    for (let inClass = false; end < text.length && text[end] !== "\n"; end++) {
      if (text[end] === "\\") end++;
      else if (text[end] === "[") inClass = true;
      else if (text[end] === "]") inClass = false;
      else if (text[end] === "/" && !inClass) break;
    }
    through(Math.min(end + 1, text.length));
  }
}

const STATIC = /\b(import|export)\b([^"';()]*?)(?:\bfrom\s*)?(["'])( *)\3/g;
const DYNAMIC = /\bimport\s*\(\s*(?:(["'])( *)\1)?/g;
const WORKER = /\bnew\s+Worker\s*\(\s*new\s+URL\s*\(\s*(["'])( *)\1/g;

/** Every import, re-export, dynamic import and worker of a file. */
export function importsOf(text: string, code = codeOf(text)): Import[] {
  const imports: Import[] = [];
  /** The insides of the string that a match ends with. */
  const insides = (match: RegExpMatchArray, length: number) => {
    const end = match.index! + match[0].length - 1;
    return text.slice(end - length, end);
  };
  for (const match of code.matchAll(STATIC)) {
    const clause = match[2].trim();
    // `export const x = …` and `import.meta` reach for the next string of the file.
    if (match[1] === "export" && !/^(type\s+)?[{*]/.test(clause)) continue;
    if (clause !== "" && !/\bfrom\s*["']/.test(match[0])) continue;
    const braces = /\{([^{}]*)\}/.exec(clause)?.[1];
    const named = (braces ?? "").split(",").map((name) => name.trim()).filter((name) =>
      name !== ""
    );
    const typeOnly = clause.startsWith("type ") ||
      (clause.startsWith("{") && named.length > 0 && named.every((name) => /^type\s/.test(name)));
    const names = named.map((name) => name.replace(/^type\s+/, "").split(/\s/, 1)[0]);
    imports.push({ specifier: insides(match, match[4].length), typeOnly, names });
  }
  for (const match of code.matchAll(DYNAMIC)) {
    const specifier = match[2] === undefined ? null : insides(match, match[2].length);
    imports.push({ specifier, typeOnly: false, names: [] });
  }
  for (const match of code.matchAll(WORKER)) {
    imports.push({ specifier: insides(match, match[2].length), typeOnly: false, names: [] });
  }
  return imports;
}
