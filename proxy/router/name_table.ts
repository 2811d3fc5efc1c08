/**
 * Numbers by name, for names by the ten thousand. In: names of ASCII, as hosts are, each with a
 * number, and another one beside it. Out: the numbers of a name, or `NO_NAME`.
 *
 * A `Map` reads a bucket, an entry and a string for that, each where no cache has it once there are
 * many, and each only when the one before has come. Here a name's bytes stand with its numbers in one
 * slot of 64 bytes: one such wait, for names of up to 36 bytes wherever the memory begins. Measured
 * in bench/performance-log.md.
 */

/** No such name. */
export const NO_NAME = -1;

/** A slot: its tag (0 where it is free), the two numbers, then the name, four bytes a word. */
const WORDS = 16;
const NUMBER = 1;
const BESIDE = 2;
const NAME = 3;

/** Longer names, which hosts hardly ever are, stand in a `Map`. */
const MAX_LENGTH = 4 * (WORDS - NAME);

/** Bits of a tag that tell the name's length plus one, so that none is 0; the others are its hash's. */
const LENGTH_BITS = 6;

const LEAST_SLOTS = 16;

/**
 * Slots that are looked at for a name. Where they are all taken it goes to the `Map`, so that nobody's
 * requests have to walk further: by chance one name in millions, as the table is never fuller than
 * five eighths, or because somebody has chosen names to that end.
 */
const MAX_STEPS = 128;

/** Another one in each process, so that it is harder to choose names that meet. */
const SEED = crypto.getRandomValues(new Int32Array(1))[0];

/** The name that was packed last. */
const packed = new Int32Array(WORDS - NAME);

export class NameTable {
  #words = new Int32Array(LEAST_SLOTS * WORDS);
  #mask = LEAST_SLOTS - 1;
  #taken = 0;
  /** Names that have no slot. */
  readonly #others = new Map<string, readonly [number: number, beside: number]>();
  #beside = 0;
  readonly #seed: number;
  readonly #steps: number;

  /** @param options of hashes and look-ups, for tests, which are to be the same each time. */
  constructor(options: { readonly seed?: number; readonly steps?: number } = {}) {
    this.#seed = options.seed ?? SEED;
    this.#steps = options.steps ?? MAX_STEPS;
  }

  get size(): number {
    return this.#taken + this.#others.size;
  }

  /** What stands beside the number that `get` has found last. */
  get beside(): number {
    return this.#beside;
  }

  /** The number of what follows in `name` from `from` on. */
  get(name: string, from = 0): number {
    const at = this.#find(pack(name, from, this.#seed));
    if (at !== NO_NAME) {
      this.#beside = this.#words[at + BESIDE];
      return this.#words[at + NUMBER];
    }
    if (this.#others.size === 0) return NO_NAME;
    const other = this.#others.get(name.slice(from));
    if (other === undefined) return NO_NAME;
    this.#beside = other[1];
    return other[0];
  }

  /** @param number 0 or more, of 31 bits, as is `beside`. */
  set(name: string, number: number, beside = 0): void {
    const tag = pack(name, 0, this.#seed);
    const at = this.#find(tag);
    if (at !== NO_NAME) {
      this.#words[at + NUMBER] = number;
      this.#words[at + BESIDE] = beside;
    } else if (tag === 0 || this.#others.has(name)) {
      this.#others.set(name, [number, beside]);
    } else {
      if (8 * (this.#taken + 1) > 5 * (this.#mask + 1)) this.#grow();
      if (!this.#insert(tag, number, beside, packed, 0)) this.#others.set(name, [number, beside]);
    }
  }

  delete(name: string): void {
    const at = this.#find(pack(name, 0, this.#seed));
    if (at === NO_NAME) this.#others.delete(name);
    else this.#free(at / WORDS);
  }

  /** Where the packed name's slot begins, or `NO_NAME`; so for a tag of 0. */
  #find(tag: number): number {
    if (tag === 0) return NO_NAME;
    const words = this.#words;
    const mask = this.#mask;
    let slot = tag >>> LENGTH_BITS & mask;
    for (let step = 0; step < this.#steps; step++) {
      const at = slot * WORDS;
      const found = words[at];
      if (found === 0) return NO_NAME;
      if (found === tag && isPacked(words, at + NAME, tag)) return at;
      slot = slot + 1 & mask;
    }
    return NO_NAME;
  }

  /** Puts a name that is not there, from `names[start]` on, into a slot; false where there is none. */
  #insert(
    tag: number,
    number: number,
    beside: number,
    names: Int32Array,
    start: number,
  ): boolean {
    const words = this.#words;
    let slot = tag >>> LENGTH_BITS & this.#mask;
    for (let step = 0; step < this.#steps; step++) {
      const at = slot * WORDS;
      if (words[at] === 0) {
        words[at] = tag;
        words[at + NUMBER] = number;
        words[at + BESIDE] = beside;
        for (let i = 0; i < WORDS - NAME; i++) words[at + NAME + i] = names[start + i];
        this.#taken++;
        return true;
      }
      slot = slot + 1 & this.#mask;
    }
    return false;
  }

  /** Moves up what stands behind the slot and belongs before it, so that no look-up ends too early. */
  #free(slot: number): void {
    const words = this.#words;
    const mask = this.#mask;
    let gap = slot;
    for (let next = gap + 1 & mask; words[next * WORDS] !== 0; next = next + 1 & mask) {
      const home = words[next * WORDS] >>> LENGTH_BITS & mask;
      // Both distances go round the end of the table.
      if ((next - home & mask) < (next - gap & mask)) continue;
      words.copyWithin(gap * WORDS, next * WORDS, (next + 1) * WORDS);
      gap = next;
    }
    words[gap * WORDS] = 0;
    this.#taken--;
  }

  #grow(): void {
    const before = this.#words;
    this.#words = new Int32Array(2 * before.length);
    this.#mask = 2 * this.#mask + 1;
    this.#taken = 0;
    for (let at = 0; at < before.length; at += WORDS) {
      if (before[at] === 0) continue;
      const [tag, number, beside] = before.subarray(at, at + NAME);
      if (this.#insert(tag, number, beside, before, at + NAME)) continue;
      this.#others.set(nameAt(before, at), [number, beside]);
    }
  }
}

/** Packs what follows from `from` on; its tag, or 0 where it cannot stand in a slot. */
function pack(name: string, from: number, seed: number): number {
  const length = name.length - from;
  if (length > MAX_LENGTH) return 0;
  let hash = seed;
  let codes = 0;
  let words = 0;
  for (let at = from; at < name.length; at += 4) {
    let word = 0;
    const end = Math.min(at + 4, name.length);
    for (let i = at; i < end; i++) {
      const code = name.charCodeAt(i);
      codes |= code;
      word |= code << 8 * (i - at);
    }
    packed[words++] = word;
    hash = Math.imul(hash ^ word, 0x9e3779b1);
    hash ^= hash >>> 15;
  }
  if (codes > 0x7f) return 0;
  while (words < packed.length) packed[words++] = 0;
  // The last steps of MurmurHash3, so that every bit of the name is in every bit of the hash.
  hash = Math.imul(hash ^ hash >>> 16, 0x85ebca6b);
  hash = Math.imul(hash ^ hash >>> 13, 0xc2b2ae35);
  hash ^= hash >>> 16;
  return hash << LENGTH_BITS | length + 1;
}

/** Whether the packed name stands at `start`; the tag, which has its length, is known to be its. */
function isPacked(words: Int32Array, start: number, tag: number): boolean {
  const count = lengthOf(tag) + 3 >> 2;
  for (let i = 0; i < count; i++) {
    if (words[start + i] !== packed[i]) return false;
  }
  return true;
}

function lengthOf(tag: number): number {
  return (tag & (1 << LENGTH_BITS) - 1) - 1;
}

/** The name of the slot at `at`. */
function nameAt(words: Int32Array, at: number): string {
  const codes = Array.from(
    { length: lengthOf(words[at]) },
    (_, i) => words[at + NAME + (i >> 2)] >>> 8 * (i & 3) & 0xff,
  );
  return String.fromCharCode(...codes);
}
