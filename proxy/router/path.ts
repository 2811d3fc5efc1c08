/**
 * Paths of one host. In: `PathMatch` values, each with an entry, then a request's canonical path.
 * Out: the entry of the equal Exact path, else of the longest Prefix by whole segments.
 *
 * Prefixes stand in a tree with one step a segment; steps without a choice are joined into one, so
 * memory grows with the number of routes and not with the length of their paths. A lookup reads
 * each byte of the path at most a few times, whatever the path and the routes hold.
 */
import type { PathMatch } from "../../shared/snapshot.ts";

const SLASH = 0x2f;

interface Node<T> {
  entry: T | null;
  /** What follows the step's first segment, with its leading slash: `/v1/users`, or "". */
  tail: string;
  /** By the first segment of the step. A Map, since segments may be called `__proto__`. */
  children: Map<string, Node<T>> | null;
}

export class PathIndex<T> {
  #exact = new Map<string, T>();
  #root: Node<T> = { entry: null, tail: "", children: null };

  /** Adds an entry; the first of two for the same match stays. */
  add(match: PathMatch, entry: T): void {
    if (match.type === "Exact") {
      if (!this.#exact.has(match.value)) this.#exact.set(match.value, entry);
      return;
    }
    const node = match.value === "/" ? this.#root : reach(this.#root, match.value);
    node.entry ??= entry;
  }

  /** The entry that wins for a canonical path, or null where no match takes it. */
  find(path: string): T | null {
    if (this.#exact.size > 0) {
      const exact = this.#exact.get(path);
      if (exact !== undefined) return exact;
    }
    let best = this.#root.entry;
    let children = this.#root.children;
    // Start of the next segment; beyond the path's length where the last one has been taken.
    let at = 1;
    while (children !== null && at <= path.length) {
      let end = segmentEnd(path, at);
      const child = children.get(path.slice(at, end));
      if (child === undefined) break;
      if (child.tail !== "") {
        if (!path.startsWith(child.tail, end)) break;
        end += child.tail.length;
        if (end < path.length && path.charCodeAt(end) !== SLASH) break;
      }
      if (child.entry !== null) best = child.entry;
      children = child.children;
      at = end + 1;
    }
    return best;
  }
}

/** The node of a prefix below `root`, made where there is none. */
function reach<T>(root: Node<T>, value: string): Node<T> {
  let node = root;
  let at = 1;
  while (at <= value.length) {
    const end = segmentEnd(value, at);
    const segment = value.slice(at, end);
    const rest = value.slice(end);
    const child = node.children?.get(segment);
    if (child === undefined) {
      const leaf: Node<T> = { entry: null, tail: rest, children: null };
      (node.children ??= new Map()).set(segment, leaf);
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
function splitStep<T>(node: Node<T>, length: number): void {
  const end = segmentEnd(node.tail, length + 1);
  const segment = node.tail.slice(length + 1, end);
  const below = { entry: node.entry, tail: node.tail.slice(end), children: node.children };
  node.entry = null;
  node.tail = node.tail.slice(0, length);
  node.children = new Map([[segment, below]]);
}

/** Where the segment that starts at `start` ends: its slash, or the end of the text. */
function segmentEnd(text: string, start: number): number {
  const slash = text.indexOf("/", start);
  return slash < 0 ? text.length : slash;
}
