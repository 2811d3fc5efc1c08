/**
 * The steps of a regular expression, for `automaton.ts`. In: the tree of a pattern. Out: its steps as numbers, each
 * of which waits for a character, or leads on without one.
 *
 * There is a program of each pattern for as long as it is served, so that it is small: 1 KiB for most.
 */
import { CHARACTERS, type CharacterSet, type PatternTree, WORDS } from "./pattern_tree.ts";

/** Steps of a pattern with its repetitions written out. */
export const MAX_STEPS = 4096;

/** As they are numbered in a byte. */
const MAX_CLASSES = 256;

/** What a step is; what its other number means. */
export const MATCH = 0;
/** A character of a set, the other number. */
export const SET = 1;
/** Goes both ways: to the next step, and to the other one. */
export const SPLIT = 2;
/** The start of the text. */
export const START = 3;
export const END = 4;
/** A word begins or ends here. */
export const BOUNDARY = 5;
export const NO_BOUNDARY = 6;

/** Numbers of a step: its kind, the next step, and the other number. */
export const WIDTH = 3;

export interface Program {
  readonly steps: Uint16Array;
  /** Of the step that a text begins with. */
  readonly first: number;
  /** Characters that all steps treat alike are one class: the number of each symbol's. */
  readonly classOf: Uint8Array;
  readonly classes: number;
  /** A bit for each class, for each set in so many words of 32. */
  readonly accepted: Int32Array;
  readonly words: number;
  /** By class; null where no step asks for words. */
  readonly isWord: Uint8Array | null;
}

/** Null where there would be too many steps, or classes. */
export function programOf(tree: PatternTree): Program | null {
  const writer = new Writer();
  try {
    const first = writer.before(tree, 0);
    return writer.program(first);
  } catch (error) {
    if (error instanceof TooMany) return null;
    throw error;
  }
}

class TooMany extends Error {}

class Writer {
  readonly #steps: number[] = [MATCH, 0, 0];
  readonly #sets = new Map<CharacterSet, number>();
  #asksForWords = false;

  /** The step that a tree begins with, where `next` follows it. */
  before(tree: PatternTree, next: number): number {
    switch (tree.kind) {
      case "set":
        return this.#add(SET, next, this.#numberOf(tree.set));
      case "start":
        return this.#add(START, next);
      case "end":
        return this.#add(END, next);
      case "boundary":
        this.#asksForWords = true;
        return this.#add(tree.isOne ? BOUNDARY : NO_BOUNDARY, next);
      case "sequence":
        return tree.items.reduceRight((after, item) => this.before(item, after), next);
      case "choice":
        return tree.items.map((item) => this.before(item, next))
          .reduceRight((other, first) => this.#add(SPLIT, first, other));
      case "repetition":
        return this.#repeated(tree, next);
    }
  }

  program(first: number): Program {
    const sets = [...this.#sets.keys()];
    const { of, count } = classesOf(this.#asksForWords ? [...sets, WORDS] : sets);
    if (count > MAX_CLASSES) throw new TooMany();
    const words = Math.ceil(count / 32);
    const accepted = new Int32Array(sets.length * words);
    const isWord = this.#asksForWords ? new Uint8Array(count) : null;
    for (let at = 0; at < count; at++) {
      // All symbols of a class are alike.
      const symbol = of.indexOf(at);
      if (isWord !== null) isWord[at] = WORDS[symbol];
      for (let set = 0; set < sets.length; set++) {
        if (sets[set][symbol] === 1) accepted[set * words + (at >>> 5)] |= 1 << (at & 31);
      }
    }
    const steps = Uint16Array.from(this.#steps);
    return { steps, first, classOf: of, classes: count, accepted, words, isWord };
  }

  #repeated(
    { item, least, most }: PatternTree & { readonly kind: "repetition" },
    next: number,
  ): number {
    let first = next;
    if (most === Infinity) {
      first = this.#add(SPLIT, next, next);
      this.#steps[first * WIDTH + 2] = this.before(item, first);
    }
    // Those beyond the least may each be the last one.
    for (let i = most === Infinity ? least : most; i > 0; i--) {
      const inner = this.before(item, first);
      // It is empty, and so is each repetition.
      if (inner === first) break;
      first = i > least ? this.#add(SPLIT, inner, next) : inner;
    }
    return first;
  }

  #add(kind: number, next: number, other = 0): number {
    const number = this.#steps.length / WIDTH;
    if (number >= MAX_STEPS) throw new TooMany();
    this.#steps.push(kind, next, other);
    return number;
  }

  #numberOf(set: CharacterSet): number {
    let number = this.#sets.get(set);
    if (number === undefined) this.#sets.set(set, number = this.#sets.size);
    return number;
  }
}

/** The classes of symbols that none of the sets tells apart. */
function classesOf(sets: readonly CharacterSet[]) {
  const of = new Uint16Array(CHARACTERS);
  const numbers = new Int16Array(2 * CHARACTERS);
  let count = 1;
  for (const set of sets) {
    numbers.fill(-1, 0, 2 * count);
    count = 0;
    for (let symbol = 0; symbol < CHARACTERS; symbol++) {
      const pair = of[symbol] * 2 + set[symbol];
      if (numbers[pair] === -1) numbers[pair] = count++;
      of[symbol] = numbers[pair];
    }
  }
  return { of: Uint8Array.from(of), count };
}
