/**
 * Bodies as HTTP/1.1 bytes, either way. In: a body that is pulled. Out: as few writes as it allows: a
 * small body in one write with its head, a long one by its own views, chunked where its length is
 * not known. Nothing is pulled before the last view is written: that is the backpressure.
 */
import { asciiBytes, type Fields } from "../http/fields.ts";
import type { Body } from "../http/message.ts";
import type { BufferPool } from "../io/buffer_pool.ts";
import { CHUNK_FRAME_BYTES, writeChunkSize } from "./chunked.ts";
import { CR, LF } from "../http/grammar.ts";
import { copyRange, fieldsSize, writeFields } from "./head_writer.ts";

const LAST_CHUNK = asciiBytes("0\r\n");

/** Writes all of `view`, or rejects with a ProxyError. `view` may be used again once it settles. */
export type WriteAll = (view: Uint8Array) => Promise<void>;

/**
 * Sends what remains of a message: `out[0, at)` (its head, not yet written) and the body from
 * `first` on. Rejects with what the body or the write rejects with.
 *
 * @param out goes back to `buffers` whenever the body is waited for, so that a stream that says
 *   little holds none; and at the end. Where a write fails it is left to the garbage collector.
 */
export async function writeBody(
  out: Uint8Array<ArrayBuffer>,
  at: number,
  first: Promise<Uint8Array | null> | Uint8Array | null,
  body: Body,
  chunked: boolean,
  withTrailers: boolean,
  write: WriteAll,
  buffers: BufferPool,
): Promise<void> {
  let view: Uint8Array | null;
  if (first instanceof Promise) {
    // The body has not begun: the head goes ahead, as event streams need.
    first.catch(ignore);
    await write(out.subarray(0, at));
    at = 0;
    buffers.give(out);
    view = await first;
    out = buffers.take();
  } else {
    view = first;
  }
  while (view !== null) {
    const frame = chunked ? CHUNK_FRAME_BYTES : 0;
    if (at + frame + view.length + 2 <= out.length) {
      if (chunked) at = writeChunkSize(out, at, view.length);
      out.set(view, at);
      at += view.length;
      if (chunked) at = writeLineEnd(out, at);
    } else {
      if (chunked) {
        if (at + frame > out.length) {
          await write(out.subarray(0, at));
          at = 0;
        }
        at = writeChunkSize(out, at, view.length);
      }
      if (at > 0) await write(out.subarray(0, at));
      await write(view);
      at = chunked ? writeLineEnd(out, 0) : 0;
    }
    const next: ReturnType<Body["read"]> = body.read();
    if (next instanceof Promise) {
      next.catch(ignore);
      if (at > 0) await write(out.subarray(0, at));
      at = 0;
      buffers.give(out);
      view = await next;
      out = buffers.take();
    } else {
      view = next;
    }
  }
  if (chunked) {
    const trailers = withTrailers ? body.trailers : null;
    const size = LAST_CHUNK.length + 2 + (trailers === null ? 0 : fieldsSize(trailers));
    if (at + size > out.length) {
      await write(out.subarray(0, at));
      at = 0;
      if (size > out.length) out = new Uint8Array(size);
    }
    at = writeLastChunk(out, at, trailers);
  }
  if (at > 0) await write(out.subarray(0, at));
  buffers.give(out);
}

/** The end of a chunked body; the position after it. */
function writeLastChunk(out: Uint8Array, at: number, trailers: Fields | null): number {
  at = copyRange(out, at, LAST_CHUNK, 0, LAST_CHUNK.length);
  if (trailers !== null) at = writeFields(out, at, trailers);
  return writeLineEnd(out, at);
}

function writeLineEnd(out: Uint8Array, at: number): number {
  out[at++] = CR;
  out[at++] = LF;
  return at;
}

/** A read that fails while a write fails first is told once, by the write. */
function ignore(): void {}
