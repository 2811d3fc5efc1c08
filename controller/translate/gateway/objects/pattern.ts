/**
 * Regular expressions of matches. In: the text of one. Out: whether proxies match it in linear time, or what
 * is wrong with it. Gateway API leaves the dialect to implementations: it is what RE2 and JavaScript share.
 */
import { RegExpParser, visitRegExpAST } from "@eslint-community/regexpp";
import { MAX_PATTERN, MAX_REPETITION, writtenOut } from "../../../../shared/path/pattern_size.ts";

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
