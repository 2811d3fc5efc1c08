/**
 * Where WebSocket frames begin and end (RFC 6455 §5.2). In: one direction's bytes as they pass, cut
 * anywhere. Out: whether the last one ended a frame, which is where another may be put in; and the
 * frame that says "going away". Nothing is unmasked and nothing is held.
 */

/** Status 1001, "going away": a server that goes down (RFC 6455 §7.4.1). */
const GOING_AWAY = new Uint8Array([0x03, 0xe9]);
const CLOSE = 0x8;
const MASKED = 0x80;

export class FrameBoundary {
  /** A Close frame has begun: after it no other may come. */
  hasClosed = false;
  /** Bytes of the frame's payload still to come. */
  #payload = 0;
  /** Bytes of its header that have come, and how many it has; 0 between frames. */
  #seen = 0;
  #size = 0;
  #extended = 0;

  /** The last byte that passed ended a frame, or none has passed yet. */
  get isReached(): boolean {
    return this.#payload === 0 && this.#seen === 0;
  }

  pass(view: Uint8Array): void {
    let at = 0;
    while (at < view.length) {
      if (this.#seen === 0 && this.#payload > 0) {
        const count = Math.min(this.#payload, view.length - at);
        this.#payload -= count;
        at += count;
      } else {
        this.#takeHeader(view[at++]);
      }
    }
  }

  #takeHeader(byte: number): void {
    const index = this.#seen++;
    if (index === 0) {
      if ((byte & 0xf) === CLOSE) this.hasClosed = true;
      this.#size = 2;
      return;
    }
    if (index === 1) {
      const length = byte & 0x7f;
      this.#extended = length === 126 ? 2 : length === 127 ? 8 : 0;
      this.#payload = this.#extended === 0 ? length : 0;
      this.#size = 2 + this.#extended + ((byte & MASKED) === 0 ? 0 : 4);
    } else if (index < 2 + this.#extended) {
      // Past 2^53 it is not exact, and nobody will live to see the end of that frame.
      this.#payload = this.#payload * 256 + byte;
    }
    if (this.#seen === this.#size) this.#seen = 0;
  }
}

/**
 * `length` where `bytes[0, length)` is one whole frame of at most 65,535 bytes and no Close: `FrameBoundary`
 * would remember nothing of it. Else -1.
 */
export function wholeFrame(bytes: Uint8Array, length: number): number {
  if (length < 2 || (bytes[0] & 0xf) === CLOSE) return -1;
  const mask = (bytes[1] & MASKED) === 0 ? 0 : 4;
  const short = bytes[1] & 0x7f;
  if (short < 126) return length === 2 + mask + short ? length : -1;
  if (short !== 126 || length < 4) return -1;
  return length === 4 + mask + bytes[2] * 256 + bytes[3] ? length : -1;
}

/** A Close frame with status 1001; what goes to a server is masked (RFC 6455 §5.3). */
export function goingAwayFrame(masked: boolean): Uint8Array {
  if (!masked) return new Uint8Array([0x80 | CLOSE, GOING_AWAY.length, ...GOING_AWAY]);
  const mask = crypto.getRandomValues(new Uint8Array(4));
  const payload = GOING_AWAY.map((byte, index) => byte ^ mask[index]);
  return new Uint8Array([0x80 | CLOSE, MASKED | payload.length, ...mask, ...payload]);
}
