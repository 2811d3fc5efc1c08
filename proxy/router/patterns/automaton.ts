/**
 * A deterministic automaton of a regular expression. In: a pattern, then texts, each with the work that there may
 * be. Out: whether the pattern matches a whole text.
 *
 * No way through a pattern is followed twice for a character: all ways are followed at once, as in V8's linear
 * engine, but in a tenth of its time. The steps that are reached are a state; states are kept, as in RE2, and a
 * character then costs 3 ns. Where there is no room for a further state, the rest of the text is followed step by step.
 *
 * What a character is charged are the steps that it leads to, be its state kept or not: which texts are matched
 * must not depend on those before, or on the patterns of others who share the room.
 */
import { readPattern, symbolBeyond } from "./pattern_tree.ts";
import { type Program, programOf } from "./program.ts";
import { Reach } from "./reach.ts";
import type { PatternWork } from "./work.ts";

/** Of an automaton. */
const MAX_STATES = 256;

/** Of all automata of an event loop, in bytes as they are estimated below: some 1,000 to 10,000 patterns. */
const MAX_ROOM = 16 * 1024 * 1024;

/** Of an automaton without states. */
const AUTOMATON_BYTES = 500;
/** A state, and its transition for a class. */
const STATE_BYTES = 250;
const TRANSITION_BYTES = 4;
/** A step in a state: a number, and its digits in the key. */
const STATE_STEP_BYTES = 16;

/** What a state costs to make besides its steps, in steps. */
const STATE_WORK = 8;

/** The room of the automata whose states it counts. None is evicted while requests are compared. */
export class Room {
  #left: number;
  readonly #holders = new Set<Automaton>();
  #isFull = false;

  constructor(bytes = MAX_ROOM) {
    this.#left = bytes;
  }

  take(bytes: number, holder: Automaton): boolean {
    if (bytes > this.#left) {
      this.#isFull = true;
      return false;
    }
    this.#left -= bytes;
    this.#holders.add(holder);
    return true;
  }

  /** The configuration has changed: patterns may have gone, whose room others may have. */
  renew(bytes = MAX_ROOM): void {
    if (!this.#isFull) return;
    for (const holder of this.#holders) holder.forget();
    this.#holders.clear();
    this.#left = bytes;
    this.#isFull = false;
  }
}

/** Nothing matches from here. */
const DEAD = 0;
/** Where a text begins. One that has begun never comes back to it: no key leads there. */
const FIRST = 1;
const UNKNOWN = -1;

/** How many states there is room for at first; each time it is full it is doubled. */
const FIRST_STATES = 8;

/** Bits of a transition for the state that it leads to; those above are what it is charged. */
const STATE_BITS = 9;
const STATE_MASK = (1 << STATE_BITS) - 1;

interface States {
  /** The steps of each that wait for a character, for a boundary of a word, or for the end. */
  readonly steps: Uint16Array[];
  /** Of each, whether it follows a character of a word; false where no step asks for it. */
  readonly isAfterWord: boolean[];
  readonly numbers: Map<string, number>;
  /** By state and class. */
  transitions: Int32Array;
  /** Of each, twice what the end of the text is charged there, and 1 more where the pattern matches. */
  readonly ends: number[];
}

const REACH = new Reach();

export class Automaton {
  readonly #program: Program;
  readonly #room: Room;
  /** The steps that wait where a text begins. */
  readonly #first: Uint16Array;
  /** Null until the first text, and where there is no room for them. */
  #states: States | null = null;

  /** Null for a pattern that `readPattern` or a bound of `programOf` refuses. */
  static of(pattern: string, room: Room): Automaton | null {
    const tree = readPattern(pattern);
    const program = tree === null ? null : programOf(tree);
    return program === null ? null : new Automaton(program, room);
  }

  private constructor(program: Program, room: Room) {
    this.#program = program;
    this.#room = room;
    REACH.start(program);
    this.#first = REACH.copy();
  }

  /** Gives up the states, whose room others may have. */
  forget(): void {
    this.#states = null;
  }

  /** Whether the pattern matches the whole text; false where the work is exceeded, too. */
  matches(text: string, work: PatternWork): boolean {
    if (!work.spend(this.#first.length + 1)) return false;
    const states = this.#states ??= this.#newStates();
    if (states === null) return this.#follow(text, 0, this.#first, false, work);
    const { classOf, classes } = this.#program;
    const { left } = work;
    let { transitions } = states;
    let spent = 0;
    let state = FIRST;
    for (let i = 0; i < text.length; i++) {
      const code = text.charCodeAt(i);
      const symbol = classOf[code < 256 ? code : symbolBeyond(code)];
      let next = transitions[state * classes + symbol];
      if (next === UNKNOWN) {
        next = this.#transition(states, state, symbol, work);
        if (next === UNKNOWN) {
          const { [state]: steps } = states.steps;
          return work.spend(spent) &&
            this.#follow(text, i, steps, states.isAfterWord[state], work);
        }
        transitions = states.transitions;
      }
      spent += next >>> STATE_BITS;
      state = next & STATE_MASK;
      if (state === DEAD || spent > left) break;
    }
    if (!work.spend(spent) || state === DEAD) return false;
    const end = states.ends[state] ??= this.#end(states, state);
    return work.spend(end >>> 1) && (end & 1) === 1;
  }

  /** Null where there is no room. */
  #newStates(): States | null {
    const { classes } = this.#program;
    const bytes = AUTOMATON_BYTES + FIRST_STATES * classes * TRANSITION_BYTES;
    if (!this.#room.take(bytes, this)) return null;
    return {
      steps: [new Uint16Array(0), this.#first],
      isAfterWord: [false, false],
      numbers: new Map([["", DEAD]]),
      transitions: new Int32Array(FIRST_STATES * classes).fill(UNKNOWN),
      ends: [],
    };
  }

  /** Where a class of characters leads to, and what that is charged; `UNKNOWN` where it cannot be kept. */
  #transition(states: States, from: number, symbol: number, work: PatternWork): number {
    if (work.building <= 0) return UNKNOWN;
    const { isWord, classes } = this.#program;
    REACH.from(states.steps[from], states.steps[from].length);
    const charge = REACH.advance(this.#program, symbol, from === FIRST, states.isAfterWord[from]);
    work.building -= REACH.count + STATE_WORK;
    const steps = REACH.copy();
    const isAfterWord = steps.length > 0 && isWord?.[symbol] === 1;
    const key = steps.join(" ") + (isAfterWord ? "w" : "");
    let state = states.numbers.get(key);
    if (state === undefined) {
      state = states.steps.length;
      if (state === MAX_STATES || !this.#hasRoomFor(states, steps.length)) return UNKNOWN;
      states.steps.push(steps);
      states.isAfterWord.push(isAfterWord);
      states.numbers.set(key, state);
    }
    return states.transitions[from * classes + symbol] = charge << STATE_BITS | state;
  }

  /** Makes it, for one more state. */
  #hasRoomFor(states: States, steps: number): boolean {
    const { length } = states.transitions;
    const isFull = states.steps.length * this.#program.classes === length;
    const bytes = STATE_BYTES + STATE_STEP_BYTES * steps + (isFull ? length * TRANSITION_BYTES : 0);
    if (!this.#room.take(bytes, this)) return false;
    if (isFull) {
      const transitions = new Int32Array(2 * length).fill(UNKNOWN, length);
      transitions.set(states.transitions);
      states.transitions = transitions;
    }
    return true;
  }

  #end(states: States, state: number): number {
    const steps = states.steps[state];
    REACH.from(steps, steps.length);
    return REACH.end(this.#program, state === FIRST, states.isAfterWord[state]);
  }

  /** As `matches`, from a character on without states; the steps are of a state. */
  #follow(
    text: string,
    start: number,
    steps: Uint16Array,
    isAfterWord: boolean,
    work: PatternWork,
  ): boolean {
    const program = this.#program;
    const { classOf, isWord } = program;
    REACH.from(steps, steps.length);
    for (let i = start; i < text.length; i++) {
      const code = text.charCodeAt(i);
      const symbol = classOf[code < 256 ? code : symbolBeyond(code)];
      const charge = REACH.advance(program, symbol, i === 0, isAfterWord);
      if (!work.spend(charge) || REACH.count === 0) return false;
      isAfterWord = isWord?.[symbol] === 1;
    }
    const end = REACH.end(program, text === "", isAfterWord);
    return work.spend(end >>> 1) && (end & 1) === 1;
  }
}
