/**
 * Rules that frames of several types share (RFC 9113 §5.1, §6.1). In: a frame that has come. Out:
 * whether it counts, or the end of its stream or connection.
 */
import { ProxyError } from "../errors.ts";
import type { AbuseReason } from "./abuse.ts";
import type { ConnectionOptions } from "./connection_options.ts";
import { PROTOCOL_ERROR, STREAM_CLOSED } from "./frame/error_codes.ts";
import { PADDED } from "./frame/frame.ts";
import type { Stream } from "./stream.ts";
import type { Fate } from "./streams.ts";

/** The ends that a rule may cause. */
export interface RuleConnection {
  readonly isOver: boolean;
  provoked(stream: Stream, code: number, error: ProxyError): void;
  tally(reason: AbuseReason | null): void;
  fail(code: number, debug: string): void;
}

/** What the rules read of a connection's parts. */
export interface RuleParts {
  readonly options: Pick<ConnectionOptions, "codes" | "deadlines">;
  readonly streams: { fate(id: number): Fate };
  readonly budget: { control(now: number): AbuseReason | null };
}

export class FrameRules {
  readonly #connection: RuleConnection;
  readonly #parts: RuleParts;

  constructor(connection: RuleConnection, parts: RuleParts) {
    this.#connection = connection;
    this.#parts = parts;
  }

  /** Counts a frame that asks for nothing. */
  countControl(): void {
    const { budget, options } = this.#parts;
    this.#connection.tally(budget.control(options.deadlines.now));
  }

  /**
   * A frame for a stream that is over, or has never been: `what` names it. True where the connection
   * has not ended for it.
   *
   * @param isFree it does not count as a control frame if we have reset its stream.
   */
  isBearable(id: number, what: string, isFree = false): boolean {
    const connection = this.#connection;
    switch (this.#parts.streams.fate(id)) {
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
        if (!isFree) this.countControl();
        return !connection.isOver;
    }
  }

  /** The end of the payload `bytes[start, end)` without its padding; -1 where that ends it all. */
  unpadded(flags: number, bytes: Uint8Array, start: number, end: number): number {
    if ((flags & PADDED) === 0) return end;
    const unpadded = start === end ? -1 : end - bytes[start];
    if (unpadded > start) return unpadded;
    this.#connection.fail(PROTOCOL_ERROR, "padding as long as its frame");
    return -1;
  }

  /** An error of a stream (RFC 9113 §5.4.2). */
  streamError(stream: Stream, code: number, text: string): void {
    const { codes } = this.#parts.options;
    this.#connection.provoked(stream, code, new ProxyError(codes.malformed, text));
  }
}
