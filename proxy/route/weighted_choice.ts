/**
 * A choice by weight. In: options with their weights, and which of them are of use now. Out: one
 * option after another, each as often as its weight says.
 *
 * Smooth weighted round robin, as nginx chooses servers: of weights 5, 1 and 1 it gives A A B A C A A,
 * where a choice at random gives a small share none for long, and a burst then.
 */
import type { Choice } from "./route.ts";

export interface Weighted<T> {
  readonly option: T;
  /** 0 is never chosen. */
  readonly weight: number;
  /** Whether it is of use now; where none is, all are chosen from. */
  readonly isUsable: () => boolean;
}

export class WeightedChoice<T> implements Choice<T> {
  readonly #options: readonly Weighted<T>[];
  /** How far each is behind its share. */
  readonly #credits: number[];

  /** @param options of which at least one has a weight above 0. */
  constructor(options: readonly Weighted<T>[]) {
    this.#options = options.filter(({ weight }) => weight > 0);
    this.#credits = this.#options.map(() => 0);
  }

  choose(): T {
    const options = this.#options;
    const credits = this.#credits;
    const takesAll = !options.some((one) => one.isUsable());
    let best = -1;
    let total = 0;
    for (let i = 0; i < options.length; i++) {
      if (!takesAll && !options[i].isUsable()) continue;
      const { weight } = options[i];
      total += weight;
      credits[i] += weight;
      if (best === -1 || credits[i] > credits[best]) best = i;
    }
    credits[best] -= total;
    return options[best].option;
  }
}
