/**
 * What is told to proxies. In: each snapshot that may be used. Out: its content, and the line that
 * leads there from any earlier one; proxies are mostly at the same, so each line is made once.
 */
import type { Snapshot } from "../../shared/snapshot.ts";
import { compareVersions } from "../../shared/snapshot_order.ts";
import { deltaLine, sameLine, wholeLine } from "../../shared/stream/change.ts";
import { Content } from "../../shared/stream/content.ts";

/** Lines that are kept for the content of now: proxies that fell behind are at different ones. */
const MAX_LINES = 64;

export class Updates {
  readonly #now: () => number;
  #current: Content | null = null;
  #currentAt = 0;
  #whole: Uint8Array | null = null;
  readonly #deltas = new Map<Content, Uint8Array>();

  /** @param now Milliseconds that never go back. */
  constructor(now: () => number) {
    this.#now = now;
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
  take(snapshot: Snapshot): void {
    const before = this.#current;
    const content = Content.of(snapshot, before ?? undefined);
    const isNew = before === null || content.hash !== before.hash ||
      compareVersions(content.version, before.version) !== "same";
    if (!isNew) return;
    this.#current = content;
    this.#currentAt = this.#now();
    this.#whole = null;
    this.#deltas.clear();
  }

  /** There must be a current one, as for those below. */
  whole(): Uint8Array {
    return this.#whole ??= encoder.encode(wholeLine(this.#current!));
  }

  same(): Uint8Array {
    return encoder.encode(sameLine(this.#current!));
  }

  delta(from: Content): Uint8Array {
    const known = this.#deltas.get(from);
    if (known !== undefined) return known;
    const line = encoder.encode(deltaLine(from, this.#current!));
    if (this.#deltas.size < MAX_LINES) this.#deltas.set(from, line);
    return line;
  }
}

const encoder = new TextEncoder();
