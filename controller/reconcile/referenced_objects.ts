/**
 * Objects that are read because others name them. In: what names them, at each translation. Out: they are
 * read, or have been waited for.
 */
import type { Resources } from "../kube/resources.ts";

/** Objects of one kind, of which only those are read that are wanted. */
export interface WantedObjects {
  /** @param names `namespace/name`. */
  want(names: ReadonlySet<string>): void;
  /** Whether all wanted ones are there, or known to be missing, within this many milliseconds. */
  settled(milliseconds: number): Promise<boolean>;
}

export interface NamedReferences {
  readonly objects: WantedObjects;
  /** Names of those that resources name, as `namespace/name`. */
  readonly references: (resources: Resources) => ReadonlySet<string>;
}

/** Milliseconds that an object which is named for the first time is waited for. */
const PATIENCE = 2000;

export class ReferencedObjects {
  readonly #named: NamedReferences;
  /** Milliseconds that those of the first translation are waited for. */
  readonly #firstPatience: number;
  /** Names of those that have been waited for. */
  #awaited: ReadonlySet<string> | null = null;

  constructor(named: NamedReferences, firstPatience = PATIENCE) {
    this.#named = named;
    this.#firstPatience = firstPatience;
  }

  /** Resolves when those that are named are there, or cannot be had soon. */
  async read(resources: Resources): Promise<void> {
    const { objects, references } = this.#named;
    const wanted = references(resources);
    objects.want(wanted);
    const before = this.#awaited;
    this.#awaited = wanted;
    if (wanted.size === 0) return;
    if (before !== null && [...wanted].every((name) => before.has(name))) return;
    // An object that comes with what it names should not be reported for lacking it.
    await objects.settled(before === null ? this.#firstPatience : PATIENCE);
  }
}
