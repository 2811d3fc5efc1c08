/**
 * How many endpoints each Service has. In: the lists of its upstreams, of which each is a port. Out: the
 * number of different ones, counted when it is asked for and then kept: those of ten thousand Services at
 * once would keep traffic waiting for 50 ms, at the first scrape after each change.
 */
import type { Endpoint } from "../../shared/snapshot/types.ts";

type EndpointLists = readonly (readonly Endpoint[])[];

export class EndpointCounts {
  readonly #lists: ReadonlyMap<string, EndpointLists>;
  readonly #counts = new Map<string, number>();

  /** @param lists by labels of the Service. */
  constructor(lists: ReadonlyMap<string, EndpointLists>) {
    this.#lists = lists;
  }

  /** Of each Service. */
  labels(): Iterable<string> {
    return this.#lists.keys();
  }

  /** How many different endpoints the Service with these labels has. */
  of(labels: string): number {
    let count = this.#counts.get(labels);
    if (count === undefined) {
      count = differentOnes(this.#lists.get(labels) ?? []);
      this.#counts.set(labels, count);
    }
    return count;
  }
}

function differentOnes(lists: EndpointLists): number {
  const different = new Set<string>();
  for (const endpoints of lists) {
    for (const { address, port } of endpoints) different.add(`${address} ${port}`);
  }
  return different.size;
}
