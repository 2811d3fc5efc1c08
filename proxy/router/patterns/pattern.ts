/**
 * Regular expressions of a snapshot. In: a pattern. Out: whether it matches a whole text, or an expression
 * to be searched in one, or why there is none.
 *
 * Clients choose the texts, so no pattern may backtrack without end. V8 goes over to its linear
 * engine after 1,000 backtracks where the process has been started with
 * `--enable-experimental-regexp-engine-on-excessive-backtracks`, but only for patterns which that
 * engine knows; whether it does, the flag `l` says (`--enable-experimental-regexp-engine`). So a
 * pattern is refused in a process without these flags too. Long texts are matched by an automaton, as V8's
 * linear engine takes 0.1 µs and more for each of their characters.
 */
import { MAX_PATTERN, writtenOut } from "../../../shared/path/pattern_size.ts";
import { Automata } from "./automaton.ts";

export type CompiledPattern =
  | { readonly ok: true; readonly matches: (text: string) => boolean }
  | RefusedPattern;

export type CompiledSearch = { readonly ok: true; readonly expression: RegExp } | RefusedPattern;

/** The reason is a clause with a remedy. */
interface RefusedPattern {
  readonly ok: false;
  readonly reason: string;
}

/** Tests give one for a process without V8's flags. */
export type PatternCompiler = (pattern: string) => CompiledPattern;

/** The flag of V8 by which only its linear engine is used; an error for what that cannot do. */
const LINEAR = "l";

/** Characters. Below it V8's own engine is faster where a pattern does not backtrack. */
const LONG = 256;

const automata = new Automata();

/** As V8 has been started with its flags. */
export function compilePattern(pattern: string): CompiledPattern {
  const refusal = faultOf(pattern);
  if (refusal !== null) return refusal;
  const matchesWhole = wholeText(pattern);
  return {
    ok: true,
    matches: (text) =>
      (text.length > LONG ? automata.matches(pattern, text) : null) ?? matchesWhole(text),
  };
}

/** As `compilePattern`, but the pattern may match any part of a text; the first match counts. */
export function compileSearch(pattern: string): CompiledSearch {
  return faultOf(pattern) ?? { ok: true, expression: new RegExp(pattern) };
}

/** Null for a pattern that V8 matches in linear time. */
function faultOf(pattern: string): RefusedPattern | null {
  const size = writtenOut(pattern);
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
  return null;
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
    automata.makeRoom();
  }
}

/** Whether the pattern matches a whole text, as V8 finds it. */
export function wholeText(pattern: string): (text: string) => boolean {
  const expression = new RegExp(`^(?:${pattern})$`);
  return (text) => expression.test(text);
}

function refused(pattern: string, reason: string): RefusedPattern {
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
