/**
 * Texts that are hard on parsers. In: a size. Out: that many bytes of one short text again and again,
 * by itself or inside of what a parser expects around it.
 */
import { Buffer } from "node:buffer";

/** What separates, quotes, escapes, opens, or may be read in two ways. */
export const PUMPS: readonly string[] = [
  " ",
  "\t",
  ",",
  ", ",
  "a,",
  ";",
  ';""',
  "; a=b",
  '"',
  '\\"',
  "\\",
  "%",
  "%2",
  "%2F",
  "[",
  "]",
  "0",
  "9",
  "a",
  "a.",
  ".",
  "../",
  "a/",
  "/",
  "//",
  ":",
  "::1,",
  "=",
  "-",
  "a-",
  "?",
  "\r\n",
  "\n",
  "a: b\r\n",
  "\0",
  "\xe9",
];

/** What stands before and behind the pump. */
export type Frame = readonly [before: string, behind: string];

/** A text of about `size` characters, with whole pumps alone. */
export function pumped(pump: string, [before, behind]: Frame, size: number): string {
  const room = Math.max(0, size - before.length - behind.length);
  const end = before.length + Math.floor(room / pump.length) * pump.length;
  // One flat string, as parsers get them, and not a tree of the parts that it was made of.
  const bytes = Buffer.alloc(end + behind.length);
  bytes.write(before, 0, "latin1");
  bytes.write(behind, end, "latin1");
  if (end > before.length) bytes.write(pump, before.length, "latin1");
  // Deno writes a long text byte by byte, which took a third of the time of all measurements.
  for (let written = pump.length; before.length + written < end; written *= 2) {
    const from = before.length;
    bytes.copyWithin(from + written, from, Math.min(from + written, end - written));
  }
  return bytes.toString("latin1");
}
