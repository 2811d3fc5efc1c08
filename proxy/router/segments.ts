/**
 * Values by segment of a path. In: segments, each with a value. Out: the value of the segment that
 * begins somewhere in a path.
 *
 * A `Map` would want each segment cut out of the path, and hashed anew for that. Most steps of a
 * tree have few segments: their hashes are compared one by one, and the segment stays where it is.
 */

const SLASH = 0x2f;

/** With more segments than this a `Map` is faster, and nobody's requests compare with hundreds. */
const MAX_COMPARED = 16;

export class Segments<T> {
  #names: string[] = [];
  #hashes: number[] = [];
  #values: T[] = [];
  #longest = 0;
  /** In place of the lists, once there are many, or two of one hash: at most one name is compared. */
  #byName: Map<string, T> | null = null;

  /** Of a whole segment; undefined for none. */
  get(name: string): T | undefined {
    return this.find(name, 0);
  }

  /** @param name one that has no value yet. */
  set(name: string, value: T): void {
    this.#longest = Math.max(this.#longest, name.length);
    const hash = hashOf(name);
    if (this.#byName === null) {
      if (this.#names.length < MAX_COMPARED && !this.#hashes.includes(hash)) {
        this.#names.push(name);
        this.#hashes.push(hash);
        this.#values.push(value);
        return;
      }
      this.#byName = new Map(this.#names.map((known, i) => [known, this.#values[i]]));
      [this.#names, this.#hashes, this.#values] = [[], [], []];
    }
    this.#byName.set(name, value);
  }

  values(): Iterable<T> {
    return this.#byName?.values() ?? this.#values;
  }

  /** Of the segment that begins at `start` and ends at a slash or where the path does. */
  find(path: string, start: number): T | undefined {
    if (this.#byName !== null) return this.#findByName(this.#byName, path, start);
    const limit = start + this.#longest;
    let hash = 0;
    let end = start;
    for (; end < path.length; end++) {
      const code = path.charCodeAt(end);
      if (code === SLASH) break;
      // None is so long.
      if (end === limit) return undefined;
      hash = Math.imul(hash, 31) + code | 0;
    }
    const hashes = this.#hashes;
    for (let i = 0; i < hashes.length; i++) {
      if (hashes[i] !== hash) continue;
      return isAt(path, start, end, this.#names[i]) ? this.#values[i] : undefined;
    }
    return undefined;
  }

  #findByName(byName: ReadonlyMap<string, T>, path: string, start: number): T | undefined {
    const slash = path.indexOf("/", start);
    const end = slash === -1 ? path.length : slash;
    return end - start > this.#longest ? undefined : byName.get(path.slice(start, end));
  }
}

/** As `find` makes it. */
function hashOf(name: string): number {
  let hash = 0;
  for (let i = 0; i < name.length; i++) hash = Math.imul(hash, 31) + name.charCodeAt(i) | 0;
  return hash;
}

function isAt(path: string, start: number, end: number, name: string): boolean {
  if (end - start !== name.length) return false;
  for (let i = 0; i < name.length; i++) {
    if (path.charCodeAt(start + i) !== name.charCodeAt(i)) return false;
  }
  return true;
}
