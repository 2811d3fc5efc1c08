/**
 * What is told to proxies. In: each snapshot that may be used. Out: its content, and the line that
 * leads there from any earlier one; proxies are mostly at the same, so each line is made once.
 */
import type { Snapshot } from "../../shared/snapshot/types.ts";
import { compareVersions } from "../../shared/snapshot/version_order.ts";
import { deltaLine, sameLine, wholeLength, wholeLine } from "../../shared/stream/change.ts";
import { Content } from "../../shared/stream/content.ts";
import { MAX_UPDATE_BYTES } from "../../shared/stream/protocol.ts";

/** Bytes that a character of JSON takes at most in UTF-8, by characters of UTF-16. */
const CHARACTER = 3;

export type Taking =
  | { readonly ok: true }
  /** No proxy would read a line of so many bytes, so what was current stays. */
  | { readonly ok: false; readonly bytes: number };

/** Bytes of a line beside its parts, more than there can be. */
const HEAD = 65_536;

/** Lines that are kept for the content of now: proxies that fell behind are at different ones. */
const MAX_LINES = 64;

export class Updates {
  readonly #now: () => number;
  readonly #maxBytes: number;
  #current: Content | null = null;
  #currentAt = 0;
  #whole: Uint8Array | null = null;
  readonly #deltas = new Map<Content, Uint8Array>();

  /** @param now Milliseconds that never go back. @param maxBytes Of a line. */
  constructor(now: () => number, maxBytes = MAX_UPDATE_BYTES) {
    this.#now = now;
    this.#maxBytes = maxBytes;
  }

  /** Null before the first. */
  get current(): Content | null {
    return this.#current;
  }

  /** When `current` came, on the clock that was given. */
  get currentAt(): number {
    return this.#currentAt;
  }

  /** Throws what `Content.of` does. */
  take(snapshot: Snapshot): Taking {
    const before = this.#current;
    const content = Content.of(snapshot, before ?? undefined);
    const isNew = before === null || content.hash !== before.hash ||
      compareVersions(content.version, before.version) !== "same";
    if (!isNew) return { ok: true };
    // Only what is near the limit is worth writing to find out.
    const isSmall = wholeLength(content) * CHARACTER + HEAD <= this.#maxBytes;
    const whole = isSmall ? null : encoder.encode(wholeLine(content));
    if (whole !== null && whole.length > this.#maxBytes) return { ok: false, bytes: whole.length };
    this.#current = content;
    this.#currentAt = this.#now();
    this.#whole = whole;
    this.#deltas.clear();
    return { ok: true };
  }

  /** There must be a current one, as for those below. */
  whole(): Uint8Array {
    return this.#whole ??= encoder.encode(wholeLine(this.#current!));
  }

  same(): Uint8Array {
    return encoder.encode(sameLine(this.#current!));
  }

  /** What leads there from any other; the whole where much was removed at once. */
  delta(from: Content): Uint8Array {
    const known = this.#deltas.get(from);
    if (known !== undefined) return known;
    const delta = encoder.encode(deltaLine(from, this.#current!));
    const line = delta.length > this.#maxBytes ? this.whole() : delta;
    if (this.#deltas.size < MAX_LINES) this.#deltas.set(from, line);
    return line;
  }
}

const encoder = new TextEncoder();
