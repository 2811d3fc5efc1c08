/**
 * Who sends next. In: streams that wait for room in the output, or for the connection's window. Out:
 * one after another, a frame each while others wait: so that one long body leaves room for all. (The
 * priorities of RFC 9218 are not asked for: each stream counts as incremental and of one urgency.)
 */
/** A stream that sends: `StreamSender`. */
export interface QueuedSender {
  isQueued: boolean;
  advance(turn: 0 | 1 | 2): void;
}

export class Scheduler<S extends QueuedSender> {
  /** They wait with a head, which needs room alone. */
  readonly #heads: S[] = [];
  /** They wait with bytes of a body. */
  readonly #data: S[] = [];

  get hasHeads(): boolean {
    return this.#heads.length > 0;
  }

  get hasData(): boolean {
    return this.#data.length > 0;
  }

  addHead(sender: S): void {
    sender.isQueued = true;
    this.#heads.push(sender);
  }

  addData(sender: S): void {
    sender.isQueued = true;
    this.#data.push(sender);
  }

  /** Those that wait with a head, as they are now. */
  heads(): S[] {
    return [...this.#heads];
  }

  /** The next with a head, which leaves the queue; there is one. */
  takeHead(): S {
    const sender = this.#heads.shift()!;
    sender.isQueued = false;
    return sender;
  }

  /** The next with bytes. */
  takeData(): S {
    const sender = this.#data.shift()!;
    sender.isQueued = false;
    return sender;
  }

  remove(sender: S): void {
    sender.isQueued = false;
    for (const queue of [this.#heads, this.#data]) {
      const index = queue.indexOf(sender);
      if (index !== -1) queue.splice(index, 1);
    }
  }
}
