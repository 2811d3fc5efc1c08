/**
 * Smaller streams of HTTP/2 that show the same. In: a stream and a test that it passes. Out: one with
 * fewer frames and shorter payloads that passes it still, the smallest that some hundred tries find.
 */
import { joinFrames, splitFrames } from "./frame_list.ts";
import { replaced } from "./mutation.ts";

const NOTHING = new Uint8Array(0);
/** Payloads are cut by halves down to so many bytes. */
const SMALLEST_CUT = 8;
/** Streams that are tried, and for how long, in ms; then the smallest so far has to do. */
const MAX_TRIES = 400;
const MAX_TIME = 5_000;

/** @param holds for each stream, whether it still shows what `stream` shows; may end at the first. */
export async function minimiseFrames(
  stream: Uint8Array,
  holds: (streams: readonly Uint8Array[]) => Promise<readonly boolean[]>,
): Promise<Uint8Array> {
  let smallest = stream;
  let left = MAX_TRIES;
  const deadline = performance.now() + MAX_TIME;
  const tries = async (all: readonly Uint8Array[]): Promise<boolean> => {
    const candidates = performance.now() < deadline ? all.slice(0, left) : [];
    left -= candidates.length;
    const found = (await holds(candidates)).indexOf(true);
    if (found !== -1) smallest = candidates[found];
    return found !== -1;
  };
  for (let count = splitFrames(stream).frames.length; count >= 1;) {
    if (!await tries(withoutFrames(smallest, count))) count >>= 1;
  }
  for (let at = 0; at < splitFrames(smallest).frames.length; at++) {
    for (let length = splitFrames(smallest).frames[at].payload.length; length >= SMALLEST_CUT;) {
      if (!await tries(withShorterPayload(smallest, at, length))) length >>= 1;
    }
  }
  await tries([joinFrames({ ...splitFrames(smallest), rest: NOTHING })]);
  return smallest;
}

/** All streams with a range of `count` frames taken out. */
function withoutFrames(stream: Uint8Array, count: number): Uint8Array[] {
  const list = splitFrames(stream);
  const streams: Uint8Array[] = [];
  for (let at = 0; at + count <= list.frames.length; at += count) {
    streams.push(joinFrames({ ...list, frames: list.frames.toSpliced(at, count) }));
  }
  return streams;
}

/** All streams with a range of `length` bytes taken out of the payload of frame `at`. */
function withShorterPayload(stream: Uint8Array, at: number, length: number): Uint8Array[] {
  const list = splitFrames(stream);
  const frame = list.frames[at];
  const streams: Uint8Array[] = [];
  for (let from = 0; from + length <= frame.payload.length; from += length) {
    const payload = replaced(frame.payload, from, from + length, NOTHING);
    const frames = list.frames.with(at, { ...frame, payload, length: payload.length });
    streams.push(joinFrames({ ...list, frames }));
  }
  return streams;
}
