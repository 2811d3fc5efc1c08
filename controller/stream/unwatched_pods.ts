/**
 * Streams of pods that the watch does not have. In: open streams with their tokens, and which pods are watched.
 * Out: those whose token the API server calls good no more.
 *
 * The watch tells of a deletion that happens while it has the pod. It never has a pod of the proxies' account
 * without the labels of proxies, nor one that was deleted before this process began. That a pod is not in it
 * ends nothing: it may lag, fail, or not be permitted. Only the API server says that a token's pod is gone, so
 * a stream of a proxy that runs is never ended by this.
 */
import type { Clock } from "../../shared/clock.ts";
import type { Secret } from "../../shared/redacted.ts";
import type { Session } from "./session.ts";
import type { TokenReviews } from "./token_reviews.ts";

/** Milliseconds between two questions about one stream. */
const INTERVAL = 60_000;

export interface UnwatchedPodsOptions {
  readonly reviews: Pick<TokenReviews, "review">;
  /** UIDs of the pods that the watch has. */
  readonly watched: () => ReadonlySet<string>;
  /** The pod of this stream is gone. */
  readonly onGone: (session: Session) => void;
  readonly clock: Clock;
  readonly interval?: number;
}

export class UnwatchedPods {
  readonly #options: UnwatchedPodsOptions;
  readonly #tokens = new WeakMap<Session, Secret>();
  #askedAt: number;
  #isAsking = false;

  constructor(options: UnwatchedPodsOptions) {
    this.#options = options;
    this.#askedAt = options.clock.monotonic();
  }

  /** The last token that a stream has shown, and that was good. */
  shown(session: Session, token: Secret): void {
    // The very same while it shows the same: it cannot keep its stream by showing it all the time.
    if (this.#tokens.get(session)?.reveal() !== token.reveal()) this.#tokens.set(session, token);
  }

  /** Asks about streams one after the other, if it is time: that is a pace that the API server does not notice. */
  async ask(sessions: readonly Session[]): Promise<void> {
    const { clock, interval = INTERVAL, watched, reviews, onGone } = this.#options;
    if (this.#isAsking || clock.monotonic() - this.#askedAt < interval) return;
    this.#isAsking = true;
    try {
      const pods = watched();
      for (const session of sessions) {
        const { identity: { podUid }, peer } = session;
        const token = this.#tokens.get(session);
        if (podUid === null || pods.has(podUid) || token === undefined) continue;
        const { kind } = await reviews.review(token, peer, true);
        // It may have shown another one meanwhile.
        if (kind === "bad" && this.#tokens.get(session) === token) onGone(session);
      }
    } finally {
      this.#askedAt = clock.monotonic();
      this.#isAsking = false;
    }
  }
}
