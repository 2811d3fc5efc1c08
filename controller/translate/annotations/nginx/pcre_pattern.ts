/**
 * Regular expressions as nginx has them. In: the text of one, for PCRE. Out: the same for the proxy, which
 * matches in linear time and with the case of letters, or why there is none.
 *
 * The expression is parsed, and written anew from the tree: only what means the same in both is taken
 * over. V8's linear engine does not know the flag `i`, so each letter becomes a class.
 *
 * In the profile nginx texts are decoded paths, of which PCRE and the proxy see bytes; else they are
 * canonical paths, with escapes in place of some characters.
 */
import { type AST, RegExpParser } from "@eslint-community/regexpp";
import { MAX_PATTERN, MAX_REPETITION, writtenOut } from "../../../../shared/path/pattern_size.ts";
import type { Profile } from "../../model/profile.ts";

export type PatternReading =
  | { readonly ok: true; readonly pattern: PcrePattern }
  | Refused;

interface Refused {
  readonly ok: false;
  /** A clause with what is wrong. */
  readonly reason: string;
}

export interface PcrePattern {
  /** Matches those whole texts in which nginx finds `^` and the expression. */
  readonly location: string;
  /** To be searched in a text; its groups are those of the expression. */
  readonly search: string;
  /** How many groups it has. */
  readonly groups: number;
  /** Numbers of groups that may have another text here, as PCRE keeps that of an earlier repetition. */
  readonly unsure: ReadonlySet<number>;
}

/** For a `TextMemo`: `readPcre` in each profile. */
export const PCRE: Readonly<
  Record<Profile, { readonly read: (text: string) => PatternReading }>
> = {
  pingress: { read: (text) => readPcre(text, "pingress") },
  nginx: { read: (text) => readPcre(text, "nginx") },
};

/** Reads an expression whose case does not matter. */
export function readPcre(text: string, profile: Profile): PatternReading {
  if (text.length > MAX_PATTERN) return refused(`has more than ${MAX_PATTERN} characters`);
  const isDecoded = profile === "nginx";
  const ascii = isDecoded ? inBytes(text) : inAscii(text);
  if (ascii === null) {
    return refused(
      isDecoded
        ? "is not well-formed Unicode"
        : "has characters outside ASCII in a class or repetition",
    );
  }
  const tree = parse(ascii);
  if (tree === null) return refused(UNREADABLE);
  const writer = new Writer({ isDecoded });
  return orRefused(() => {
    const written = tree.alternatives.map((each) => writer.alternative(each));
    const pattern = {
      location: withoutGroups(locationOf(tree.alternatives, written)),
      search: withGroups(written.join("|")),
      groups: writer.groups,
      unsure: writer.unsure,
    };
    const size = Math.max(writtenOut(pattern.location), writtenOut(pattern.search));
    return size > MAX_PATTERN ? tooLong(size) : { ok: true, pattern };
  });
}

/** The bytes of UTF-8, each as one character; null for what is not well-formed. */
export function inBytes(text: string): string | null {
  if (!/[^ -~]/.test(text)) return text;
  if (!text.isWellFormed()) return null;
  return Array.from(new TextEncoder().encode(text), (byte) => String.fromCharCode(byte)).join("");
}

export type HeaderPatternReading =
  | { readonly ok: true; readonly value: string }
  | Refused;

/**
 * Reads an expression that is searched in a header, which has no escapes: one that matches the same
 * values there.
 */
export function readHeaderPattern(
  text: string,
  { ignoreCase }: { readonly ignoreCase: boolean },
): HeaderPatternReading {
  if (text.length > MAX_PATTERN) return refused(`has more than ${MAX_PATTERN} characters`);
  if (/[^ -~]/.test(text)) return refused("has characters outside ASCII");
  const tree = parse(text);
  if (tree === null) return refused(UNREADABLE);
  return orRefused(() => {
    const writer = new Writer({ isDecoded: true, ignoreCase });
    const value = withoutGroups(writer.alternatives(tree.alternatives));
    const size = writtenOut(value);
    return size > MAX_PATTERN ? tooLong(size) : { ok: true, value };
  });
}

/** Null for what is no expression of JavaScript. */
function parse(text: string): AST.Pattern | null {
  try {
    return new RegExpParser({ ecmaVersion: 2022 })
      .parsePattern(text, 0, text.length, { unicode: false });
  } catch {
    return null;
  }
}

const UNREADABLE = "cannot be read as one that both PCRE and JavaScript have";

function tooLong(size: number): Refused {
  return refused(`has ${size} characters with its repetitions and cases written out`);
}

/** Of a writer, which throws for what it cannot take over. */
function orRefused<T>(write: () => T): T | Refused {
  try {
    return write();
  } catch (error) {
    if (error instanceof Unsupported) return refused(error.message);
    throw error;
  }
}

/** Paths have escapes of UTF-8 for other characters. Null where these would not be one piece. */
function inAscii(text: string): string | null {
  if (!/[^ -~]/.test(text)) return text;
  if (!text.isWellFormed() || text.includes("[") || /[^ -~][*+?{]/.test(text)) return null;
  return text.replace(/[^ -~]+/gu, encodeURIComponent);
}

function refused(reason: string): Refused {
  return { ok: false, reason };
}

class Unsupported extends Error {}

/**
 * nginx searches for `^` and the expression, so that what follows the first `|` may begin anywhere in the
 * path; and it takes every path that goes on behind it.
 */
function locationOf(
  alternatives: readonly AST.Alternative[],
  written: readonly string[],
): string {
  return alternatives.map(({ elements }, i) => {
    const first = elements.at(0);
    const last = elements.at(-1);
    const isAnchored = i === 0 || (first?.type === "Assertion" && first.kind === "start");
    const isClosed = last !== undefined && takesRest(last);
    return (isAnchored ? "" : ".*") + written[i] + (isClosed ? "" : ".*");
  }).join("|");
}

/** Whether nothing can follow what it matches, or all may. */
function takesRest(element: AST.Element): boolean {
  if (element.type === "Assertion") return element.kind === "end";
  if (element.type === "CapturingGroup") {
    const [{ elements }, ...others] = element.alternatives;
    return others.length === 0 && elements.length === 1 && takesRest(elements[0]);
  }
  return element.type === "Quantifier" && element.min === 0 && element.max === Infinity &&
    element.element.type === "CharacterSet" && element.element.kind === "any";
}

interface WriterOptions {
  /** Whether texts are decoded paths, or no paths. */
  readonly isDecoded: boolean;
  readonly ignoreCase?: boolean;
}

/** Where a group begins in what `Writer` writes; expressions have no such character. */
const GROUP = "\x01";

function withGroups(written: string): string {
  return written.replaceAll(GROUP, "(");
}

/** What its groups match is not kept. */
function withoutGroups(written: string): string {
  return written.replaceAll(GROUP, "(?:");
}

class Writer {
  readonly #isDecoded: boolean;
  readonly #ignoreCase: boolean;
  readonly unsure = new Set<number>();
  groups = 0;
  /** How many repetitions are around what is written. */
  #repeated = 0;

  constructor({ isDecoded, ignoreCase = true }: WriterOptions) {
    this.#isDecoded = isDecoded;
    this.#ignoreCase = ignoreCase;
  }

  alternatives(all: readonly AST.Alternative[]): string {
    return all.map((one) => this.alternative(one)).join("|");
  }

  alternative({ elements }: AST.Alternative): string {
    return elements.map((element) => this.#element(element)).join("");
  }

  #element(element: AST.Element): string {
    switch (element.type) {
      case "Character":
        return this.#literal(element);
      case "CharacterSet":
        return set(element);
      case "CharacterClass":
        return this.#characterClass(element);
      case "Assertion":
        return assertion(element);
      case "Quantifier":
        return this.#quantifier(element);
      case "Group":
        if (element.raw[2] !== ":") throw new Unsupported(`has ${shown(element.raw)} in it`);
        return `(?:${this.alternatives(element.alternatives)})`;
      case "CapturingGroup":
        return this.#group(element);
      default:
        throw new Unsupported(`has the back reference ${shown(element.raw)}`);
    }
  }

  #literal(character: AST.Character): string {
    const char = charOf(character);
    if (!this.#isDecoded && ESCAPED.includes(char)) return encodeURIComponent(char);
    const other = this.#ignoreCase ? otherCase(char) : null;
    if (other === null) return quoted(char);
    // The small one first, so that one expression has one form.
    return char > other ? `[${char}${other}]` : `[${other}${char}]`;
  }

  #characterClass({ elements, negate, raw }: AST.CharacterClass): string {
    // To PCRE `[]` begins a class with `]`, and `[:alpha:]` is one of its own.
    if (elements.length === 0 || /\[[:.=]/.test(raw.slice(1))) {
      throw new Unsupported(`has the class ${shown(raw)}`);
    }
    return `[${negate ? "^" : ""}${elements.map((each) => this.#member(each)).join("")}]`;
  }

  #member(element: AST.CharacterClassElement): string {
    switch (element.type) {
      case "Character": {
        const { char, text } = inClass(element);
        return text + (this.#ignoreCase ? otherCase(char) ?? "" : "");
      }
      case "CharacterClassRange": {
        const from = inClass(element.min);
        const to = inClass(element.max);
        return `${from.text}-${to.text}` +
          (this.#ignoreCase ? otherCases(from.char, to.char) : "");
      }
      case "CharacterSet":
        if (element.kind === "space") return spaces(element.negate);
        if (element.kind !== "property") return element.raw;
    }
    throw new Unsupported(`has ${shown(element.raw)} in a class`);
  }

  #group({ alternatives }: AST.CapturingGroup): string {
    const number = ++this.groups;
    if (this.#repeated > 0) this.unsure.add(number);
    return `${GROUP}${this.alternatives(alternatives)})`;
  }

  #quantifier({ element, min, max, greedy }: AST.Quantifier): string {
    const most = max === Infinity ? min : max;
    if (most > MAX_REPETITION) {
      throw new Unsupported(`repeats ${shown(element.raw)} more than ${MAX_REPETITION} times`);
    }
    if (max > 1) this.#repeated++;
    const repeated = this.#element(element);
    if (max > 1) this.#repeated--;
    // What is one character to the expression may be several here: an escape.
    const atom = element.type === "Character" && repeated.startsWith("%") && repeated !== "%"
      ? `(?:${repeated})`
      : repeated;
    return `${atom}${times(min, max)}${greedy ? "" : "?"}`;
  }
}

function times(min: number, max: number): string {
  if (max === Infinity) return min === 0 ? "*" : min === 1 ? "+" : `{${min},}`;
  if (min === 0 && max === 1) return "?";
  return min === max ? `{${min}}` : `{${min},${max}}`;
}

/** Characters that the paths of requests have as escapes alone. */
const ESCAPED = " #?";

/** In JavaScript `\A` is A, and `{` alone is itself, as is the backslash of `\c(`. */
function charOf({ raw, value }: AST.Character): string {
  // Most are letters.
  if (raw.length === 1 && isLetter(value)) return raw;
  if (raw === "{" || raw === "}" || (/^\\\w/.test(raw) && !/^\\(?:x[\da-f]{2}|_)$/i.test(raw))) {
    throw new Unsupported(`has ${shown(raw)} in it`);
  }
  // In nginx's configuration a quote ends the text, and a backslash means what follows.
  const isControl = value < 0x20 || value === 0x7f;
  if (
    isControl || value > 0xff || (value > 0x7e && raw.length > 1) || /^(?:"|\\\\?)$/.test(raw)
  ) {
    throw new Unsupported(`has ${shown(raw)} in it`);
  }
  return String.fromCharCode(value);
}

function otherCase(char: string): string | null {
  const code = char.charCodeAt(0);
  return isLetter(code) ? String.fromCharCode(code ^ CASE) : null;
}

/** The bit by which letters of ASCII differ in case. */
const CASE = 0x20;

/** Of ASCII. */
function isLetter(code: number): boolean {
  const small = code | CASE;
  return small >= 0x61 && small <= 0x7a;
}

function quoted(char: string): string {
  if (char > "~") return `\\x${char.charCodeAt(0).toString(16)}`;
  return /[$()*+.?[\\\]^{|}]/.test(char) ? `\\${char}` : char;
}

function set(element: AST.CharacterSet): string {
  if (element.kind === "any") return ".";
  if (element.kind === "property") throw new Unsupported(`has ${shown(element.raw)} in it`);
  return element.kind === "space" ? `[${spaces(element.negate)}]` : element.raw;
}

/** To JavaScript the byte 0xa0 is one too. */
function spaces(negate: boolean): string {
  return negate ? "\\0-\\x08\\x0e-\\x1f!-\\xff" : "\\t-\\r ";
}

function assertion(element: AST.Assertion): string {
  if (element.kind === "start" || element.kind === "end" || element.kind === "word") {
    return element.raw;
  }
  throw new Unsupported(`has the ${element.kind} ${shown(element.raw)}`);
}

function inClass(character: AST.Character): { readonly char: string; readonly text: string } {
  // A brace stands for itself there.
  const char = /^[{}]$/.test(character.raw) ? character.raw : charOf(character);
  if (char > "~") return { char, text: quoted(char) };
  return { char, text: /[-\\\]^[]/.test(char) ? `\\${char}` : char };
}

/** What a range has of one case, in the other. */
function otherCases(from: string, to: string): string {
  return [["a", "z"], ["A", "Z"]].map(([first, last]) => {
    const [low, high] = [from > first ? from : first, to < last ? to : last];
    if (low > high) return "";
    return `${otherCase(low)}-${otherCase(high)}`;
  }).join("");
}

function shown(raw: string): string {
  return JSON.stringify(raw.length > 40 ? `${raw.slice(0, 40)}…` : raw);
}
