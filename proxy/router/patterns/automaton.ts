/**
 * A deterministic automaton of a regular expression, for long texts. In: a pattern, then texts. Out: whether
 * it matches a whole text, in a step for each character, or null where there would be too many states.
 *
 * V8's linear engine follows all ways through a pattern at once, and takes 30 to 70 ns for each of them and each
 * character: a path of 4,000 characters took the event loop 0.4 to 1.2 ms for patterns as `(a+)+$`. States are made
 * when a text first leads there, as in RE2.
 */
import { type CharacterSet, type PatternTree, readPattern } from "./pattern_tree.ts";

/** Of an automaton; texts that lead to further ones are left to V8. */
const MAX_STATES = 256;

/** States times classes of characters: 32 KiB. */
const MAX_TRANSITIONS = 16_384;

/** Steps that are followed to find states: some 30 ms of CPU, once for a pattern. */
const MAX_WORK = 1 << 18;

/** Steps of a pattern with its repetitions written out. */
const MAX_STEPS = 4096;

/** Of all automata of an event loop, in bytes as they are estimated below: about 200 to 2,000 patterns. */
const MAX_ROOM = 16 * 1024 * 1024;

const PATTERN_BYTES = 200;
const STEP_BYTES = 100;
/** Of a set of characters, which equal steps share only where it is one character. */
const SET_BYTES = 400;
const STATE_BYTES = 200;
/** Of a step in a state: a number, and its digits in the key. */
const STATE_STEP_BYTES = 16;

/** In bytes. */
class Room {
  #left = MAX_ROOM;
  /** Something has found no room. */
  isFull = false;

  take(bytes: number): boolean {
    if (bytes > this.#left) {
      this.isFull = true;
      return false;
    }
    this.#left -= bytes;
    return true;
  }
}

/** A step of the pattern; `next` and `other` are indexes of steps. */
type Step =
  | { readonly kind: "set"; readonly set: CharacterSet; readonly next: number }
  | { readonly kind: "split"; readonly next: number; readonly other: number }
  | { readonly kind: "start" | "end"; readonly next: number }
  | { readonly kind: "match" };

/** Nothing matches from here. */
const DEAD = 0;
const UNKNOWN = -1;

/**
 * Of the patterns that have had long texts. None is evicted while requests are compared: with more patterns
 * than fit, each request would build them all anew. V8 matches those that do not fit.
 */
export class Automata {
  /** By pattern; null where there can be none. */
  readonly #all = new Map<string, Automaton | null>();
  #room = new Room();

  /** Whether the pattern matches the whole text; null where only V8 can tell. */
  matches(pattern: string, text: string): boolean | null {
    let automaton = this.#all.get(pattern);
    if (automaton === undefined) {
      if (!this.#room.take(PATTERN_BYTES + 2 * pattern.length)) return null;
      automaton = Automaton.of(pattern, this.#room);
      this.#all.set(pattern, automaton);
    }
    return automaton === null ? null : automaton.matches(text);
  }

  /** The configuration has changed: patterns may have gone, whose room others may have. */
  makeRoom(): void {
    if (!this.#room.isFull) return;
    this.#all.clear();
    this.#room = new Room();
  }
}

export class Automaton {
  readonly #steps: readonly Step[];
  readonly #classes: CharacterClasses;
  readonly #room: Room;
  readonly #transitions: Int16Array;
  /** The steps of each state, which wait for a character or the end. */
  readonly #states: number[][] = [];
  readonly #numbers = new Map<string, number>();
  /** By state, whether the pattern matches where the text ends: 1, 0, or `UNKNOWN`. */
  readonly #isMatch: Int8Array;
  readonly #first: number;
  /** Steps that were followed. */
  #work = 0;

  /** Null for a pattern that `readPattern` or the bound of steps refuses, or for which there is no room. */
  static of(pattern: string, room = new Room()): Automaton | null {
    const tree = readPattern(pattern);
    const program = tree === null ? null : programOf(tree);
    if (program === null) return null;
    const { steps } = program;
    const classes = new CharacterClasses(steps);
    // Nearly all patterns have fewer states than steps.
    const states = Math.min(
      MAX_STATES,
      2 * steps.length + 16,
      Math.floor(MAX_TRANSITIONS / classes.count),
    );
    const bytes = STEP_BYTES * steps.length + SET_BYTES * classes.sets +
      2 * states * classes.count;
    return room.take(bytes) ? new Automaton(program, classes, states, room) : null;
  }

  private constructor(
    { steps, first }: Program,
    classes: CharacterClasses,
    states: number,
    room: Room,
  ) {
    this.#steps = steps;
    this.#classes = classes;
    this.#room = room;
    this.#transitions = new Int16Array(states * classes.count).fill(UNKNOWN);
    this.#isMatch = new Int8Array(states).fill(UNKNOWN);
    this.#state([]);
    // Where it is reached again, the text no longer starts there: a state of its own.
    this.#first = this.#state(this.#reached([first], true, false), "start");
  }

  /** Null for a text with characters beyond Latin-1, or that leads to too many states. */
  matches(text: string): boolean | null {
    const { of: classOf, count } = this.#classes;
    const transitions = this.#transitions;
    let state = this.#first;
    if (state === UNKNOWN) return null;
    for (let i = 0; i < text.length; i++) {
      const code = text.charCodeAt(i);
      if (code > 0xff) return null;
      const at = state * count + classOf[code];
      let next = transitions[at];
      if (next === UNKNOWN) {
        next = this.#follow(state, code);
        if (next === UNKNOWN) return null;
        transitions[at] = next;
      }
      if (next === DEAD) return false;
      state = next;
    }
    return this.#matchesAtEnd(state);
  }

  /** The state that a character leads to, or `UNKNOWN` where there is no room for it. */
  #follow(state: number, code: number): number {
    if (this.#work > MAX_WORK) return UNKNOWN;
    const targets: number[] = [];
    for (const index of this.#states[state]) {
      const step = this.#steps[index];
      if (step.kind === "set" && step.set[code] === 1) targets.push(step.next);
    }
    return this.#state(this.#reached(targets, false, false));
  }

  #matchesAtEnd(state: number): boolean {
    if (this.#isMatch[state] === UNKNOWN) {
      // The empty text starts and ends at once.
      const reached = this.#reached(this.#states[state], state === this.#first, true);
      const isMatch = reached.some((index) => this.#steps[index].kind === "match");
      this.#isMatch[state] = isMatch ? 1 : 0;
    }
    return this.#isMatch[state] === 1;
  }

  /** The steps that are reached without a character, in order. */
  #reached(from: readonly number[], isAtStart: boolean, isAtEnd: boolean): number[] {
    const seen = new Set<number>();
    const open = [...from];
    const waiting: number[] = [];
    for (let index = open.pop(); index !== undefined; index = open.pop()) {
      if (seen.has(index)) continue;
      seen.add(index);
      const step = this.#steps[index];
      if (step.kind === "split") open.push(step.next, step.other);
      else if (step.kind === "start") {
        if (isAtStart) open.push(step.next);
      } else if (step.kind === "end" && isAtEnd) open.push(step.next);
      else waiting.push(index);
    }
    this.#work += seen.size;
    return waiting.sort((a, b) => a - b);
  }

  #state(steps: number[], place = ""): number {
    const key = place + steps.join(" ");
    const known = this.#numbers.get(key);
    if (known !== undefined) return known;
    if (this.#states.length >= this.#isMatch.length) return UNKNOWN;
    if (!this.#room.take(STATE_BYTES + STATE_STEP_BYTES * steps.length)) return UNKNOWN;
    const number = this.#states.push(steps) - 1;
    this.#numbers.set(key, number);
    return number;
  }
}

interface Program {
  readonly steps: readonly Step[];
  /** Index of the step that a text begins with. */
  readonly first: number;
}

/** The steps of a tree; null where there would be too many. */
function programOf(tree: PatternTree): Program | null {
  const steps: Step[] = [{ kind: "match" }];
  const add = (step: Step): number => {
    if (steps.length >= MAX_STEPS) throw new TooMany();
    return steps.push(step) - 1;
  };
  /** The step that a tree begins with, where `next` follows it. */
  const before = (tree: PatternTree, next: number): number => {
    switch (tree.kind) {
      case "set":
        return add({ kind: "set", set: tree.set, next });
      case "start":
      case "end":
        return add({ kind: tree.kind, next });
      case "sequence":
        return tree.items.reduceRight((after, item) => before(item, after), next);
      case "choice":
        return tree.items.map((item) => before(item, next))
          .reduceRight((other, first) => add({ kind: "split", next: first, other }));
      case "repetition":
        return repeated(tree, next);
    }
  };
  const repeated = (
    { item, least, most }: PatternTree & { kind: "repetition" },
    next: number,
  ): number => {
    let first = next;
    if (most === Infinity) {
      const split = { kind: "split" as const, next, other: next };
      first = add(split);
      split.other = before(item, first);
    }
    // Those beyond the least may each be the last one.
    for (let i = most === Infinity ? least : most; i > 0; i--) {
      const inner = before(item, first);
      // It is empty, and so is each repetition.
      if (inner === first) break;
      first = i > least ? add({ kind: "split", next: inner, other: next }) : inner;
    }
    return first;
  };
  try {
    return { first: before(tree, 0), steps };
  } catch (error) {
    if (error instanceof TooMany) return null;
    throw error;
  }
}

class TooMany extends Error {}

/** Characters that all steps treat alike are one class. */
class CharacterClasses {
  readonly of = new Uint8Array(256);
  readonly count: number = 1;
  /** How many sets the steps have. */
  readonly sets: number;

  constructor(steps: readonly Step[]) {
    const { of } = this;
    const known = new Set<CharacterSet>();
    const numbers = new Int16Array(2 * of.length);
    for (const step of steps) {
      if (step.kind !== "set" || known.has(step.set)) continue;
      known.add(step.set);
      numbers.fill(UNKNOWN);
      let count = 0;
      for (let code = 0; code < of.length; code++) {
        const pair = of[code] * 2 + step.set[code];
        if (numbers[pair] === UNKNOWN) numbers[pair] = count++;
        of[code] = numbers[pair];
      }
      this.count = count;
    }
    this.sets = known.size;
  }
}
