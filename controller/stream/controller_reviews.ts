/**
 * Who another replica of the controller is. In: the token that it shows, and our own. Out: whether it is of
 * our own service account, by the word of the API server; nobody else may say what proxies have.
 */
import { systemClock } from "../../shared/clock.ts";
import type { Secret } from "../../shared/redacted.ts";
import type { KubeClient } from "../kube/client.ts";
import { readClaims } from "./token_claims.ts";
import { type ReviewResult, TokenReviews, type Verdict } from "./token_reviews.ts";

export interface ControllerReviewsOptions {
  readonly client: Pick<KubeClient, "create" | "token">;
  readonly onReview?: (result: ReviewResult) => void;
}

const NO_ACCOUNT: Verdict = {
  kind: "bad",
  status: 403,
  reason: "this controller has no service account token, so it cannot know its own kind",
};

export class ControllerReviews {
  readonly #options: ControllerReviewsOptions;
  #reviews: { readonly username: string; readonly reviews: TokenReviews } | null = null;

  constructor(options: ControllerReviewsOptions) {
    this.#options = options;
  }

  /** Never throws. @param peer The address that it came from. */
  async review(token: Secret, peer: string): Promise<Verdict> {
    const own = await this.#options.client.token();
    const username = own === null ? null : readClaims(own.reveal())?.subject ?? null;
    if (username === null) return NO_ACCOUNT;
    return await this.#reviewsFor(username).review(token, peer);
  }

  stop(): void {
    this.#reviews?.reviews.stop();
  }

  #reviewsFor(username: string): TokenReviews {
    if (this.#reviews?.username !== username) {
      this.#reviews?.reviews.stop();
      const reviews = new TokenReviews({
        ...this.#options,
        // Whoever has such a token may do what a controller may, bound to a pod or not.
        allowUnbound: true,
        account: { username, audience: null, title: "the controllers' service account" },
        clock: systemClock,
      });
      this.#reviews = { username, reviews };
    }
    return this.#reviews.reviews;
  }
}
