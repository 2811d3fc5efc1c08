/**
 * Whether workers still answer. In: the workers, pinged at every heartbeat. Out: which of them has
 * stalled, which is stuck, and when the process should end.
 *
 *     serving ◀──answers── stalled (2 s) ──▶ stuck (10 s): a spare serves in its place
 *                                              └─ a second one, or 10 minutes: the process ends
 *
 * Silence is counted in pings: a pause of this thread, or of the whole process, is not taken for a
 * worker's.
 */

export interface StallLimits {
  /** Between two pings, in ms. */
  readonly heartbeat: number;
  /** Silence (ms) that is told and counted: longer than any turn that is bounded. */
  readonly stalled: number;
  /** Silence (ms) after which a worker is stuck, and others must serve in its place. */
  readonly stuck: number;
  /** Silence (ms) that is no pause: whoever debugs or waits for a disk is done by then. */
  readonly hopeless: number;
  /** Before the process ends, so that all proxies that met the same request do not end at once. */
  readonly endDelay: () => Promise<void>;
}

/** A random time before the end, in ms at most. */
const END_DELAY = 60_000;

export const STALL_LIMITS: StallLimits = {
  heartbeat: 1_000,
  stalled: 2_000,
  stuck: 10_000,
  hopeless: 600_000,
  endDelay: () => new Promise((resolve) => setTimeout(resolve, Math.random() * END_DELAY)),
};

/** What is watched. */
export interface Watched {
  pingsUnheard: number;
  isStalled: boolean;
  isStuck: boolean;
  /** It has been stuck, and another serves in its place. */
  readonly isRetired: boolean;
  ping(): void;
}

export interface StallWatchOptions<M extends Watched> {
  readonly limits: StallLimits;
  readonly members: () => Iterable<M>;
  /** Silent for so many ms. */
  readonly onStalled: (member: M, silence: number) => void;
  readonly onAnswer: (member: M) => void;
  /** Before anything else of a beat: how many are silent. */
  readonly onBeat: (silent: number) => void;
  /** The first that is stuck. */
  readonly onStuck: (member: M, silence: number) => void;
  /** The process will end, after a delay. */
  readonly onEnding: (reason: string) => void;
  /** It need not any more. */
  readonly onRelief: () => void;
  /** It should end now. */
  readonly onEnd: (reason: string) => void;
}

export class StallWatch<M extends Watched> {
  readonly #options: StallWatchOptions<M>;
  readonly #timer: ReturnType<typeof setInterval>;
  #hasRetired = false;
  #isEnding = false;
  #closed = false;

  constructor(options: StallWatchOptions<M>) {
    this.#options = options;
    this.#timer = setInterval(() => this.#beat(), options.limits.heartbeat);
  }

  close(): void {
    this.#closed = true;
    clearInterval(this.#timer);
  }

  #beat(): void {
    const { members, onBeat } = this.#options;
    const all = [...members()];
    onBeat(all.filter(({ pingsUnheard }) => pingsUnheard > 1).length);
    for (const member of all) {
      this.#judge(member);
      member.ping();
    }
  }

  #judge(member: M): void {
    const { limits, onStalled, onAnswer, onStuck } = this.#options;
    const silence = this.#silence(member);
    if (silence >= limits.stalled && !member.isStalled) {
      member.isStalled = true;
      onStalled(member, silence);
    } else if (silence < limits.stalled && member.isStalled) {
      member.isStalled = false;
      onAnswer(member);
    }
    member.isStuck = silence >= limits.stuck;
    if (member.isRetired) {
      if (silence >= limits.hopeless) this.#end(`a worker has been stuck for ${silence} ms`);
    } else if (member.isStuck) {
      // More listeners of the others helped against the first: against another they would not.
      if (this.#hasRetired) this.#end("a second worker is stuck");
      else onStuck(member, silence);
      this.#hasRetired = true;
    }
  }

  #silence(member: M): number {
    return member.pingsUnheard * this.#options.limits.heartbeat;
  }

  /** Ends the process unless none is stuck by then; one that is late for a moment is not. */
  async #end(reason: string): Promise<void> {
    if (this.#isEnding) return;
    this.#isEnding = true;
    const { limits, members, onEnding, onRelief, onEnd } = this.#options;
    onEnding(reason);
    await limits.endDelay();
    if (this.#closed) return;
    if ([...members()].some((member) => this.#silence(member) >= limits.stuck)) {
      return onEnd(reason);
    }
    this.#isEnding = false;
    onRelief();
  }
}
