/**
 * The paths of a host. In: `PathMatch` values, then a request's canonical path. Out: which of them
 * takes it: the equal Exact path, else the longest Prefix by whole segments.
 *
 * Nothing here is a single host's: most hosts have the same few paths, and share one tree, which then
 * stays in the processor's caches, while of each host there are only its own entries.
 *
 * Prefixes stand in a tree with one step a segment; steps without a choice are joined into one, so
 * memory grows with the number of routes and not with the length of their paths. A lookup reads
 * each byte of the path at most a few times, whatever the path and the routes hold.
 */
import type { PathMatch } from "../../shared/snapshot/types.ts";
import { Interned } from "./interned.ts";
import { Segments } from "./segments.ts";

const SLASH = 0x2f;

interface Node {
  /** Place of the match that ends here, or `NONE`. */
  place: number;
  /** What follows the step's first segment, with its leading slash: `/v1/users`, or "". */
  tail: string;
  /** The first segment of the step, for where the tail begins. */
  segment: string;
  /** By their first segments. */
  children: Segments<Node> | null;
}

/** No match takes the path. */
export const NONE = -1;

export class PathTree {
  readonly #exact = new Map<string, number>();
  readonly #root: Node = { place: NONE, segment: "", tail: "", children: null };

  /** Of two that are the same the first wins. */
  constructor(matches: readonly PathMatch[]) {
    for (const [place, { type, value }] of matches.entries()) {
      if (type === "Exact") {
        if (!this.#exact.has(value)) this.#exact.set(value, place);
        continue;
      }
      const node = value === "/" ? this.#root : reach(this.#root, value);
      if (node.place === NONE) node.place = place;
    }
  }

  /** The place of the match that wins for a canonical path, or `NONE`. */
  find(path: string): number {
    if (this.#exact.size > 0) {
      const exact = this.#exact.get(path);
      if (exact !== undefined) return exact;
    }
    let best = this.#root.place;
    let children = this.#root.children;
    // Start of the next segment; beyond the path's length where the last one has been taken.
    let at = 1;
    while (children !== null && at <= path.length) {
      const child = children.find(path, at);
      if (child === undefined) break;
      let end = at + child.segment.length;
      if (child.tail !== "") {
        if (!path.startsWith(child.tail, end)) break;
        end += child.tail.length;
        if (end < path.length && path.charCodeAt(end) !== SLASH) break;
      }
      if (child.place !== NONE) best = child.place;
      children = child.children;
      at = end + 1;
    }
    return best;
  }
}

/** The trees of a table: each is there once, for as long as a host has just these paths. */
export class PathTrees {
  readonly #keys = new Interned<string>();
  /** By the numbers of their keys; null where one has gone. */
  readonly #trees: (PathTree | null)[] = [];

  /** How many different ones there are. */
  get size(): number {
    return this.#keys.size;
  }

  /** The number of the tree for a host with these paths in this order; to be given back. */
  take(matches: readonly PathMatch[]): number {
    const number = this.#keys.take(keyOf(matches));
    this.#trees[number] ??= new PathTree(matches);
    return number;
  }

  /** A tree that has been taken. */
  tree(number: number): PathTree {
    return this.#trees[number]!;
  }

  /** A host has it no longer. */
  release(number: number): void {
    if (this.#keys.release(number)) this.#trees[number] = null;
  }
}

/** Canonical paths have no blanks. */
function keyOf(matches: readonly PathMatch[]): string {
  let key = "";
  for (const { type, value } of matches) key += `${type} ${value} `;
  return key;
}

/** The node of a prefix below `root`, made where there is none. */
function reach(root: Node, value: string): Node {
  let node = root;
  let at = 1;
  while (at <= value.length) {
    const end = segmentEnd(value, at);
    const segment = value.slice(at, end);
    const rest = value.slice(end);
    const child = node.children?.get(segment);
    if (child === undefined) {
      const leaf: Node = { place: NONE, segment, tail: rest, children: null };
      (node.children ??= new Segments()).set(segment, leaf);
      return leaf;
    }
    const shared = sharedSegments(child.tail, rest);
    if (shared < child.tail.length) splitStep(child, shared);
    node = child;
    at = end + shared + 1;
  }
  return node;
}

/** Length of the longest common start of two tails that ends where a segment ends in both. */
function sharedSegments(a: string, b: string): number {
  const shorter = Math.min(a.length, b.length);
  let boundary = 0;
  let i = 0;
  for (; i < shorter && a.charCodeAt(i) === b.charCodeAt(i); i++) {
    if (a.charCodeAt(i) === SLASH) boundary = i;
  }
  const endsInA = i === a.length || a.charCodeAt(i) === SLASH;
  const endsInB = i === b.length || b.charCodeAt(i) === SLASH;
  return endsInA && endsInB ? i : boundary;
}

/** Cuts a step in two after `length` characters of its tail; the second part keeps its children. */
function splitStep(node: Node, length: number): void {
  const end = segmentEnd(node.tail, length + 1);
  const segment = node.tail.slice(length + 1, end);
  const { place, children } = node;
  node.place = NONE;
  node.children = new Segments();
  node.children.set(segment, { place, segment, tail: node.tail.slice(end), children });
  node.tail = node.tail.slice(0, length);
}

/** Where the segment that starts at `start` ends: its slash, or the end of the text. */
function segmentEnd(text: string, start: number): number {
  const slash = text.indexOf("/", start);
  return slash < 0 ? text.length : slash;
}
