/**
 * The structure of a regular expression, for `automaton.ts`. In: a pattern that V8 has compiled. Out: its
 * tree over the characters that a byte can be, or null for one that has more than the syntax of this tree.
 *
 * No library of the proxy reads patterns: the controller's parser (@eslint-community/regexpp) takes
 * 3.3 MiB of each worker.
 */

/** The characters of Latin-1 that match: 1 for each of them. */
export type CharacterSet = Uint8Array;

export type PatternTree =
  | { readonly kind: "set"; readonly set: CharacterSet }
  | { readonly kind: "start" | "end" }
  | { readonly kind: "sequence" | "choice"; readonly items: readonly PatternTree[] }
  /** `most` is Infinity where there is no bound. */
  | {
    readonly kind: "repetition";
    readonly item: PatternTree;
    readonly least: number;
    readonly most: number;
  };

/** Null for look-around, word boundaries, back references, flags within, and escapes that are rare. */
export function readPattern(pattern: string): PatternTree | null {
  try {
    return new PatternReader(pattern).whole();
  } catch (error) {
    if (error instanceof Unsupported) return null;
    throw error;
  }
}

class Unsupported extends Error {}

const CHARACTERS = 256;

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
        return { kind: "set", set: setWhere((code) => code !== 0x0a && code !== 0x0d) };
      case "(":
        return this.#group();
      case "[":
        return { kind: "set", set: this.#class() };
      case "\\":
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
    const isNegated = this.#take("^");
    const set = new Uint8Array(CHARACTERS);
    while (!this.#take("]")) {
      const from = this.#member();
      // A hyphen at the end is itself.
      if (this.#text[this.#at] === "-" && this.#text[this.#at + 1] !== "]") {
        this.#at++;
        const to = this.#member();
        if (from.code === null || to.code === null) throw new Unsupported();
        set.fill(1, from.code, to.code + 1);
      } else from.set.forEach((is, code) => set[code] |= is);
    }
    return isNegated ? inverted(set) : set;
  }

  /** The code is null for a set of several. */
  #member(): { readonly set: CharacterSet; readonly code: number | null } {
    const char = this.#next();
    const set = char === "\\" ? this.#escape() : one(char);
    const code = set.indexOf(1);
    return { set, code: set.indexOf(1, code + 1) < 0 ? code : null };
  }

  #escape(): CharacterSet {
    const char = this.#next();
    const control = CONTROLS[char];
    if (control !== undefined) return one(control);
    switch (char) {
      case "d":
        return DIGITS;
      case "D":
        return inverted(DIGITS);
      case "w":
        return WORDS;
      case "W":
        return inverted(WORDS);
      case "s":
        return BLANKS;
      case "S":
        return inverted(BLANKS);
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

function setWhere(is: (code: number) => boolean): CharacterSet {
  return Uint8Array.from({ length: CHARACTERS }, (_, code) => is(code) ? 1 : 0);
}

/** The same set each time: most steps of most patterns are one character. */
function one(char: string): CharacterSet {
  const code = char.charCodeAt(0);
  if (code >= CHARACTERS) throw new Unsupported();
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
const WORDS = setWhere((code) => /\w/.test(String.fromCharCode(code)));
const BLANKS = setWhere((code) => /\s/.test(String.fromCharCode(code)));
