/**
 * Fair choice among endpoints. In: the list of now and those that failed this request. Out: the one
 * to ask. Knows no protocol.
 */

/** A way of choosing. */
export interface Balancer<E> {
  /** The next endpoint that is not in `tried`, or null. */
  pick(endpoints: readonly E[], tried: readonly E[] | null): E | null;
}

/**
 * Round robin. One turn moves on with every choice, retries included: when an endpoint is down, its
 * share goes to all the others alike, and not to the one that stands behind it in the list.
 */
export class RoundRobin<E> implements Balancer<E> {
  #turn = 0;

  pick(endpoints: readonly E[], tried: readonly E[] | null): E | null {
    const { length } = endpoints;
    for (let i = 0; i < length; i++) {
      if (this.#turn >= length) this.#turn = 0;
      const endpoint = endpoints[this.#turn++];
      if (tried === null || !tried.includes(endpoint)) return endpoint;
    }
    return null;
  }
}

/** What a choice by load needs to know of an endpoint. */
export interface Loaded {
  readonly load: { readonly requests: number };
}

/**
 * Least requests: of two different endpoints that are chosen at random, the one that is being asked
 * less. Nearly as good as the least of all, and unlike that it does not send every proxy's next
 * request to the same newcomer (Mitzenmacher, "The Power of Two Choices", 2001).
 */
export class LeastRequests<E extends Loaded> implements Balancer<E> {
  readonly #random: () => number;

  /** @param random from 0 to less than 1. */
  constructor(random: () => number) {
    this.#random = random;
  }

  pick(endpoints: readonly E[], tried: readonly E[] | null): E | null {
    const left = tried === null ? endpoints : endpoints.filter((each) => !tried.includes(each));
    const { length } = left;
    if (length === 0) return null;
    if (length === 1) return left[0];
    const first = Math.floor(this.#random() * length);
    let second = Math.floor(this.#random() * (length - 1));
    if (second >= first) second++;
    // Where both are asked alike, the first is as good a draw as any.
    return left[second].load.requests < left[first].load.requests ? left[second] : left[first];
  }
}
