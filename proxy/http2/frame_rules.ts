/**
 * Rules that frames of several types share (RFC 9113 §5.1, §6.1). In: a frame that has come. Out:
 * whether it counts, or the end of its stream or connection.
 */
import { ProxyError } from "../errors.ts";
import type { ConnectionCore } from "./connection_core.ts";
import { PROTOCOL_ERROR, STREAM_CLOSED } from "./frame/error_codes.ts";
import { PADDED } from "./frame/frame.ts";
import type { Stream } from "./stream.ts";

/** Counts a frame that asks for nothing. */
export function countControl(connection: ConnectionCore): void {
  connection.tally(connection.budget.control(connection.options.deadlines.now));
}

/**
 * A frame for a stream that is over, or has never been: `what` names it. True where the connection
 * has not ended for it.
 */
export function isBearable(connection: ConnectionCore, id: number, what: string): boolean {
  switch (connection.streams.fate(id)) {
    case "idle":
      connection.fail(PROTOCOL_ERROR, `${what} on an idle stream`);
      return false;
    case "skipped":
      connection.fail(PROTOCOL_ERROR, `${what} on a stream that was passed over`);
      return false;
    case "closed":
      connection.fail(STREAM_CLOSED, `${what} on a closed stream`);
      return false;
    case "reset":
      countControl(connection);
      return !connection.isOver;
  }
}

/** The end of the payload `bytes[start, end)` without its padding; -1 where that ends it all. */
export function unpadded(
  connection: ConnectionCore,
  flags: number,
  bytes: Uint8Array,
  start: number,
  end: number,
): number {
  if ((flags & PADDED) === 0) return end;
  const unpadded = start === end ? -1 : end - bytes[start];
  if (unpadded > start) return unpadded;
  connection.fail(PROTOCOL_ERROR, "padding as long as its frame");
  return -1;
}

/** An error of a stream (RFC 9113 §5.4.2). */
export function streamError(
  connection: ConnectionCore,
  stream: Stream,
  code: number,
  text: string,
): void {
  const { codes } = connection.options;
  connection.provoked(stream, code, new ProxyError(codes.malformed, text));
}
