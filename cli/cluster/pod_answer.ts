/**
 * The answer of an admin port, as it comes. In: the bytes until now. Out: status and body once they are whole.
 */
import { Buffer } from "node:buffer";
import type { PodAnswer } from "./messages.ts";

const STATUS_LINE = /^HTTP\/1\.[01] ([1-5]\d\d)(?: |$)/;

const CONTENT_LENGTH = /^content-length:[ \t]*(\d{1,15})[ \t]*$/im;

const CHUNKED = /^transfer-encoding:[ \t]*chunked[ \t]*$/im;

const CHUNK_SIZE = /^([\da-f]{1,8})[ \t]*(?:;.*)?$/i;

const HEAD_END = "\r\n\r\n";
const LINE_END = "\r\n";

/** Bytes of a line with the size of a chunk, at most. */
const MAX_SIZE_LINE = 1024;

/**
 * @param isEnd Whether the connection is closed, which ends a body that has neither a length nor chunks.
 * @returns Null for what is no whole answer.
 */
export function parsePodAnswer(bytes: Buffer, isEnd: boolean): PodAnswer | null {
  const end = bytes.indexOf(HEAD_END);
  if (end === -1) return null;
  const head = bytes.toString("latin1", 0, end);
  const status = STATUS_LINE.exec(head.split(LINE_END, 1)[0])?.[1];
  if (status === undefined) return null;
  const rest = bytes.subarray(end + HEAD_END.length);
  const body = bodyOf(head, rest, isEnd);
  return body === null ? null : { status: Number(status), body: body.toString("utf8") };
}

function bodyOf(head: string, rest: Buffer, isEnd: boolean): Buffer | null {
  if (CHUNKED.test(head)) return joinChunks(rest);
  const length = CONTENT_LENGTH.exec(head)?.[1];
  if (length === undefined) return isEnd ? rest : null;
  return rest.length >= Number(length) ? rest.subarray(0, Number(length)) : null;
}

/** Null where the last one has not come, or what came are no chunks. */
function joinChunks(rest: Buffer): Buffer | null {
  const chunks: Buffer[] = [];
  for (let at = 0;;) {
    const end = rest.subarray(at, at + MAX_SIZE_LINE).indexOf(LINE_END);
    if (end === -1) return null;
    const size = CHUNK_SIZE.exec(rest.toString("latin1", at, at + end))?.[1];
    if (size === undefined) return null;
    const length = parseInt(size, 16);
    if (length === 0) return Buffer.concat(chunks);
    const start = at + end + LINE_END.length;
    at = start + length + LINE_END.length;
    if (rest.length < at) return null;
    chunks.push(rest.subarray(start, start + length));
  }
}
