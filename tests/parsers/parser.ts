/**
 * What the table of parsers is made of. In: a function that reads, and how large its input may be. Out:
 * a parser with the inputs that it is tried on.
 */
import type { Pair } from "./growth.ts";
import { type Frame, pumped, PUMPS } from "./pumps.ts";

/** A function that reads what others wrote, and what it is tried on. */
export interface Parser {
  /** What it reads, as people call it. */
  readonly name: string;
  /** The functions that do it, as `proxy/http/accept.ts prefersJson`. */
  readonly functions: readonly string[];
  readonly inputs: () => Iterable<Input>;
}

export interface Input extends Pair {
  readonly name: string;
}

interface TextParser {
  readonly name: string;
  readonly functions: readonly string[];
  /** Of the largest input. */
  readonly bytes: number;
  /** In which the pumps get deeper; they are tried without any too. */
  readonly frames?: readonly Frame[];
  /** Besides `PUMPS`. */
  readonly pumps?: readonly string[];
  /** In place of `PUMPS`, where they are all the same to it. */
  readonly only?: readonly string[];
  /** Prepares a text, and gives what reads it. */
  readonly read: (text: string) => () => void;
}

const BARE: Frame = ["", ""];

/** A parser of text, of which every kind is tried. */
export function textParser(parser: TextParser): Parser {
  const { name, functions, bytes, frames = [], pumps = [], only = PUMPS, read } = parser;
  return {
    name,
    functions,
    *inputs() {
      for (const frame of [BARE, ...frames]) {
        for (const pump of [...only, ...pumps]) {
          yield {
            name: nameOf(pump, frame),
            whole: read(pumped(pump, frame, bytes)),
            sixteenth: read(pumped(pump, frame, bytes / 16)),
          };
        }
      }
    },
  };
}

interface ListParser {
  readonly name: string;
  readonly functions: readonly string[];
  /** Elements of the longest list. */
  readonly count: number;
  /** Prepares lists of `count` elements by what they are of, and gives what reads each. */
  readonly read: Readonly<Record<string, (count: number) => () => void>>;
}

/** A parser of lists, whose elements count rather than their bytes. */
export function listParser({ name, functions, count, read }: ListParser): Parser {
  return {
    name,
    functions,
    *inputs() {
      for (const [element, prepare] of Object.entries(read)) {
        yield { name: element, whole: prepare(count), sixteenth: prepare(count / 16) };
      }
    },
  };
}

function nameOf(pump: string, [before, behind]: Frame): string {
  const shown = JSON.stringify(`${before.slice(-24)}${pump}`);
  return `${shown} … ${JSON.stringify(behind.slice(0, 12))}`;
}
