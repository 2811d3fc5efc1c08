/**
 * The paths of a host, with what else its routes want of a request. In: matches in order of
 * precedence, then a request. Out: the number of the first match that takes it.
 *
 * Nothing here is a single host's: most hosts have the same few paths, and share one tree, which then
 * stays in the processor's caches, while of each host there are only its own entries.
 *
 * The tree is an index for that rule: each place in it already knows what wins there, be it of a
 * broader path, so plain routes cost one walk along the path. Prefixes stand in it with one step a
 * segment; steps without a choice are joined into one, so memory grows with the number of routes and
 * not with the length of their paths. A lookup reads each byte of the path at most a few times,
 * whatever the path and the routes hold. Only StringPrefix and Regex paths are compared one by one.
 *
 * Routes that are compared with decoded paths have a tree of their own within. Where others stand beside
 * them, or one that is compared with paths as they are protects its path, a request must lead to the same
 * route in both: what one form protects, the other cannot open.
 */
import { decodedPath, decodedRoutePath } from "../../shared/path/decoded_path.ts";
import { literalStart } from "../../shared/path/literal_start.ts";
import type { PathMatch, RouteMatch } from "../../shared/snapshot/types.ts";
import { Candidates, NONE } from "./candidates.ts";
import { Conditions, isUnconditional } from "./conditions.ts";
import { Interned } from "./interned.ts";
import { compilePattern, type Matches, type PatternCompiler } from "./patterns/pattern.ts";
import { type MatchedRequest, RequestView } from "./request_view.ts";
import { Segments } from "./segments.ts";

const SLASH = 0x2f;

interface Node {
  /** Of the matches that end here, as in `candidates.ts`; once settled with what is broader. */
  place: number;
  /** What follows the step's first segment, with its leading slash: `/v1/users`, or "". */
  tail: string;
  /** The first segment of the step, for where the tail begins. */
  segment: string;
  /** By their first segments. */
  children: Segments<Node> | null;
}

/** A route whose path is compared by itself. */
interface Compared {
  readonly number: number;
  readonly takes: Matches;
  readonly conditions: Conditions | null;
}

/** The path of the request leads nowhere: nginx refuses it, or its two forms have different routes. */
export const REFUSED = -2;

/** The patterns that the request would have to be compared with are more work than a request may be. */
export const EXCEEDED = -3;

/** Higher than all numbers. */
const NO_LIMIT = 0x7fffffff;

/** A match, and whether its route protects what it takes; see `guarded_route.ts`. */
export type TreeMatch = RouteMatch & { readonly isGuarded?: boolean };

export class PathTree {
  /** Places of Exact paths. */
  readonly #exact = new Map<string, number>();
  readonly #root: Node = { place: NONE, segment: "", tail: "", children: null };
  /** Null where no route has conditions. */
  #candidates: Candidates | null = null;
  /** In order of precedence; null for none. */
  #compared: Compared[] | null = null;
  /** For decoded paths; null for most. */
  #decoded: PathTree | null = null;
  /** Whether this tree counts too where there is one for decoded paths. */
  #isMixed = false;

  /** Numbers are places in this list. */
  constructor(matches: readonly TreeMatch[], compile: PatternCompiler = compilePattern) {
    if (matches.some(({ path }) => path.decoded) || needsBothForms(matches)) {
      this.#decoded = new PathTree(matches.map(inDecodedForm), compile);
      // So that `find` looks further.
      this.#compared = [];
      this.#isMixed = !matches.every(({ path }) => path.decoded);
      if (!this.#isMixed) return;
    }
    for (const [number, match] of matches.entries()) {
      const conditions = isUnconditional(match) ? null : new Conditions(match, compile);
      const { path } = match;
      switch (path.type) {
        case "Exact": {
          const place = this.#exact.get(path.value) ?? NONE;
          this.#exact.set(path.value, this.#add(place, number, conditions));
          break;
        }
        case "Prefix": {
          const node = path.value === "/" ? this.#root : reach(this.#root, path.value);
          node.place = this.#add(node.place, number, conditions);
          break;
        }
        default:
          this.#compared ??= [];
          this.#compared.push({ number, takes: comparison(path, compile), conditions });
      }
    }
    this.#settle();
  }

  /** Whether paths alone decide, without a view of the request. */
  get isPlain(): boolean {
    return this.#compared === null && this.#candidates === null;
  }

  /**
   * The number of the match that wins for a canonical path, or `NONE`, `REFUSED` or `EXCEEDED`.
   *
   * @param view Of the request, where other trees have been asked for it; null for none.
   */
  find(path: string, request: MatchedRequest, view: RequestView | null = null): number {
    const place = this.#place(path);
    if (place >= NONE && this.#compared === null) return place;
    return this.#decide(place, path, request, view ?? new RequestView(request));
  }

  #decide(place: number, path: string, request: MatchedRequest, view: RequestView): number {
    const number = this.#winner(place, path, request, view);
    return view.work.isExceeded ? EXCEEDED : number;
  }

  #winner(place: number, path: string, request: MatchedRequest, view: RequestView): number {
    if (this.#decoded === null) return this.#compare(place, path, view);
    const decoded = decodedPath(request.received || path);
    if (decoded === null) return REFUSED;
    const found = this.#decoded.find(decoded, request, view);
    return !this.#isMixed || found === this.#compare(place, path, view) ? found : REFUSED;
  }

  #compare(place: number, path: string, view: RequestView): number {
    let best = place >= 0 ? place : NO_LIMIT;
    if (this.#candidates !== null) best = this.#candidates.find(place, view, best);
    for (const { number, takes, conditions } of this.#compared ?? []) {
      if (number >= best || view.work.isExceeded) break;
      if (takes(path, view.work) && (conditions === null || conditions.hold(view))) best = number;
    }
    return best === NO_LIMIT ? NONE : best;
  }

  #add(place: number, number: number, conditions: Conditions | null): number {
    if (conditions === null && this.#candidates === null) return place === NONE ? number : place;
    this.#candidates ??= new Candidates();
    return this.#candidates.add(place, { number, conditions });
  }

  #join(place: number, broader: number): number {
    if (this.#candidates !== null) return this.#candidates.join(place, broader);
    if (place === NONE || broader === NONE) return Math.max(place, broader);
    return Math.min(place, broader);
  }

  /** Makes each place know what wins there. No recursion: a tree may have steps by the thousand. */
  #settle(): void {
    const open: [node: Node, broader: number][] = [[this.#root, NONE]];
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      const [node, broader] = next;
      if (node.place !== NONE) node.place = this.#join(node.place, broader);
      const place = node.place === NONE ? broader : node.place;
      for (const child of node.children?.values() ?? []) open.push([child, place]);
    }
    for (const [path, place] of this.#exact) {
      this.#exact.set(path, this.#join(place, this.#prefixPlace(path)));
    }
  }

  #place(path: string): number {
    if (this.#exact.size > 0) {
      const exact = this.#exact.get(path);
      if (exact !== undefined) return exact;
    }
    return this.#prefixPlace(path);
  }

  #prefixPlace(path: string): number {
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
  readonly #compile: PatternCompiler;
  /** By the numbers of their keys; null where one has gone. */
  readonly #trees: (PathTree | null)[] = [];

  constructor(compile: PatternCompiler) {
    this.#compile = compile;
  }

  /** How many different ones there are. */
  get size(): number {
    return this.#keys.size;
  }

  /** The number of the tree for a host with these matches in this order; to be given back. */
  take(matches: readonly TreeMatch[]): number {
    const number = this.#keys.take(keyOf(matches));
    this.#trees[number] ??= new PathTree(matches, this.#compile);
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

/** Whether there is a protected path, and a way past it. */
function needsBothForms(matches: readonly TreeMatch[]): boolean {
  if (!matches.some(({ isGuarded }) => isGuarded)) return false;
  const [{ path }] = matches;
  return matches.length > 1 || path.type !== "Prefix" || path.value !== "/";
}

/** To be compared with decoded paths. */
function inDecodedForm(
  { path: { type, value }, isGuarded: _, ...conditions }: TreeMatch,
): RouteMatch {
  return {
    path: { type, value: type === "Regex" ? value : decodedRoutePath(value) },
    ...conditions,
  };
}

/** Canonical paths have no blanks; patterns and conditions may. */
function keyOf(matches: readonly TreeMatch[]): string {
  let key = "";
  for (const match of matches) {
    const { type, value, decoded = false } = match.path;
    const isPlain = type !== "Regex" && !decoded && !match.isGuarded && isUnconditional(match);
    key += isPlain ? `${type} ${value} ` : `${JSON.stringify(match)} `;
  }
  return key;
}

/** Whether a path is one of those that a StringPrefix or a Regex takes. */
function comparison({ type, value }: PathMatch, compile: PatternCompiler): Matches {
  if (type !== "Regex") return (path: string) => path.startsWith(value);
  const compiled = compile(value);
  if (compiled.ok) return compiled.matches;
  // The route responds with 500 to what it may have been meant for; see `conditions.ts`.
  const start = literalStart(value);
  return (path: string) => path.startsWith(start);
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
