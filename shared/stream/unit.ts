/**
 * The units that the content of a snapshot is made of: each host with its routes, each part that
 * has an id (upstreams, certificates and so on), and the rest. In: units in the order of their keys. Out: their hash, and what
 * differs between two lists of them, at the cost of one look at each.
 *
 * The hash of all is the XOR of each one's, so that it follows a change without looking at what
 * stayed, and does not depend on an order. It finds mistakes, not attackers: a peer that may send
 * units at all may send any.
 */
import { hash } from "node:crypto";
import { compareHosts } from "../host/host_order.ts";

/** Of parts that have an id. */
export type PartSection =
  | "listener"
  | "host settings"
  | "filter set"
  | "policy"
  | "upstream"
  | "credentials"
  | "certificate";

export type Section = "host" | PartSection | "rest";

/** A part of a configuration. Never changed, so that the same object is the same content. */
export interface Unit {
  /** Unique in its section. */
  readonly key: string;
  /** 32 bytes as a Latin-1 text, one character each. */
  readonly hash: string;
}

export type KeyOrder = (a: string, b: string) => number;

/** The order of hosts, and of the ids of parts. */
export const ORDER: Readonly<Record<"host" | "part", KeyOrder>> = {
  host: compareHosts,
  part: compareText,
};

/** By UTF-16 code units. */
function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Of the unit whose JSON is `text`, as `Unit.hash` has it. */
export function unitHash(section: Section, key: string, text: string): string {
  return hash("sha256", `${section}\0${key}\0${text}`, "binary");
}

const HASH_BYTES = 32;

/** The XOR of the hashes of units. */
export class HashSum {
  readonly #bytes: Uint8Array;

  constructor(start?: HashSum) {
    this.#bytes = start === undefined ? new Uint8Array(HASH_BYTES) : start.#bytes.slice();
  }

  /** Puts a unit in that was not, or takes one out that was. */
  toggle(unit: Unit): void {
    for (let i = 0; i < HASH_BYTES; i++) this.#bytes[i] ^= unit.hash.charCodeAt(i);
  }

  toggleAll(units: readonly Unit[]): void {
    for (const unit of units) this.toggle(unit);
  }

  /** The content hash, in hex. */
  toHex(): string {
    return this.#bytes.toHex();
  }
}

/** The units in the order of their keys; the same list if they are. */
export function inOrder<U extends Unit>(units: readonly U[], order: KeyOrder): readonly U[] {
  return firstMisplaced(units, order) === -1
    ? units
    : units.toSorted((a, b) => order(a.key, b.key));
}

/** A key that more than one of the units has, which are in order; null for none. */
export function repeatedKey(units: readonly Unit[], order: KeyOrder): string | null {
  const misplaced = firstMisplaced(units, order);
  return misplaced === -1 ? null : units[misplaced].key;
}

/** Index of the first whose key does not come after that of the one before; -1 for none. */
function firstMisplaced(units: readonly Unit[], order: KeyOrder): number {
  for (let i = 1; i < units.length; i++) {
    if (order(units[i - 1].key, units[i].key) >= 0) return i;
  }
  return -1;
}

export interface UnitDifference<U> {
  /** Those of now that are new or have changed. */
  readonly changed: readonly U[];
  /** What they were before; those that are gone are here too. */
  readonly replaced: readonly U[];
  /** Keys of those that are gone. */
  readonly removed: readonly string[];
}

/** Both lists are in order, without a key twice. */
export function differenceOf<U extends Unit>(
  before: readonly U[],
  now: readonly U[],
  order: KeyOrder,
): UnitDifference<U> {
  const changed: U[] = [];
  const replaced: U[] = [];
  const removed: string[] = [];
  let i = 0;
  let j = 0;
  while (i < before.length || j < now.length) {
    const old = before[i];
    const unit = now[j];
    if (old === unit) {
      i++;
      j++;
      continue;
    }
    const which = old === undefined ? 1 : unit === undefined ? -1 : order(old.key, unit.key);
    if (which <= 0) i++;
    if (which >= 0) j++;
    if (which === 0 && old.hash === unit.hash) continue;
    if (which <= 0) replaced.push(old);
    if (which >= 0) changed.push(unit);
    else removed.push(old.key);
  }
  return { changed, replaced, removed };
}

/**
 * The same for a list that has come of another by edits: of units with keys that either has, and no
 * others. At the cost of a search for each edit.
 */
export function differenceOfEdits<U extends Unit>(
  before: readonly U[],
  edited: readonly U[],
  gone: readonly string[],
  order: KeyOrder,
): UnitDifference<U> {
  const changed: U[] = [];
  const replaced: U[] = [];
  const removed: string[] = [];
  for (const unit of edited) {
    const old = findUnit(before, unit.key, order);
    if (old?.hash === unit.hash) continue;
    if (old !== undefined) replaced.push(old);
    changed.push(unit);
  }
  for (const key of new Set(gone)) {
    const old = findUnit(before, key, order);
    if (old === undefined) continue;
    replaced.push(old);
    removed.push(key);
  }
  return { changed, replaced, removed };
}

/** The unit with a key, among some that are in order. */
export function findUnit<U extends Unit>(
  units: readonly U[],
  key: string,
  order: KeyOrder,
): U | undefined {
  const unit = units[placeOf(units, key, order, 0)];
  return unit?.key === key ? unit : undefined;
}

/**
 * `before` with units put in, or in the place of those with the same key, and others taken out. All
 * lists are in order. What is to be removed and is not there, is gone already.
 */
export function merge<U extends Unit>(
  before: readonly U[],
  changed: readonly U[],
  removed: readonly string[],
  order: KeyOrder,
): readonly U[] {
  if (changed.length === 0 && removed.length === 0) return before;
  const edits: { readonly key: string; readonly unit?: U }[] = [
    ...changed.map((unit) => ({ key: unit.key, unit })),
    ...removed.map((key) => ({ key })),
  ].sort((a, b) => order(a.key, b.key));
  const result: U[] = [];
  let at = 0;
  for (const { key, unit } of edits) {
    const place = placeOf(before, key, order, at);
    while (at < place) result.push(before[at++]);
    if (before[at]?.key === key) at++;
    if (unit !== undefined) result.push(unit);
  }
  while (at < before.length) result.push(before[at++]);
  return result;
}

/** Index of the first unit, from `start` on, whose key does not come before `key`. */
function placeOf(units: readonly Unit[], key: string, order: KeyOrder, start: number): number {
  let low = start;
  let high = units.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (order(units[middle].key, key) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}
