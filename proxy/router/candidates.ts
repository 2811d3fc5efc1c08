/**
 * The routes of one place in a tree of paths that a request must be compared with, since some of them
 * have conditions. In: the numbers of routes, which are their precedence: the lower wins. Out: the
 * lowest one that takes the request.
 *
 * A place is a number: 0 or more is the route that wins without a further look, `NONE` is no route,
 * and a lower one stands for a list here.
 */
import type { Conditions } from "./conditions.ts";
import type { RequestView } from "./request_view.ts";

/** No route takes the path. */
export const NONE = -1;

/** The number of the first list. */
const FIRST_LIST = -2;

export interface Candidate {
  readonly number: number;
  /** Null for none. */
  readonly conditions: Conditions | null;
}

interface CandidateList {
  /** In order of precedence. The last one may have no conditions, and then takes the rest. */
  readonly own: Candidate[];
  /** The place whose routes take the same paths and more. */
  broader: number;
  /** Of all here and there. */
  lowest: number;
}

export class Candidates {
  readonly #lists: CandidateList[] = [];

  /** The place of what stood at `place` and one more route, with a higher number than all of them. */
  add(place: number, candidate: Candidate): number {
    const { number, conditions } = candidate;
    if (place >= 0) return place;
    if (place === NONE) {
      return conditions === null ? number : this.#put([candidate], NONE, number);
    }
    const { own } = this.#at(place);
    if (own.at(-1)!.conditions !== null) own.push(candidate);
    return place;
  }

  /** The place of what stands at `place`, and at one for broader paths, which is complete. */
  join(place: number, broader: number): number {
    if (place === NONE) return broader;
    if (broader === NONE) return place;
    if (place <= FIRST_LIST) {
      const list = this.#at(place);
      list.broader = broader;
      list.lowest = Math.min(list.lowest, this.#lowest(broader));
      return place;
    }
    const lowest = this.#lowest(broader);
    if (place < lowest) return place;
    if (broader >= 0) return broader;
    return this.#put([{ number: place, conditions: null }], broader, lowest);
  }

  /** The lowest number at a place below `limit` that takes the request; `limit` for none. */
  find(place: number, request: RequestView, limit: number): number {
    let best = limit;
    let at = place;
    while (at <= FIRST_LIST) {
      const { own, broader, lowest } = this.#at(at);
      if (lowest >= best) return best;
      for (const { number, conditions } of own) {
        if (number >= best) break;
        if (conditions === null || conditions.hold(request)) best = number;
      }
      at = broader;
    }
    return at === NONE ? best : Math.min(at, best);
  }

  #lowest(place: number): number {
    return place >= 0 ? place : this.#at(place).lowest;
  }

  #at(place: number): CandidateList {
    return this.#lists[FIRST_LIST - place];
  }

  #put(own: Candidate[], broader: number, lowest: number): number {
    this.#lists.push({ own, broader, lowest });
    return FIRST_LIST - (this.#lists.length - 1);
  }
}
