/**
 * The structure of a regular expression, for `automaton.ts`. In: a pattern that V8 has compiled. Out: its
 * tree over symbols, or null for one that has more than the syntax of this tree.
 *
 * No library of the proxy reads patterns: the controller's parser (@eslint-community/regexpp) takes
 * 3.3 MiB of each worker.
 */

/** The symbols that match: 1 for each of them. */
export type CharacterSet = Uint8Array;

/** Of Latin-1. Patterns with others are not read, so that those are alike but for what escapes tell apart. */
const LATIN = 256;
/** The symbol of other characters beyond Latin-1, each half of a surrogate pair by itself. */
const OTHER = 256;
const OTHER_BLANK = 257;
const OTHER_LINE_END = 258;

/** How many symbols there are. */
export const CHARACTERS = 259;

/** The symbol of the code of a character that is beyond Latin-1. */
export function symbolBeyond(code: number): number {
  if (code === 0x2028 || code === 0x2029) return OTHER_LINE_END;
  return /\s/.test(String.fromCharCode(code)) ? OTHER_BLANK : OTHER;
}

export type PatternTree =
  | { readonly kind: "set"; readonly set: CharacterSet }
  | { readonly kind: "start" | "end" }
  /** Whether a word begins or ends there, or none. */
  | { readonly kind: "boundary"; readonly isOne: boolean }
  | { readonly kind: "sequence" | "choice"; readonly items: readonly PatternTree[] }
  /** `most` is Infinity where there is no bound. */
  | {
    readonly kind: "repetition";
    readonly item: PatternTree;
    readonly least: number;
    readonly most: number;
  };

/** Null for look-around, back references, flags within, and escapes that are rare. */
export function readPattern(pattern: string): PatternTree | null {
  try {
    return new PatternReader(pattern).whole();
  } catch (error) {
    if (error instanceof Unsupported) return null;
    throw error;
  }
}

class Unsupported extends Error {}

/** Reads from the start to the end once; syntax errors are V8's to find. */
class PatternReader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  whole(): PatternTree {
    const tree = this.#choice();
    if (this.#at < this.#text.length) throw new Unsupported();
    return tree;
  }

  #choice(): PatternTree {
    const items = [this.#sequence()];
    while (this.#take("|")) items.push(this.#sequence());
    return items.length === 1 ? items[0] : { kind: "choice", items };
  }

  #sequence(): PatternTree {
    const items: PatternTree[] = [];
    while (this.#at < this.#text.length && !"|)".includes(this.#text[this.#at])) {
      items.push(this.#repeated(this.#atom()));
    }
    return { kind: "sequence", items };
  }

  #atom(): PatternTree {
    const char = this.#next();
    switch (char) {
      case "^":
        return { kind: "start" };
      case "$":
        return { kind: "end" };
      case ".":
        return { kind: "set", set: INLINE };
      case "(":
        return this.#group();
      case "[":
        return { kind: "set", set: this.#class() };
      case "\\":
        if (this.#take("b")) return { kind: "boundary", isOne: true };
        if (this.#take("B")) return { kind: "boundary", isOne: false };
        return { kind: "set", set: this.#escape() };
      case "*":
      case "+":
      case "?":
      case "{":
      case "}":
      case "]":
        throw new Unsupported();
      default:
        return { kind: "set", set: one(char) };
    }
  }

  #group(): PatternTree {
    if (this.#take("?")) {
      if (this.#take("<")) {
        const name = this.#until(">");
        // `(?<=` and `(?<!` look behind.
        if (!/^[A-Za-z_$]/.test(name)) throw new Unsupported();
      } else if (!this.#take(":")) throw new Unsupported();
    }
    const tree = this.#choice();
    if (!this.#take(")")) throw new Unsupported();
    return tree;
  }

  #repeated(item: PatternTree): PatternTree {
    const bounds = this.#bounds();
    if (bounds === null) return item;
    // Whether it takes as much as it can decides which match is found, not whether there is one.
    this.#take("?");
    return { kind: "repetition", item, ...bounds };
  }

  #bounds(): { readonly least: number; readonly most: number } | null {
    if (this.#take("*")) return { least: 0, most: Infinity };
    if (this.#take("+")) return { least: 1, most: Infinity };
    if (this.#take("?")) return { least: 0, most: 1 };
    if (!this.#take("{")) return null;
    const [, from, comma, to = ""] = /^(\d{1,9})(?:(,)(\d{0,9}))?$/.exec(this.#until("}")) ?? [];
    if (from === undefined) throw new Unsupported();
    const least = Number(from);
    return { least, most: comma === undefined ? least : to === "" ? Infinity : Number(to) };
  }

  #class(): CharacterSet {
    const end = classEnd(this.#text, this.#at);
    const text = this.#text.slice(this.#at, end);
    const known = CLASSES.get(text);
    if (known !== undefined) {
      this.#at = end;
      return known;
    }
    const set = this.#members();
    if (CLASSES.size === MAX_CLASSES) CLASSES.clear();
    if (text.length <= MAX_CLASS_TEXT) CLASSES.set(text, set);
    return set;
  }

  #members(): CharacterSet {
    const isNegated = this.#take("^");
    const set = new Uint8Array(CHARACTERS);
    while (!this.#take("]")) {
      const from = this.#member();
      // A hyphen at the end is itself.
      if (this.#text[this.#at] === "-" && this.#text[this.#at + 1] !== "]") {
        this.#at++;
        const to = this.#member();
        if (typeof from !== "number" || typeof to !== "number") throw new Unsupported();
        set.fill(1, from, to + 1);
      } else if (typeof from === "number") set[from] = 1;
      else for (let code = 0; code < CHARACTERS; code++) set[code] |= from[code];
    }
    return isNegated ? inverted(set) : set;
  }

  /** The code of a character, or a set of several. */
  #member(): number | CharacterSet {
    const char = this.#next();
    if (char !== "\\") {
      const code = char.charCodeAt(0);
      if (code >= LATIN) throw new Unsupported();
      return code;
    }
    const set = this.#escape();
    const code = set.indexOf(1);
    return set.indexOf(1, code + 1) < 0 ? code : set;
  }

  #escape(): CharacterSet {
    const char = this.#next();
    const control = CONTROLS[char];
    if (control !== undefined) return one(control);
    switch (char) {
      case "d":
        return DIGITS;
      case "D":
        return NO_DIGITS;
      case "w":
        return WORDS;
      case "W":
        return NO_WORDS;
      case "s":
        return BLANKS;
      case "S":
        return NO_BLANKS;
      case "x":
        return this.#hexadecimal();
      case "0":
        if (/[0-9]/.test(this.#text[this.#at] ?? "")) throw new Unsupported();
        return one("\0");
    }
    if (/[A-Za-z0-9]/.test(char)) throw new Unsupported();
    return one(char);
  }

  #hexadecimal(): CharacterSet {
    const digits = this.#text.slice(this.#at, this.#at + 2);
    if (!/^[0-9a-fA-F]{2}$/.test(digits)) throw new Unsupported();
    this.#at += 2;
    return one(String.fromCharCode(parseInt(digits, 16)));
  }

  #take(char: string): boolean {
    if (this.#text[this.#at] !== char) return false;
    this.#at++;
    return true;
  }

  #next(): string {
    if (this.#at >= this.#text.length) throw new Unsupported();
    return this.#text[this.#at++];
  }

  /** The text before the character, which is taken too. */
  #until(char: string): string {
    const end = this.#text.indexOf(char, this.#at);
    if (end < 0) throw new Unsupported();
    const text = this.#text.slice(this.#at, end);
    this.#at = end + 1;
    return text;
  }
}

/**
 * Sets by what stands in their brackets: mostly letters in both cases, which all patterns have. Equal sets that are
 * not the same one cost memory alone.
 */
const CLASSES = new Map<string, CharacterSet>();
const MAX_CLASSES = 1024;
const MAX_CLASS_TEXT = 16;

/** Where the class whose brackets have been opened before `start` has been closed. */
function classEnd(text: string, start: number): number {
  for (let at = start; at < text.length; at++) {
    if (text[at] === "\\") at++;
    else if (text[at] === "]") return at + 1;
  }
  throw new Unsupported();
}

/** @param beyond The symbols that match beyond Latin-1. */
function setWhere(is: (code: number) => boolean, beyond: readonly number[] = []): CharacterSet {
  const set = new Uint8Array(CHARACTERS);
  for (let code = 0; code < LATIN; code++) set[code] = is(code) ? 1 : 0;
  for (const symbol of beyond) set[symbol] = 1;
  return set;
}

/** The same set each time: most steps of most patterns are one character. */
function one(char: string): CharacterSet {
  const code = char.charCodeAt(0);
  if (code >= LATIN) throw new Unsupported();
  return SINGLES[code] ??= setWhere((each) => each === code);
}

const SINGLES: CharacterSet[] = [];

function inverted(set: CharacterSet): CharacterSet {
  return set.map((is) => 1 - is);
}

const CONTROLS: Readonly<Record<string, string | undefined>> = {
  ...{ t: "\t", n: "\n", v: "\v", f: "\f", r: "\r" },
};

const DIGITS = setWhere((code) => /\d/.test(String.fromCharCode(code)));
export const WORDS = setWhere((code) => /\w/.test(String.fromCharCode(code)));
const BLANKS = setWhere((code) => /\s/.test(String.fromCharCode(code)), [
  OTHER_BLANK,
  OTHER_LINE_END,
]);
const NO_DIGITS = inverted(DIGITS);
const NO_WORDS = inverted(WORDS);
const NO_BLANKS = inverted(BLANKS);
/** What `.` matches. */
const INLINE = setWhere((code) => code !== 0x0a && code !== 0x0d, [OTHER, OTHER_BLANK]);
