/**
 * Streams made out of other streams. In: a stream, others to take pieces from, random choices. Out: a
 * stream that differs by a few bytes, lines or boundaries, as HTTP Garden's mutators make them.
 */
import { bytesOf } from "../support/latin1.ts";
import type { Random } from "./random.ts";

/** A mutated stream longer than this costs time and says no more. */
const MAX_LENGTH = 8 * 1024;

/** What HTTP/1.1's grammar, or a lenient reading of it, gives a meaning. */
const MEANINGFUL = [
  ...["\r\n", "\r", "\n", "\0", ":", "\t", " ", ",", ";", "=", '"', "\\", "%", "/", "..", "?", "#"],
  ...["\x0b", "\x0c", "\x7f", "\x80", "\x85", "\xa0", "\xff", "_", "-", "+", "0", "0x", "1", "f"],
  ...["\r\n\r\n", "\n\n", "\r\n ", "0\r\n\r\n", "0\r\n", "1\r\nx\r\n", ";a=b", ';a="b"'],
  ...["chunked", "identity", "close", "keep-alive", "upgrade", "TE", "trailers", "100-continue"],
  ...["GET ", "POST ", "HEAD ", "PRI * ", " HTTP/1.1", " HTTP/1.0", " HTTP/2.0", "http://a", "//"],
  ...["%2e", "%2f", "%5c", "%00", "%41", "%zz"],
].map(bytesOf);

/** Lines that decide framing, or look as if they did. */
const LINES = [
  ...["Content-Length: 0", "Content-Length: 5", "Content-Length: 05", "Content-Length: +5"],
  ...["Content-Length: 5, 5", "Content-Length : 5", "Content-Length:5", "Content_Length: 5"],
  ...["Transfer-Encoding: chunked", "Transfer-Encoding:\tchunked", "Transfer-Encoding: Chunked"],
  ...["Transfer-Encoding: gzip, chunked", "Transfer-Encoding: chunked, identity"],
  ...["Transfer-Encoding: xchunked", "Transfer_Encoding: chunked", "Transfer-Encoding:"],
  ...["Connection: close", "Connection: keep-alive", "Connection: x", "Connection: Content-Length"],
  ...["Host: a", "Host: b", "Host:", "Expect: 100-continue", "Upgrade: h2c", "TE: trailers"],
  ...["Trailer: X", "X: y", "X:", " folded", ":", "Content-Type: application/grpc", ""],
].map((line) => bytesOf(`${line}\r\n`));

type Mutator = (
  stream: Uint8Array,
  random: Random,
  others: readonly Uint8Array[],
) => Uint8Array;

const MUTATORS: readonly Mutator[] = [
  deleteByte,
  replaceByte,
  insertByte,
  insertMeaningful,
  insertMeaningful,
  replaceWithMeaningful,
  flipCase,
  changeDigit,
  duplicateLine,
  deleteLine,
  swapLines,
  insertLine,
  insertLine,
  moveRange,
  repeatRange,
  deleteRange,
  splice,
  append,
  prepend,
];

/** `stream` after one to four mutations. */
export function mutate(
  stream: Uint8Array,
  random: Random,
  others: readonly Uint8Array[],
): Uint8Array {
  let mutated = stream;
  let times = 1;
  while (times < 4 && random.oneIn(3)) times++;
  for (; times > 0; times--) mutated = random.pick(MUTATORS)(mutated, random, others);
  return mutated.length > MAX_LENGTH ? mutated.subarray(0, MAX_LENGTH) : mutated;
}

/** `stream` with `[start, end)` replaced. */
export function replaced(
  stream: Uint8Array,
  start: number,
  end: number,
  piece: Uint8Array,
): Uint8Array {
  const result = new Uint8Array(stream.length - (end - start) + piece.length);
  result.set(stream.subarray(0, start));
  result.set(piece, start);
  result.set(stream.subarray(end), start + piece.length);
  return result;
}

const NOTHING = new Uint8Array(0);

function deleteByte(stream: Uint8Array, random: Random): Uint8Array {
  if (stream.length === 0) return stream;
  const at = random.below(stream.length);
  return replaced(stream, at, at + 1, NOTHING);
}

function replaceByte(stream: Uint8Array, random: Random): Uint8Array {
  if (stream.length === 0) return stream;
  const at = random.below(stream.length);
  return replaced(stream, at, at + 1, Uint8Array.of(random.below(256)));
}

function insertByte(stream: Uint8Array, random: Random): Uint8Array {
  const at = random.below(stream.length + 1);
  return replaced(stream, at, at, Uint8Array.of(random.below(256)));
}

function insertMeaningful(stream: Uint8Array, random: Random): Uint8Array {
  const at = random.below(stream.length + 1);
  return replaced(stream, at, at, random.pick(MEANINGFUL));
}

function replaceWithMeaningful(stream: Uint8Array, random: Random): Uint8Array {
  const [start, end] = rangeIn(stream, random, 8);
  return replaced(stream, start, end, random.pick(MEANINGFUL));
}

function flipCase(stream: Uint8Array, random: Random): Uint8Array {
  if (stream.length === 0) return stream;
  const at = random.below(stream.length);
  return replaced(stream, at, at + 1, Uint8Array.of(stream[at] ^ 0x20));
}

function changeDigit(stream: Uint8Array, random: Random): Uint8Array {
  const digits = [...stream.keys()].filter((at) => stream[at] >= 0x30 && stream[at] <= 0x39);
  if (digits.length === 0) return stream;
  const at = random.pick(digits);
  return replaced(stream, at, at + 1, Uint8Array.of(0x30 + random.below(10)));
}

function duplicateLine(stream: Uint8Array, random: Random): Uint8Array {
  const [start, end] = lineIn(stream, random);
  return replaced(stream, end, end, stream.slice(start, end));
}

function deleteLine(stream: Uint8Array, random: Random): Uint8Array {
  const [start, end] = lineIn(stream, random);
  return replaced(stream, start, end, NOTHING);
}

function swapLines(stream: Uint8Array, random: Random): Uint8Array {
  const [start, end] = lineIn(stream, random);
  const line = stream.slice(start, end);
  const without = replaced(stream, start, end, NOTHING);
  const [at] = lineIn(without, random);
  return replaced(without, at, at, line);
}

function insertLine(stream: Uint8Array, random: Random): Uint8Array {
  const [, at] = lineIn(stream, random);
  return replaced(stream, at, at, random.pick(LINES));
}

function moveRange(stream: Uint8Array, random: Random): Uint8Array {
  const [start, end] = rangeIn(stream, random, 64);
  const piece = stream.slice(start, end);
  const without = replaced(stream, start, end, NOTHING);
  const at = random.below(without.length + 1);
  return replaced(without, at, at, piece);
}

function repeatRange(stream: Uint8Array, random: Random): Uint8Array {
  const [start, end] = rangeIn(stream, random, 16);
  const piece = stream.slice(start, end);
  let result = stream;
  // Mostly once; now and then past a limit (chunk digits, methods, fields).
  const times = random.oneIn(8) ? random.between(2, 130) : 1;
  for (let i = 0; i < times; i++) result = replaced(result, end, end, piece);
  return result;
}

function deleteRange(stream: Uint8Array, random: Random): Uint8Array {
  const [start, end] = rangeIn(stream, random, 64);
  return replaced(stream, start, end, NOTHING);
}

/** The first part of one stream and the last of another. */
function splice(stream: Uint8Array, random: Random, others: readonly Uint8Array[]): Uint8Array {
  const other = random.pick(others);
  const start = random.below(stream.length + 1);
  return replaced(stream, start, stream.length, other.subarray(random.below(other.length + 1)));
}

function append(stream: Uint8Array, random: Random, others: readonly Uint8Array[]): Uint8Array {
  return replaced(stream, stream.length, stream.length, random.pick(others));
}

function prepend(stream: Uint8Array, random: Random, others: readonly Uint8Array[]): Uint8Array {
  return replaced(stream, 0, 0, random.pick(others));
}

function rangeIn(stream: Uint8Array, random: Random, longest: number): [number, number] {
  const start = random.below(stream.length + 1);
  return [start, Math.min(stream.length, start + random.between(1, longest))];
}

/** A line with its end; of a stream without lines, all of it. */
function lineIn(stream: Uint8Array, random: Random): [number, number] {
  const at = random.below(stream.length + 1);
  const start = at === 0 ? 0 : stream.lastIndexOf(0x0a, at - 1) + 1;
  const end = stream.indexOf(0x0a, start);
  return [start, end === -1 ? stream.length : end + 1];
}
