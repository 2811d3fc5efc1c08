/**
 * Regular expressions of a snapshot. In: a pattern. Out: an expression that the whole text must match, or
 * a part of it, or why there is none.
 *
 * Clients choose the texts, so no pattern may backtrack without end. V8 goes over to its linear
 * engine after 1,000 backtracks where the process has been started with
 * `--enable-experimental-regexp-engine-on-excessive-backtracks`, but only for patterns which that
 * engine knows; whether it does, the flag `l` says (`--enable-experimental-regexp-engine`). So a
 * pattern is refused in a process without these flags too.
 */
import { MAX_PATTERN, writtenOut } from "../../shared/path/pattern_size.ts";

export type CompiledPattern =
  | { readonly ok: true; readonly expression: RegExp }
  /** The reason is a clause with a remedy. */
  | { readonly ok: false; readonly reason: string };

/** Tests give one for a process without V8's flags. */
export type PatternCompiler = (pattern: string) => CompiledPattern;

/** The flag of V8 by which only its linear engine is used; an error for what that cannot do. */
const LINEAR = "l";

/** As V8 has been started with its flags. */
export function compilePattern(pattern: string): CompiledPattern {
  return compileAs(pattern, wholeText);
}

/** As `compilePattern`, but the pattern may match any part of a text; the first match counts. */
export function compileSearch(pattern: string): CompiledPattern {
  return compileAs(pattern, (text) => new RegExp(text));
}

function compileAs(pattern: string, make: (pattern: string) => RegExp): CompiledPattern {
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
  return { ok: true, expression: make(pattern) };
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
