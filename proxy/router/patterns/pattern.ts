/**
 * Regular expressions of a snapshot. In: a pattern. Out: whether it matches a whole text, or an expression
 * to be searched in one, or why there is none.
 *
 * Clients choose the texts, so no pattern may backtrack without end, and all patterns of a request together may
 * take no more than its `PatternWork`. So automata match, which count their steps. V8 finds groups, and matches the
 * few patterns that no automaton reads, where it is known before that it will be done in time.
 *
 * V8 goes over to its linear engine after 1,000 backtracks where the process has been started with
 * `--enable-experimental-regexp-engine-on-excessive-backtracks`, but only for patterns which that
 * engine knows; whether it does, the flag `l` says (`--enable-experimental-regexp-engine`). So a
 * pattern is refused in a process without these flags too.
 */
import { literalStart } from "../../../shared/path/literal_start.ts";
import { MAX_PATTERN, writtenOut } from "../../../shared/path/pattern_size.ts";
import { Automaton, Room } from "./automaton.ts";
import type { PatternWork } from "./work.ts";

export type CompiledPattern =
  | { readonly ok: true; readonly matches: Matches }
  | RefusedPattern;

/** False where the work is exceeded, too: whoever has given it looks at that in the end. */
export type Matches = (text: string, work: PatternWork) => boolean;

/** With the groups of a match; null where finding it would exceed the work, too: nothing is searched then. */
export type PatternSearch = (text: string, work: PatternWork) => RegExpExecArray | null;

export type CompiledSearch =
  | {
    readonly ok: true;
    /** Whether some part of the text matches; as `Matches`. */
    readonly isIn: Matches;
    /** The first match. */
    readonly exec: PatternSearch;
  }
  | RefusedPattern;

/** The reason is a clause with a remedy. */
interface RefusedPattern {
  readonly ok: false;
  readonly reason: string;
}

/** Tests give one for a process without V8's flags. */
export type PatternCompiler = (pattern: string) => CompiledPattern;

/** The flag of V8 by which only its linear engine is used; an error for what that cannot do. */
const LINEAR = "l";

/** Of the automata of this event loop. */
const room = new Room();

/** As V8 has been started with its flags. */
export function compilePattern(pattern: string): CompiledPattern {
  return faultOf(pattern) ?? { ok: true, matches: matcherOf(pattern) };
}

/** Matches whole texts by a pattern that is right. */
export function matcherOf(pattern: string): Matches {
  const automaton = Automaton.of(pattern, room);
  if (automaton === null) return foreign(pattern);
  return (text, work) => automaton.matches(text, work);
}

/** As `compilePattern`, but the pattern may match any part of a text; the first match counts. */
export function compileSearch(pattern: string): CompiledSearch {
  const refusal = faultOf(pattern);
  if (refusal !== null) return refusal;
  const expression = new RegExp(pattern);
  const size = writtenOut(pattern);
  // V8 copies the groups of each way through the pattern that it follows.
  const price = 1 + (pattern.split("(").length - 1) / 32;
  /** Undefined until it is needed. */
  let before: Automaton | null | undefined;
  let around: Automaton | null | undefined;
  const isAffordable = (text: string, work: PatternWork) => {
    const most = size * price * (text.length + 1);
    if (most <= work.left) return work.spend(most);
    // V8 follows the same steps as an automaton.
    if (before === undefined) before = Automaton.of(`[^]*(?:${pattern})`, room);
    if (before === null) return work.spend(most);
    const { left } = work;
    before.matches(text, work);
    return !work.isExceeded && work.spend((left - work.left) * (price - 1));
  };
  return {
    ok: true,
    isIn: (text, work) => {
      if (around === undefined) around = Automaton.of(`[^]*(?:${pattern})[^]*`, room);
      if (around !== null) return around.matches(text, work);
      return work.spend(V8_STEP * size * (text.length + 1)) && expression.test(text);
    },
    exec: (text, work) => isAffordable(text, work) ? expression.exec(text) : null,
  };
}

/** A pattern that V8 has to match, and that is charged as if each of its characters matched each of the text. */
function foreign(pattern: string): Matches {
  const start = literalStart(pattern);
  const charge = V8_STEP * writtenOut(pattern);
  const matches = wholeText(pattern);
  return (text, work) =>
    text.startsWith(start)
      ? work.spend(charge * (text.length + 1)) && matches(text)
      : work.spend(start.length + 1) && false;
}

/** Of V8's linear engine, in those of an automaton. */
const V8_STEP = 4;

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
    room.renew();
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
