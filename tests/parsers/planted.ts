/**
 * Parsers that are known to be slow, and others that are not. In: nothing. Out: what the measurement
 * has to tell apart. The slow ones are such as Pingress had.
 */
import { listParser, type Parser, textParser } from "./parser.ts";

const BYTES = 4 * 1024;

/** Each is to be found. */
export const QUADRATIC: readonly Parser[] = [
  planted("trims by a search for blanks at the end", ["a", "a"], [" ", "\t"], (text) => {
    return text.replace(/^[ \t]+|[ \t]+$/g, "");
  }),
  planted("looks for a colon between two repetitions", ["", "x"], [":", "a:"], (text) => {
    return /^[\da-f:]*:[\da-f:]*\/0$/i.test(text);
  }),
  planted("counts the quotes before each element", ["", ""], [";", ';""'], (text) => {
    let at = text.indexOf(";");
    let quotes = 0;
    for (; at !== -1; at = text.indexOf(";", at + 1)) quotes += text.slice(0, at).split('"').length;
    return quotes;
  }),
  listParser({
    name: "looks each element up in a list",
    functions: [],
    count: 2048,
    read: {
      names: (count) => {
        const names = Array.from({ length: count }, (_, i) => `name-${i}`);
        return () => names.every((name) => names.includes(name));
      },
    },
  }),
];

/** None is to be found. */
export const LINEAR: readonly Parser[] = [
  planted("trims by index", ["a", "a"], [" ", "a", ","], (text) => text.trim()),
  planted("splits", ["", ""], [",", "a,", "a"], (text) => {
    return text.split(",").map((part) => part.trim());
  }),
  planted("hardly does anything", ["", ""], [" ", "a"], (text) => text.length),
  planted("makes an object of each element", ["", ""], [",", "a,", "a"], (text) => {
    return text.split(",").map((part, i) => ({ part, i }));
  }),
  listParser({
    name: "looks each element up in a set",
    functions: [],
    count: 2048,
    read: {
      names: (count) => {
        const names = Array.from({ length: count }, (_, i) => `name-${i}`);
        return () => {
          const set = new Set(names);
          return names.every((name) => set.has(name));
        };
      },
    },
  }),
];

function planted(
  name: string,
  frame: readonly [string, string],
  only: readonly string[],
  parse: (text: string) => unknown,
): Parser {
  return textParser({
    name,
    functions: [],
    bytes: BYTES,
    frames: [frame],
    only,
    read: (text) => () => parse(text),
  });
}
