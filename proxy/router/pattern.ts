/**
 * Regular expressions of routes. In: a pattern of a snapshot. Out: an expression that the whole text
 * must match, or why there is none.
 *
 * Clients choose the texts, so no pattern may backtrack without end. V8 goes over to its linear
 * engine after 1,000 backtracks where the process has been started with
 * `--enable-experimental-regexp-engine-on-excessive-backtracks`, but only for patterns which that
 * engine knows; whether it does, the flag `l` says (`--enable-experimental-regexp-engine`). So a
 * pattern is refused in a process without these flags too.
 */

export type CompiledPattern =
  | { readonly ok: true; readonly expression: RegExp }
  /** The reason is a clause with a remedy. */
  | { readonly ok: false; readonly reason: string };

/** Tests give one for a process without V8's flags. */
export type PatternCompiler = (pattern: string) => CompiledPattern;

/**
 * Characters of a pattern, with what it repeats by `{n,m}` written out: the linear engine takes one
 * step for each with each character of the text. Gateway API allows 1,024 for a path.
 */
const MAX_PATTERN = 1024;

/** The flag of V8 by which only its linear engine is used; an error for what that cannot do. */
const LINEAR = "l";

/** As V8 has been started with its flags. */
export function compilePattern(pattern: string): CompiledPattern {
  const size = pattern.length > MAX_PATTERN ? pattern.length : writtenOut(pattern);
  if (size > MAX_PATTERN) {
    return refused(
      pattern,
      `has ${size} characters with its repetitions written out, more than ${MAX_PATTERN}: shorten it`,
    );
  }
  if (!hasLinearEngine()) {
    return refused(
      pattern,
      "needs V8's linear engine: start the proxy with the --v8-flags of deno task proxy",
    );
  }
  try {
    // By itself: `a)|(b` would be right between the parentheses of `wholeText`.
    new RegExp(pattern, LINEAR);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return refused(
      pattern,
      message.endsWith(NOT_LINEAR)
        ? "cannot be matched in linear time: remove lookaround, back references and repetitions of " +
          "more than 16 times"
        : `cannot be compiled (${message.split(": ").at(-1)}): correct it`,
    );
  }
  return { ok: true, expression: wholeText(pattern) };
}

/** How V8's message ends. */
const NOT_LINEAR = "Cannot be executed in linear time";

/** Compiles each pattern of a change once, for the several who need it. */
export class PatternCache {
  readonly #compiled = new Map<string, CompiledPattern>();

  readonly compile: PatternCompiler = (pattern) => {
    let compiled = this.#compiled.get(pattern);
    if (compiled === undefined) {
      compiled = compilePattern(pattern);
      this.#compiled.set(pattern, compiled);
    }
    return compiled;
  };

  /** Once a change is complete. */
  clear(): void {
    this.#compiled.clear();
  }
}

export function wholeText(pattern: string): RegExp {
  return new RegExp(`^(?:${pattern})$`);
}

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

function refused(pattern: string, reason: string): CompiledPattern {
  const shown = pattern.length > 100 ? `${pattern.slice(0, 100)}…` : pattern;
  return { ok: false, reason: `the regular expression ${JSON.stringify(shown)} ${reason}` };
}

let linear: boolean | null = null;

function hasLinearEngine(): boolean {
  if (linear === null) {
    try {
      new RegExp("", LINEAR);
      linear = true;
    } catch {
      linear = false;
    }
  }
  return linear;
}

/** Characters of a pattern whose repetitions are written out. */
function writtenOut(pattern: string): number {
  /** Of each group that is open, the characters until now. */
  const sizes = [0];
  /** Of what a repetition would repeat. */
  let atom = 0;
  for (let at = 0; at < pattern.length;) {
    const char = pattern[at];
    REPETITION.lastIndex = at;
    const times = REPETITION.exec(pattern);
    if (times !== null) {
      sizes[sizes.length - 1] += atom * (Number(times[1]) - 1);
      at = REPETITION.lastIndex;
      continue;
    }
    const end = char === "[" ? classEnd(pattern, at) : at + (char === "\\" ? 2 : 1);
    atom = end - at;
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
