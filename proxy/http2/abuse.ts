/**
 * How much a peer of HTTP/2 may do that is cheap for it and dear for us. In: what it does, with the
 * moment. Out: null, or why its connection must end (ENHANCE_YOUR_CALM). Pure: the clock is passed in.
 *
 * Nothing here is wrong by itself: a browser that leaves a page resets its requests, and gRPC pings
 * beside its data. So what comes with honest use is paid for by it (each request that is answered,
 * each DATA frame that is taken), and the rest from a budget that fills again with time.
 */
import * as errors from "./frame/error_codes.ts";

/** Why a connection ends, and the debug text of its GOAWAY (RFC 9113 §6.8). */
export const ABUSE_TEXTS = {
  resets: "too many requests ended before their answer",
  control_frames: "too many control frames",
  unread_acks: "too many acknowledgements waiting to be read",
  empty_frames: "too many DATA frames without data",
  tiny_frames: "too many DATA frames with hardly any data",
  continuations: "too many CONTINUATION frames in one head",
  large_heads: "a head far larger than the limit",
} as const;
export type AbuseReason = keyof typeof ABUSE_TEXTS;

/** Why a client's connection was ended with GOAWAY: abuse, or an error of the connection (§7). */
export type EndReason =
  | AbuseReason
  | "protocol_error"
  | "flow_control_error"
  | "stream_closed"
  | "frame_size_error"
  | "compression_error";

/** By the error code of its GOAWAY. */
export const END_REASONS: Readonly<Record<number, EndReason>> = {
  [errors.PROTOCOL_ERROR]: "protocol_error",
  [errors.FLOW_CONTROL_ERROR]: "flow_control_error",
  [errors.STREAM_CLOSED]: "stream_closed",
  [errors.FRAME_SIZE_ERROR]: "frame_size_error",
  [errors.COMPRESSION_ERROR]: "compression_error",
};

export interface AbuseLimits {
  /** Requests that end before their answer; refilled by RESETS_PER_SECOND. */
  readonly http2Resets: number;
  /** Control frames; refilled by CONTROL_PER_SECOND. */
  readonly http2ControlFrames: number;
  /** Bytes of the largest head, decoded. */
  readonly requestHeadBytes: number;
}

/** nghttp2's rate against rapid reset (CVE-2023-44487). */
const RESETS_PER_SECOND = 33;
const CONTROL_PER_SECOND = 100;

/**
 * A request that has been served for so long, in ms, was not sent to be reset: its deadline has
 * passed, or its reader has left. More of them than streams a second nobody can have.
 */
const PATIENT = 1_000;

/**
 * Control frames that a request, or a DATA frame that we send, pays for: room in the stream and in
 * the connection, and a PING to measure by (grpc-go sends one a round trip while data comes).
 */
const EARNED = 4;

/**
 * Bytes of a DATA frame that pay for one more: enough for an application that reads by 2 KiB and opens
 * both windows each time; Go does so by 4 KiB. So an attacker has 20 control frames for a frame of
 * 16 KiB that it has made us send. They take less time than that frame: a WINDOW_UPDATE takes some
 * 0.3 µs, sending 16 KiB 30 µs (measured in memory).
 */
const EARNING_BYTES = 1024;

/** A DATA frame of fewer bytes than this that only the peer's window has cut so short pays nothing. */
const TINY_WINDOW = 256;

/** Acknowledgements of SETTINGS and PING that may wait for the peer to read (CVE-2019-9512, 9515). */
const MAX_UNREAD_ACKS = 1_000;

/** DATA frames without data and without END_STREAM (CVE-2019-9518). */
const EMPTY_FRAMES = 100;
const EMPTY_PER_SECOND = 1;

/** gRPC's smallest message: bytes that a DATA frame must have on average, whoever sends it. */
const FAIR_DATA = 5;
/** Bytes that DATA frames may stay behind that in all, and a second. */
const TINY_DEBT = 4_000;
const TINY_PER_SECOND = 400;

/** CONTINUATION frames of one head (CVE-2024-27316), as long as as many of full size hold it. */
const CONTINUATIONS = 16;
const FRAME_SIZE = 16_384;

/** One peer's budgets: one object a connection. Moments are in ms and never go back. */
export class PeerBudget {
  readonly #resets: Bucket;
  readonly #control: Bucket;
  readonly #empty: Bucket;
  readonly #tiny: Bucket;
  readonly #maxContinuations: number;
  readonly #isBackend: boolean;
  #earned = 0;
  #acks = 0;
  #continuations = 0;

  /** @param isBackend it may answer a byte at a time, as words come to it. */
  constructor(limits: AbuseLimits, now: number, isBackend: boolean) {
    this.#isBackend = isBackend;
    this.#resets = new Bucket(limits.http2Resets, RESETS_PER_SECOND, now);
    this.#control = new Bucket(limits.http2ControlFrames, CONTROL_PER_SECOND, now);
    this.#empty = new Bucket(EMPTY_FRAMES, EMPTY_PER_SECOND, now);
    this.#tiny = new Bucket(TINY_DEBT, TINY_PER_SECOND, now);
    const full = Math.ceil(limits.requestHeadBytes / FRAME_SIZE);
    this.#maxContinuations = Math.max(CONTINUATIONS, full);
  }

  // ── Streams ─────────────────────────────────────────────────────────────────────────────────

  /** The peer has opened a stream that is served. */
  opened(): void {
    this.#earned += EARNED;
  }

  /** A stream has come to its end, END_STREAM both ways: that outweighs one which has not. */
  answered(): void {
    this.#resets.give(1);
  }

  /** The peer has reset a stream, opened at `openedAt`, before its answer's end. */
  reset(now: number, openedAt: number): AbuseReason | null {
    return now - openedAt >= PATIENT || this.#resets.take(now, 1) ? null : "resets";
  }

  /**
   * The peer has made us reset a stream (CVE-2025-8671): a stream error of any kind, or one stream
   * more than are allowed.
   */
  provoked(now: number): AbuseReason | null {
    return this.#resets.take(now, 1) ? null : "resets";
  }

  // ── Control frames ──────────────────────────────────────────────────────────────────────────

  /**
   * A frame that asks for nothing: WINDOW_UPDATE, PING, PRIORITY, PRIORITY_UPDATE, GOAWAY, one of an
   * unknown type, an acknowledgement that nobody waits for, and RST_STREAM, DATA or HEADERS for a
   * stream that is closed already.
   */
  control(now: number): AbuseReason | null {
    if (this.#earned > 0) {
      this.#earned--;
      return null;
    }
    return this.#control.take(now, 1) ? null : "control_frames";
  }

  /** SETTINGS with so many parameters: each may change every stream's window. */
  settings(now: number, parameters: number): AbuseReason | null {
    return this.#control.take(now, Math.max(1, parameters)) ? null : "control_frames";
  }

  /**
   * We have sent a DATA frame of `bytes`. `isCut`: there was more, and only the peer's window has
   * kept it back; a window of one byte earns no updates.
   */
  dataSent(bytes: number, isCut: boolean): void {
    if (isCut && bytes < TINY_WINDOW) return;
    this.#earned += EARNED + Math.floor(bytes / EARNING_BYTES);
  }

  /** An acknowledgement waits to be written. */
  ackQueued(): AbuseReason | null {
    return ++this.#acks > MAX_UNREAD_ACKS ? "unread_acks" : null;
  }

  /** All that waited has been handed to the system. */
  acksWritten(): void {
    this.#acks = 0;
  }

  // ── DATA and heads ──────────────────────────────────────────────────────────────────────────

  /** A DATA frame without END_STREAM has come, `bytes` long without its padding. */
  dataReceived(now: number, bytes: number): AbuseReason | null {
    if (bytes === 0) return this.#empty.take(now, 1) ? null : "empty_frames";
    this.#empty.give(1);
    if (this.#isBackend) return null;
    if (bytes >= FAIR_DATA) {
      this.#tiny.give(bytes - FAIR_DATA);
      return null;
    }
    return this.#tiny.take(now, FAIR_DATA - bytes) ? null : "tiny_frames";
  }

  /** HEADERS has come, which a head begins with. */
  headBegun(): void {
    this.#continuations = 0;
  }

  /** CONTINUATION has come, whatever it holds. */
  continuation(): AbuseReason | null {
    return ++this.#continuations > this.#maxContinuations ? "continuations" : null;
  }
}

/** Tokens that come back with time. */
export class Bucket {
  readonly #size: number;
  readonly #perSecond: number;
  #tokens: number;
  #at: number;

  constructor(size: number, perSecond: number, now: number) {
    this.#size = size;
    this.#perSecond = perSecond;
    this.#tokens = size;
    this.#at = now;
  }

  give(count: number): void {
    this.#tokens = Math.min(this.#size, this.#tokens + count);
  }

  /** False where there are not as many; then none is taken. */
  take(now: number, count: number): boolean {
    if (now > this.#at) {
      this.give((now - this.#at) / 1000 * this.#perSecond);
      this.#at = now;
    }
    if (this.#tokens < count) return false;
    this.#tokens -= count;
    return true;
  }
}
