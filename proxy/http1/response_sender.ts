/**
 * One response on its way to the client. In: a head and a body that is pulled. Out: one write where
 * the body is at hand and small, else a head and then the body as it comes.
 */
import type { BufferPool } from "../io/buffer_pool.ts";
import type { Body } from "../http/body.ts";
import type { RequestHead, ResponseHead } from "../http/message.ts";
import { type ByteSink, writeBody } from "./body_writer.ts";
import type { Output } from "../io/output.ts";
import { type ResponseFraming, responseHeadSize, writeResponseHead } from "./response_writer.ts";

export interface ResponseSending {
  readonly request: RequestHead;
  readonly head: ResponseHead;
  readonly body: Body;
  readonly framing: ResponseFraming;
  readonly keepAlive: boolean;
  /** Of the head as it is sent; known once `sendResponse` has returned. */
  headBytes: number;
}

/**
 * Sends a response. Undefined where all of it has been handed to `output` without waiting; else a
 * promise that rejects when the body or the write breaks. Throws, before anything is sent, what the
 * body throws that came along with the head.
 */
export function sendResponse(
  sending: ResponseSending,
  buffers: BufferPool,
  output: Output,
  sink: ByteSink,
): Promise<void> | void {
  const { request, head, body, framing, keepAlive } = sending;
  const size = responseHeadSize(head);
  const out = size <= buffers.size ? buffers.take() : new Uint8Array(size);
  let at = sending.headBytes = writeResponseHead(out, request, head, framing, keepAlive);
  let first: ReturnType<Body["read"]>;
  try {
    first = framing === "none" ? null : body.read();
  } catch (error) {
    buffers.give(out);
    throw error;
  }
  const chunked = framing === "chunked";
  const isSmall = first instanceof Uint8Array && framing === "length" && body.done &&
    at + first.length <= out.length;
  if (isSmall) {
    out.set(first as Uint8Array, at);
    at += (first as Uint8Array).length;
    // Its end frees the buffer of the view.
    body.read();
  }
  if (isSmall || (first === null && !chunked)) {
    return output.writeLater(out, at, buffers);
  }
  const withTrailers = request.acceptsTrailers || request.isGrpc;
  return writeBody(out, at, first, body, chunked, withTrailers, sink, buffers);
}
