/**
 * A stream of HTTP/2 as a list of frames, and frames of our own making. In: bytes. Out: frames that
 * can be changed one by one, whatever their headers say, and the bytes of them again.
 */
import { join, PREFACE } from "../support/h2_frames.ts";

export interface RawFrame {
  readonly type: number;
  readonly flags: number;
  /** 32 bits, the reserved one included. */
  readonly id: number;
  readonly payload: Uint8Array;
  /** What its header says; the payload's length unless it lies. */
  readonly length: number;
}

export interface FrameList {
  /** The client's preface, or nothing. */
  readonly preface: Uint8Array;
  readonly frames: readonly RawFrame[];
  /** What is behind the last whole frame. */
  readonly rest: Uint8Array;
}

const HEADER = 9;

/** Splits a stream where its frames' headers say. */
export function splitFrames(bytes: Uint8Array): FrameList {
  const isClient = PREFACE.every((byte, at) => bytes[at] === byte);
  let at = isClient ? PREFACE.length : 0;
  const preface = bytes.subarray(0, at);
  const frames: RawFrame[] = [];
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  while (at + HEADER <= bytes.length) {
    const length = view.getUint32(at) >>> 8;
    const end = at + HEADER + length;
    if (end > bytes.length) break;
    frames.push({
      type: bytes[at + 3],
      flags: bytes[at + 4],
      id: view.getUint32(at + 5),
      payload: bytes.subarray(at + HEADER, end),
      length,
    });
    at = end;
  }
  return { preface, frames, rest: bytes.subarray(at) };
}

export function joinFrames({ preface, frames, rest }: FrameList): Uint8Array {
  return join(preface, ...frames.map(bytesOfFrame), rest);
}

function bytesOfFrame({ type, flags, id, payload, length }: RawFrame): Uint8Array {
  const bytes = new Uint8Array(HEADER + payload.length);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, length << 8 | type);
  bytes[4] = flags;
  view.setUint32(5, id);
  bytes.set(payload, HEADER);
  return bytes;
}
