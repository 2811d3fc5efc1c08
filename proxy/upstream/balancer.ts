/**
 * Fair choice among endpoints. In: the list of now and those that failed this request. Out: the next
 * in turn. Knows no protocol.
 */

/**
 * Round robin. One turn moves on with every choice, retries included: when an endpoint is down, its
 * share goes to all the others alike, and not to the one that stands behind it in the list.
 */
export class RoundRobin<E> {
  #turn = 0;

  /** The next endpoint that is not in `tried`, or null. */
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
