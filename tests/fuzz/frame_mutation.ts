/**
 * Streams of HTTP/2 made out of others. In: a stream, others to take frames from, random choices.
 * Out: one that differs in frames, in what their headers say, in header blocks, or in a few bytes.
 */
import {
  type Field,
  FLAG,
  FRAME,
  frame,
  goAway,
  join,
  literals,
  rstStream,
  SETTING,
  settings,
  u32,
  windowUpdate,
} from "../support/h2_frames.ts";
import { type FrameList, joinFrames, type RawFrame, splitFrames } from "./frame_list.ts";
import { mutateBlock } from "./hpack_fuzzer.ts";
import type { Random } from "./random.ts";

/** A mutated stream longer than this costs time and says no more. */
const MAX_LENGTH = 256 * 1024;

const TYPES = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 0x10, 0xff];
const NUMBERS = [0, 1, 2, 0x7fff, 16_384, 0x7ffffffe, 0x7fffffff, 0x80000000, 0xffffffff];

/** Fields that a head must not have, or not so. */
const EVIL: readonly Field[] = [
  [":method", "GET"],
  [":method", "get"],
  [":method", "CONNECT"],
  [":method", "TRACE"],
  [":method", "G T"],
  [":path", ""],
  [":path", "*"],
  [":path", "a"],
  [":path", "/a b"],
  [":path", "/a\r\nX: y"],
  [":path", "/..%2f../%00"],
  [":path", "//a/../b#c"],
  [":path", "http://b.test/"],
  [":scheme", "ftp"],
  [":scheme", ""],
  [":authority", ""],
  [":authority", "a@b"],
  [":authority", "a.test:99999"],
  [":authority", "a b"],
  [":status", "200"],
  [":status", "101"],
  [":status", "100"],
  [":status", "0"],
  [":protocol", "websocket"],
  [":protocol", "h2c"],
  [":unknown", "x"],
  ["connection", "close"],
  ["keep-alive", "1"],
  ["proxy-connection", "close"],
  ["transfer-encoding", "chunked"],
  ["upgrade", "h2c"],
  ["te", "gzip"],
  ["host", "b.test"],
  ["host", "a.test"],
  ["content-length", "5"],
  ["content-length", "+5"],
  ["content-length", "5, 5"],
  ["content-length", "99999999999999999999"],
  ["content-length", "-1"],
  ["Upper", "x"],
  ["", "x"],
  ["a:b", "x"],
  ["a b", "x"],
  ["x", " x"],
  ["x", "a\r\nb: c"],
  ["x", "\0"],
  ["expect", "x"],
  ["expect", "100-continue"],
  ["trailer", "content-length"],
  ["x-forwarded-for", "1.2.3.4"],
  ["cookie", "a\nb"],
];

type FrameMutator = (
  frames: RawFrame[],
  random: Random,
  others: readonly FrameList[],
) => void;

const MUTATORS: readonly FrameMutator[] = [
  changeHeader,
  changeHeader,
  changeNumber,
  changeBlock,
  changeBlock,
  addEvil,
  addEvil,
  resize,
  remove,
  repeat,
  swap,
  move,
  insert,
  takeFromOther,
];

/** `stream` after one to four mutations. */
export function mutateFrames(
  stream: Uint8Array,
  random: Random,
  others: readonly Uint8Array[],
): Uint8Array {
  let times = 1;
  while (times < 4 && random.oneIn(3)) times++;
  const list = splitFrames(stream);
  const frames = [...list.frames];
  const lists = [splitFrames(random.pick(others))];
  for (; times > 0; times--) random.pick(MUTATORS)(frames, random, lists);
  let mutated = joinFrames({ ...list, frames });
  if (random.oneIn(10)) mutated = mutateBlock(mutated, random);
  if (random.oneIn(20)) mutated = mutated.slice(0, random.below(mutated.length + 1));
  return mutated.length > MAX_LENGTH ? mutated.slice(0, MAX_LENGTH) : mutated;
}

/** Puts `change` of a random frame in its place; of one that `fits`, where there is one. */
function replaceOne(
  frames: RawFrame[],
  random: Random,
  change: (frame: RawFrame) => Partial<RawFrame>,
  fits: (frame: RawFrame) => boolean = () => true,
): void {
  const fitting = [...frames.keys()].filter((at) => fits(frames[at]));
  if (fitting.length === 0) return;
  const at = random.pick(fitting);
  const changed = { ...frames[at], ...change(frames[at]) };
  // A payload of another length has a header that says so, unless that is what was changed.
  const lies = changed.length !== frames[at].length;
  frames[at] = { ...changed, length: lies ? changed.length : changed.payload.length };
}

function changeHeader(frames: RawFrame[], random: Random): void {
  replaceOne(frames, random, ({ flags, id, length }) => {
    switch (random.below(5)) {
      case 0:
        return { flags: flags ^ 1 << random.below(8) };
      case 1:
        return { type: random.pick(TYPES) };
      case 2:
        return { id: random.pick([0, id ^ 1, id + 2, id - 2, id + 0x80000000, 101]) >>> 0 };
      case 3:
        return { id: random.pick(NUMBERS) };
      default:
        return { length: Math.max(0, length + random.pick([-5, -1, 1, 8, 16_384])) };
    }
  });
}

/** Another number in SETTINGS, WINDOW_UPDATE, RST_STREAM, GOAWAY or PRIORITY. */
function changeNumber(frames: RawFrame[], random: Random): void {
  replaceOne(frames, random, ({ type, payload }) => {
    const at = type === FRAME.SETTINGS
      ? 6 * random.below(Math.floor(payload.length / 6)) + 2
      : 4 * random.below(Math.floor(payload.length / 4));
    const changed = payload.slice();
    changed.set(u32(random.pick(NUMBERS)), at);
    return { payload: changed };
  }, ({ type, payload }) => type >= 2 && type <= 8 && payload.length >= 6);
}

function isHead({ type }: RawFrame): boolean {
  return type === FRAME.HEADERS || type === FRAME.CONTINUATION;
}

function changeBlock(frames: RawFrame[], random: Random): void {
  replaceOne(
    frames,
    random,
    ({ payload }) => ({ payload: mutateBlock(payload, random) }),
    isHead,
  );
}

/** Fields that do not belong, before or behind the others; sometimes very many. */
function addEvil(frames: RawFrame[], random: Random): void {
  replaceOne(frames, random, ({ payload, flags }) => {
    if ((flags & (FLAG.PADDED | FLAG.PRIORITY)) !== 0) return {};
    const fields = Array.from({ length: random.between(1, 2) }, () => random.pick(EVIL));
    const times = random.oneIn(10) ? 120 : 1;
    const evil = join(...new Array(times).fill(literals(fields)));
    return { payload: random.oneIn(3) ? join(evil, payload) : join(payload, evil) };
  }, isHead);
}

function resize(frames: RawFrame[], random: Random): void {
  replaceOne(frames, random, ({ payload }) => {
    const length = random.pick([0, 1, payload.length - 1, payload.length + 1, 16_384, 16_385]);
    const resized = new Uint8Array(Math.max(0, length));
    resized.set(payload.subarray(0, resized.length));
    return { payload: resized };
  });
}

function remove(frames: RawFrame[], random: Random): void {
  frames.splice(random.below(frames.length + 1), random.between(1, 3));
}

function repeat(frames: RawFrame[], random: Random): void {
  if (frames.length === 0) return;
  const at = random.below(frames.length);
  // Mostly once; now and then past a budget.
  const times = random.oneIn(12) ? random.between(2, 1500) : 1;
  if (frames[at].payload.length * times > MAX_LENGTH) return;
  frames.splice(at, 0, ...new Array(times).fill(frames[at]));
}

function swap(frames: RawFrame[], random: Random): void {
  if (frames.length < 2) return;
  const [one, other] = [random.below(frames.length), random.below(frames.length)];
  [frames[one], frames[other]] = [frames[other], frames[one]];
}

function move(frames: RawFrame[], random: Random): void {
  if (frames.length < 2) return;
  const [taken] = frames.splice(random.below(frames.length), 1);
  frames.splice(random.below(frames.length + 1), 0, taken);
}

function insert(frames: RawFrame[], random: Random): void {
  const id = random.pick([0, 1, 3, 5, 2]);
  const bytes = random.pick([
    () => rstStream(id, random.pick(NUMBERS)),
    () => windowUpdate(id, random.pick(NUMBERS)),
    () => settings([[random.pick(Object.values(SETTING)), random.pick(NUMBERS)]]),
    () => goAway(random.pick([0, 1, 0x7fffffff]), random.below(14), "debug"),
    () => frame(FRAME.PUSH_PROMISE, FLAG.END_HEADERS, id, join(u32(2), literals([["a", "b"]]))),
    () => frame(FRAME.DATA, random.below(16), id, new Uint8Array(random.below(30))),
    () => frame(random.pick(TYPES), random.below(256), id, new Uint8Array(random.below(10))),
  ])();
  frames.splice(random.below(frames.length + 1), 0, ...splitFrames(bytes).frames);
}

function takeFromOther(frames: RawFrame[], random: Random, others: readonly FrameList[]): void {
  const other = random.pick(others).frames;
  const from = random.below(other.length + 1);
  const taken = other.slice(from, from + random.between(1, 10));
  frames.splice(random.below(frames.length + 1), random.below(3), ...taken);
}
