/**
 * Who a proxy is, or another replica. In: the token that it shows. Out: its identity by the word of the
 * API server, or why it is not let in; the word is kept for a while, so that an outage of the API
 * server ends no stream.
 *
 * Anyone who reaches the port can send tokens. So nothing that is sent grows memory without a bound,
 * and the API server is asked at a pace that it does not notice; what it has called good is asked for
 * apart, and waits for nobody else. Tokens are kept as sha256, and stand in no message.
 *
 * https://kubernetes.io/docs/reference/kubernetes-api/authentication-resources/token-review-v1/
 */
import { createHash } from "node:crypto";
import type { Clock } from "../../shared/clock.ts";
import { STREAM_AUDIENCE } from "../../shared/stream/protocol.ts";
import { STREAM } from "../outputs/workload/names.ts";
import { isOutage } from "../kube/answer.ts";
import type { KubeClient } from "../kube/client.ts";
import { type ApiResult, type KubeObject, TOKEN_REVIEWS } from "../kube/types.ts";
import { TokenBucket } from "../outputs/write/token_bucket.ts";
import { readClaims } from "./token_claims.ts";
import type { Secret } from "../../shared/redacted.ts";

/** Whose pod a token was made for; null where it does not say. */
export interface ProxyIdentity {
  readonly pod: string | null;
  readonly podUid: string | null;
  readonly node: string | null;
}

export type Verdict =
  | {
    readonly kind: "good";
    readonly identity: ProxyIdentity;
    /** On the monotonic clock, in ms. */
    readonly expiresAt: number;
  }
  /** Nobody, or somebody else. */
  | { readonly kind: "bad"; readonly status: 401 | 403; readonly reason: string }
  /** It cannot be told now. */
  | { readonly kind: "unknown"; readonly reason: string };

/** `cached` and `limited` ask nobody. */
export type ReviewResult = "good" | "bad" | "unknown" | "cached" | "limited" | "malformed";

export interface ReviewLimits {
  /** Milliseconds that a good token is believed without asking anew, if it lives as long. */
  readonly goodFor: number;
  readonly badFor: number;
  /** Milliseconds that a good token of unknown end, or of an end that our clock has passed, is good. */
  readonly leastLife: number;
  readonly inFlight: number;
  /** Unknown tokens that wait for their turn, and those of one address. */
  readonly waiting: number;
  readonly waitingOfPeer: number;
  /** Milliseconds that one waits. */
  readonly patience: number;
  /** Unknown tokens a second, and at once after a pause. */
  readonly rate: number;
  readonly burst: number;
  readonly goodTokens: number;
  readonly badTokens: number;
  /** Milliseconds for one call. */
  readonly deadline: number;
}

export const REVIEW_LIMITS: ReviewLimits = {
  goodFor: 300_000,
  badFor: 10_000,
  leastLife: 60_000,
  inFlight: 8,
  waiting: 2048,
  // Who floods competes by these alone; many proxies may come from one address by NAT.
  waitingOfPeer: 256,
  patience: 8_000,
  // A thousand proxies that all come at once, as to a controller that has just begun, are let in as
  // fast as the API server answers eight at a time. Whoever forges tokens gets that once, and then
  // the pace.
  rate: 100,
  burst: 1000,
  goodTokens: 4096,
  badTokens: 1024,
  deadline: 10_000,
};

/** Whose tokens are good. */
export interface TokenAccount {
  /** `system:serviceaccount:<namespace>:<name>`. */
  readonly username: string;
  /** Of its tokens; null for that of the API server. */
  readonly audience: string | null;
  /** For who is refused: `a proxy's service account`. */
  readonly title: string;
}

export interface TokenReviewsOptions {
  /** Whether a token that is bound to no pod is good: nothing ends it but its time. */
  readonly allowUnbound: boolean;
  /** Not that of a leader: every replica asks. */
  readonly client: Pick<KubeClient, "create">;
  readonly account: TokenAccount;
  readonly clock: Clock;
  readonly limits?: Partial<ReviewLimits>;
  readonly onReview?: (result: ReviewResult) => void;
}

/** The proxies' own, which may do nothing else. */
export function proxyAccount(namespace: string): TokenAccount {
  return {
    username: `system:serviceaccount:${namespace}:${STREAM.serviceAccount}`,
    audience: STREAM_AUDIENCE,
    title: `the proxies' service account, ${STREAM.serviceAccount},`,
  };
}

type Good = Verdict & { readonly kind: "good" };
type Bad = Verdict & { readonly kind: "bad" };

interface TokenReview extends KubeObject {
  readonly status?: {
    readonly authenticated?: boolean;
    readonly audiences?: readonly string[];
    readonly user?: {
      readonly username?: string;
      readonly extra?: Readonly<Record<string, readonly string[]>>;
    };
  };
}

const UNBOUND: Bad = {
  kind: "bad",
  status: 403,
  reason: "the token is bound to no pod: mount a projected one, or start the controller with " +
    "--allow-unbound-tokens",
};
const BUSY: Verdict = { kind: "unknown", reason: "too many tokens wait to be checked" };

export class TokenReviews {
  readonly #options: TokenReviewsOptions;
  readonly #limits: ReviewLimits;
  readonly #invalid: Bad;
  readonly #foreign: Bad;
  readonly #bucket: TokenBucket;
  /** By sha256 of the token, the least recently used first. `until`: on the monotonic clock. */
  readonly #good = new Map<string, { readonly verdict: Good; readonly until: number }>();
  readonly #bad = new Map<string, { readonly verdict: Bad; readonly until: number }>();
  readonly #pending = new Map<string, Promise<Verdict>>();
  /** Those who wait for their turn. */
  readonly #queue: (() => void)[] = [];
  /** By address, how many of its unknown tokens wait. */
  readonly #peers = new Map<string, number>();
  #waiting = 0;
  #inFlight = 0;
  #isStopped = false;

  constructor(options: TokenReviewsOptions) {
    this.#options = options;
    this.#limits = { ...REVIEW_LIMITS, ...options.limits };
    const { title, audience } = options.account;
    const purpose = audience === null ? "" : ` for the audience ${audience}`;
    this.#invalid = {
      kind: "bad",
      status: 401,
      reason: `a token of ${title}${purpose} is needed`,
    };
    this.#foreign = { kind: "bad", status: 403, reason: `the token is not of ${title}` };
    const { rate, burst } = this.#limits;
    this.#bucket = new TokenBucket(rate, burst, options.clock.monotonic());
  }

  /** Tokens that are kept, for tests of bounds. */
  get size(): { readonly good: number; readonly bad: number; readonly pending: number } {
    return { good: this.#good.size, bad: this.#bad.size, pending: this.#pending.size };
  }

  /**
   * Never throws.
   *
   * @param peer The address that it came from.
   * @param isAnew Asks the API server whatever it has said before; that counts where it does not answer.
   */
  async review(token: Secret, peer: string, isAnew = false): Promise<Verdict> {
    const text = token.reveal();
    const claims = readClaims(text);
    const { username, audience } = this.#options.account;
    const isFor = audience === null || claims?.audiences.includes(audience);
    if (claims === null || !isFor) return this.#told("malformed", this.#invalid);
    if (claims.subject !== username) return this.#told("malformed", this.#foreign);
    const key = createHash("sha256").update(text).digest("base64");
    const now = this.#options.clock.monotonic();
    const good = this.#good.get(key);
    if (good !== undefined && now < good.until && !isAnew) {
      return this.#told("cached", good.verdict);
    }
    const bad = this.#bad.get(key);
    if (bad !== undefined && now < bad.until) return this.#told("cached", bad.verdict);
    let pending = this.#pending.get(key);
    if (pending === undefined) {
      const known = good !== undefined && now < good.verdict.expiresAt ? good.verdict : null;
      pending = this.#ask(key, text, claims.expiresAt, known, peer)
        .finally(() => this.#pending.delete(key));
      this.#pending.set(key, pending);
    }
    return await pending;
  }

  /** A pod is gone, and what was made for it is good for nothing: the API server is asked again. */
  forget(podUid: string): void {
    for (const [key, { verdict }] of this.#good) {
      if (verdict.identity.podUid === podUid) this.#good.delete(key);
    }
  }

  /** Whoever waits for his turn is told to come again. */
  stop(): void {
    this.#isStopped = true;
    for (const wake of this.#queue.splice(0)) wake();
  }

  /** @param known What the API server said of it before, if that has not ended. */
  async #ask(
    key: string,
    token: string,
    expiresAt: number | null,
    known: Good | null,
    peer: string,
  ): Promise<Verdict> {
    if (!await (known === null ? this.#turnOf(peer) : this.#turn(true))) {
      return this.#told("limited", known ?? BUSY);
    }
    try {
      const verdict = this.#judge(await this.#call(token), expiresAt);
      if (verdict.kind === "unknown") return this.#told("unknown", known ?? verdict);
      this.#keep(key, verdict);
      return this.#told(verdict.kind, verdict);
    } finally {
      this.#inFlight--;
      this.#queue.shift()?.();
    }
  }

  async #turnOf(peer: string): Promise<boolean> {
    const ofPeer = this.#peers.get(peer) ?? 0;
    const { waiting, waitingOfPeer } = this.#limits;
    if (this.#waiting >= waiting || ofPeer >= waitingOfPeer) return false;
    this.#waiting++;
    this.#peers.set(peer, ofPeer + 1);
    const isTurn = await this.#turn(false);
    this.#waiting--;
    const left = this.#peers.get(peer)! - 1;
    if (left === 0) this.#peers.delete(peer);
    else this.#peers.set(peer, left);
    return isTurn;
  }

  /**
   * Waits for a place among those who ask, and for the pace, which does not bind what is known to be
   * good; whether there was one in time. Whoever has it gives it back.
   */
  async #turn(isKnown: boolean): Promise<boolean> {
    const { clock } = this.#options;
    const { inFlight, patience } = this.#limits;
    const deadline = clock.monotonic() + patience;
    while (!this.#isStopped) {
      const now = clock.monotonic();
      if (now >= deadline) return false;
      const isFree = this.#inFlight < inFlight;
      const wait = !isFree ? patience : isKnown ? 0 : this.#bucket.take(now);
      if (wait === 0) {
        this.#inFlight++;
        return true;
      }
      await this.#sleep(Math.min(wait, deadline - now), isKnown);
    }
    return false;
  }

  /** Until one who asked has ended, or for so many milliseconds. */
  #sleep(milliseconds: number, isFirst: boolean): Promise<void> {
    return new Promise((resolve) => {
      const wake = () => {
        clearTimeout(timer);
        resolve();
      };
      const timer = setTimeout(() => {
        const at = this.#queue.indexOf(wake);
        if (at !== -1) this.#queue.splice(at, 1);
        resolve();
      }, Math.ceil(milliseconds));
      if (isFirst) this.#queue.unshift(wake);
      else this.#queue.push(wake);
    });
  }

  #call(token: string): Promise<ApiResult<TokenReview>> {
    const { audience } = this.#options.account;
    const spec = { token, ...(audience === null ? {} : { audiences: [audience] }) };
    const review = { metadata: { name: "" }, spec };
    return this.#options.client.create<TokenReview>(TOKEN_REVIEWS, review, {
      deadline: this.#limits.deadline,
    });
  }

  #judge(result: ApiResult<TokenReview>, expiresAt: number | null): Verdict {
    if (!result.ok) {
      const { code } = result.error;
      // What is wrong stands in our own log; whoever asks only learns that it is not he.
      const reason = code === 403
        ? "the controller may not check tokens"
        : isOutage(code)
        ? "the API server cannot check the token now"
        : "the API server does not check the token";
      return { kind: "unknown", reason };
    }
    const { authenticated, audiences, user } = result.value.status ?? {};
    const { username, audience } = this.#options.account;
    const isFor = audience === null || audiences?.includes(audience);
    if (authenticated !== true || !isFor) return this.#invalid;
    if (user?.username !== username) return this.#foreign;
    const extra = (name: string) =>
      user.extra?.[`authentication.kubernetes.io/${name}`]?.[0] ?? null;
    const podUid = extra("pod-uid");
    if (podUid === null && !this.#options.allowUnbound) return UNBOUND;
    const { clock } = this.#options;
    // The API server's clock has just called it good: if ours says otherwise, ours is wrong.
    const life = Math.max((expiresAt ?? 0) - clock.now(), this.#limits.leastLife);
    return {
      kind: "good",
      identity: { pod: extra("pod-name"), podUid, node: extra("node-name") },
      expiresAt: clock.monotonic() + life,
    };
  }

  #keep(key: string, verdict: Good | Bad): void {
    const { goodFor, badFor, goodTokens, badTokens } = this.#limits;
    const now = this.#options.clock.monotonic();
    this.#good.delete(key);
    this.#bad.delete(key);
    if (verdict.kind === "good") {
      this.#good.set(key, { verdict, until: Math.min(now + goodFor, verdict.expiresAt) });
      bound(this.#good, goodTokens);
    } else {
      this.#bad.set(key, { verdict, until: now + badFor });
      bound(this.#bad, badTokens);
    }
  }

  #told<T extends Verdict>(result: ReviewResult, verdict: T): T {
    this.#options.onReview?.(result);
    return verdict;
  }
}

function bound(map: Map<string, unknown>, most: number): void {
  for (const key of map.keys()) {
    if (map.size <= most) return;
    map.delete(key);
  }
}
