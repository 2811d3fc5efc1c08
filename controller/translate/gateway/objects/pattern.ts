/**
 * Regular expressions of matches. In: the text of one. Out: whether proxies match it in linear time, or what
 * is wrong with it. Gateway API leaves the dialect to implementations: it is what RE2 and JavaScript share.
 * JavaScript reads what it does not know as something else (`\z` as `z`), so that a rule would take other
 * requests than those that are meant: that is refused.
 */
import { RegExpParser, visitRegExpAST } from "@eslint-community/regexpp";
import { MAX_PATTERN, MAX_REPETITION, writtenOut } from "../../../../shared/path/pattern_size.ts";

/**
 * Escapes of single characters that are not the same in both: all of letters and digits but control
 * characters and two hexadecimal digits. `\d`, `\w`, `\s` and `\b` are no single characters.
 */
const UNSHARED_ESCAPE = /^\\(?![fnrtv]$|x[0-9A-Fa-f]{2}$)[0-9A-Za-z]/;

/** A clause such as `has a back reference`; null for an expression that is served. */
export function patternFault(text: string): string | null {
  if (text.length > MAX_PATTERN) return `has more than ${MAX_PATTERN} characters`;
  let fault: string | null = null;
  try {
    const tree = new RegExpParser({ ecmaVersion: 2022 })
      .parsePattern(text, 0, text.length, { unicode: false });
    visitRegExpAST(tree, {
      onBackreferenceEnter: () => void (fault ??= "has a back reference"),
      onAssertionEnter: ({ kind }) => {
        if (kind === "lookahead" || kind === "lookbehind") fault ??= `has a ${kind}`;
      },
      onCharacterEnter: ({ raw }) => {
        if (UNSHARED_ESCAPE.test(raw)) fault ??= `has ${raw}, which is not supported`;
      },
      onCharacterClassEnter: ({ raw, elements }) => {
        if (raw.includes("[:")) fault ??= "has a POSIX class, which is not supported";
        // RE2 reads `[]a]` as a class of both.
        if (elements.length === 0) fault ??= "has an empty class";
      },
      onQuantifierEnter: ({ min, max }) => {
        const most = max === Infinity ? min : max;
        if (most > MAX_REPETITION) fault ??= `repeats more than ${MAX_REPETITION} times`;
      },
    });
  } catch {
    return "is no regular expression";
  }
  return fault ??
    (writtenOut(text) > MAX_PATTERN
      ? `has more than ${MAX_PATTERN} characters with its repetitions written out`
      : null);
}
