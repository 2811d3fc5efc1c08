/**
 * Which steps of a program a character leads to. In: the steps that wait, and the character. Out: those that wait
 * behind it, and how many were looked at: none of them twice.
 *
 * Its lists are used again and again: one for an event loop, as no text is left half-way.
 */
import {
  BOUNDARY,
  END,
  MATCH,
  MAX_STEPS,
  NO_BOUNDARY,
  type Program,
  SET,
  SPLIT,
  START,
  WIDTH,
} from "./program.ts";

/** What is known of the place in the text. */
const AT_START = 1;
const AT_END = 2;
/** A word begins or ends there, or none; where the next character is not known, neither. */
const AT_BOUNDARY = 4;
const NOT_AT_BOUNDARY = 8;

const MAX_TURN = 0x7fffffff;

export class Reach {
  /** The steps that wait, so many of them. */
  #waiting = new Uint16Array(MAX_STEPS);
  count = 0;
  #before = new Uint16Array(MAX_STEPS);
  readonly #open = new Uint16Array(MAX_STEPS);
  #opened = 0;
  /** By step, the turn in which it was opened last. */
  readonly #seen = new Int32Array(MAX_STEPS);
  #turn = 0;

  /** As a text begins. */
  start(program: Program): void {
    this.#begin();
    this.#push(program.first);
    this.#settle(program.steps, AT_START);
  }

  /** Goes on from steps that waited before. */
  from(steps: Uint16Array, count: number): void {
    for (let i = 0; i < count; i++) this.#waiting[i] = steps[i];
    this.count = count;
  }

  /** In ascending order. */
  copy(): Uint16Array {
    return this.#waiting.slice(0, this.count).sort();
  }

  /** Takes a character of a class. What it is charged: 1, and the steps that it leads to. */
  advance(program: Program, symbol: number, isAtStart: boolean, isAfterWord: boolean): number {
    const { steps, accepted, words, isWord } = program;
    let charge = 1;
    if (isWord !== null) {
      const isBoundary = isAfterWord !== (isWord[symbol] === 1);
      charge += this.#decide(steps, isAtStart, isBoundary);
    }
    const before = this.#waiting;
    this.#waiting = this.#before;
    this.#before = before;
    this.#begin();
    const word = symbol >>> 5;
    const bit = 1 << (symbol & 31);
    for (let i = 0; i < this.count; i++) {
      const at = before[i] * WIDTH;
      if (steps[at] === SET && (accepted[steps[at + 2] * words + word] & bit) !== 0) {
        this.#push(steps[at + 1]);
      }
    }
    return charge + this.#settle(steps, 0);
  }

  /** Ends the text: twice what that is charged, and 1 more where the pattern matches. */
  end(program: Program, isAtStart: boolean, isAfterWord: boolean): number {
    const charge = this.#decide(program.steps, isAtStart, isAfterWord, AT_END);
    const isMatch = this.#waiting.subarray(0, this.count).includes(MATCH);
    return charge * 2 + (isMatch ? 1 : 0);
  }

  /** Goes on where steps wait for what is known now. How many steps were looked at. */
  #decide(steps: Uint16Array, isAtStart: boolean, isBoundary: boolean, place = 0): number {
    this.#begin();
    for (let i = 0; i < this.count; i++) this.#push(this.#waiting[i]);
    return this.#settle(
      steps,
      place | (isAtStart ? AT_START : 0) | (isBoundary ? AT_BOUNDARY : NOT_AT_BOUNDARY),
    );
  }

  #begin(): void {
    if (this.#turn === MAX_TURN) {
      this.#seen.fill(0);
      this.#turn = 0;
    }
    this.#turn++;
    this.#opened = 0;
  }

  #push(step: number): void {
    if (this.#seen[step] === this.#turn) return;
    this.#seen[step] = this.#turn;
    this.#open[this.#opened++] = step;
  }

  /** Follows the open steps until those remain that wait. How many steps were looked at. */
  #settle(steps: Uint16Array, place: number): number {
    let looked = 0;
    let count = 0;
    while (this.#opened > 0) {
      const step = this.#open[--this.#opened];
      const at = step * WIDTH;
      looked++;
      switch (steps[at]) {
        case SPLIT:
          this.#push(steps[at + 1]);
          this.#push(steps[at + 2]);
          break;
        case START:
          if ((place & AT_START) !== 0) this.#push(steps[at + 1]);
          break;
        case END:
          if ((place & AT_END) !== 0) this.#push(steps[at + 1]);
          else this.#waiting[count++] = step;
          break;
        case BOUNDARY:
        case NO_BOUNDARY: {
          const isBoundary = steps[at] === BOUNDARY;
          if ((place & (AT_BOUNDARY | NOT_AT_BOUNDARY)) === 0) this.#waiting[count++] = step;
          else if (isBoundary === ((place & AT_BOUNDARY) !== 0)) this.#push(steps[at + 1]);
          break;
        }
        default:
          this.#waiting[count++] = step;
      }
    }
    this.count = count;
    return looked;
  }
}
