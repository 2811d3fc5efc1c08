/**
 * Where JSON breaks. In: a text that `JSON.parse` refuses. Out: line, column and what was expected
 * there. The engine's own message is of no use: it quotes the text, which may hold a private key,
 * and often names no place.
 */

export interface JsonError {
  /** From 1. */
  readonly line: number;
  /** From 1, in UTF-16 units. */
  readonly column: number;
  /** A clause such as `a value is expected`. */
  readonly message: string;
  /** The text is right as far as it goes, but ends too early: a file that is half written. */
  readonly endsEarly: boolean;
}

type Expectation = keyof typeof EXPECTED;

const EXPECTED = {
  value: "a value is expected",
  valueOrEnd: 'a value or "]" is expected',
  key: "a field's name in double quotes is expected",
  keyOrEnd: 'a field\'s name in double quotes or "}" is expected',
  colon: '":" is expected',
  commaOrEndOfArray: '"," or "]" is expected',
  commaOrEndOfObject: '"," or "}" is expected',
  nothing: "nothing more is expected",
};

/** RFC 8259 §6 and §7, each from `lastIndex`. */
const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;
// deno-lint-ignore no-control-regex -- exactly the control characters are what it must stop at
const STRING_PART = /[^"\\\u0000-\u001f]*/y;
const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;
const WHITESPACE = /[ \t\r\n]*/y;
const LITERALS = ["true", "false", "null"];

/** The first error, or null where the text is JSON. Nesting costs no call depth. */
export function locateJsonError(text: string): JsonError | null {
  const open: ("array" | "object")[] = [];
  let expected = "value" as Expectation;
  let at = 0;

  for (;;) {
    at = matchEnd(WHITESPACE, text, at);
    if (at === text.length) return expected === "nothing" ? null : errorAt(text, at, "");
    const step = stepOver(text, at, expected);
    if (typeof step === "object") return errorAt(text, step.at, step.message);
    at = step;
    const last = text[at - 1];
    if (last === "[" || last === "{") open.push(last === "[" ? "array" : "object");
    if (last === "]" || last === "}") open.pop();
    const inArray = open[open.length - 1] === "array";
    if (expected === "colon") expected = "value";
    else if (last === "[") expected = "valueOrEnd";
    else if (last === "{") expected = "keyOrEnd";
    else if (last === ",") expected = inArray ? "value" : "key";
    else if (expected === "key") expected = "colon";
    else if (expected === "keyOrEnd" && last !== "}") expected = "colon";
    else if (open.length === 0) expected = "nothing";
    else expected = inArray ? "commaOrEndOfArray" : "commaOrEndOfObject";
  }
}

interface Break {
  readonly at: number;
  readonly message: string;
}

/** Where the token that begins at `at` ends, if it is an expected one. */
function stepOver(text: string, at: number, expected: Expectation): number | Break {
  const char = text[at];
  const unexpected = { at, message: EXPECTED[expected] };
  switch (expected) {
    case "nothing":
      return unexpected;
    case "colon":
      return char === ":" ? at + 1 : unexpected;
    case "commaOrEndOfArray":
      return char === "," || char === "]" ? at + 1 : unexpected;
    case "commaOrEndOfObject":
      return char === "," || char === "}" ? at + 1 : unexpected;
    case "key":
      return char === '"' ? stringEnd(text, at) : unexpected;
    case "keyOrEnd":
      if (char === "}") return at + 1;
      return char === '"' ? stringEnd(text, at) : unexpected;
    case "valueOrEnd":
      if (char === "]") return at + 1;
  }
  if (char === "[" || char === "{") return at + 1;
  if (char === '"') return stringEnd(text, at);
  if (isCutScalar(text, at)) return { at: text.length, message: "" };
  const end = scalarEnd(text, at);
  return end > at ? end : unexpected;
}

function errorAt(text: string, position: number, message: string): JsonError {
  const endsEarly = position >= text.length;
  const before = text.slice(0, position);
  return {
    line: before.split("\n").length,
    column: position - before.lastIndexOf("\n"),
    message: endsEarly ? "the text ends too early" : message,
    endsEarly,
  };
}

/** Where the string that begins at `start` ends, or where and how it breaks. */
function stringEnd(text: string, start: number): number | Break {
  let at = start + 1;
  for (;;) {
    at = matchEnd(STRING_PART, text, at);
    const char = text[at];
    if (char === '"') return at + 1;
    if (char !== "\\") return { at, message: "a string may not hold a control character" };
    const end = matchEnd(ESCAPE, text, at);
    if (end === at) {
      const cut = /^\\(?:u[0-9a-fA-F]{0,3})?$/.test(text.slice(at, at + 7));
      return { at: cut ? text.length : at, message: "an escape is broken" };
    }
    at = end;
  }
}

/** Where the number or literal that begins at `at` ends; `at` itself where there is none. */
function scalarEnd(text: string, at: number): number {
  const literal = LITERALS.find((literal) => text.startsWith(literal, at));
  return literal === undefined ? matchEnd(NUMBER, text, at) : at + literal.length;
}

/** Whether the text ends within a literal or before a digit that a number needs: `tr`, `-2.`. */
function isCutScalar(text: string, at: number): boolean {
  const numberEnd = matchEnd(NUMBER, text, at);
  if (text.length - numberEnd > "fals".length) return false;
  const rest = text.slice(numberEnd);
  return numberEnd > at
    ? /^(?:\.|[eE][+-]?)$/.test(rest)
    : rest === "-" || LITERALS.some((word) => word !== rest && word.startsWith(rest));
}

function matchEnd(sticky: RegExp, text: string, at: number): number {
  sticky.lastIndex = at;
  return sticky.test(text) ? sticky.lastIndex : at;
}
