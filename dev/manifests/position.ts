/**
 * Where a field of an object stands in its file. In: a YAML node and a JSON path such as
 * `spec.rules[0].host`. Out: line and column of that field, or of the nearest thing around it that
 * is there, so that a problem with a missing field points to where it belongs.
 */
import {
  type Document,
  isAlias,
  isMap,
  isNode,
  isPair,
  isScalar,
  isSeq,
  type LineCounter,
  type Node,
  type Pair,
} from "yaml";

export interface Position {
  /** As it was given, or found below the folder that was given. */
  readonly file: string;
  /** From 1. */
  readonly line: number;
  /** From 1. */
  readonly column: number;
}

/** `examples/app.yaml:12:7`, as editors and terminals link it. */
export function formatPosition(position: Position): string {
  return `${position.file}:${position.line}:${position.column}`;
}

/** One object inside a parsed document. */
export interface PlacedNode {
  readonly document: Document.Parsed;
  readonly node: Node;
}

/**
 * The offset of `field` (see `Problem.field`; "" is the whole object) in the document's text. A
 * key may hold dots, as those of annotations do, bare or in `["…"]`.
 */
export function offsetOf(placed: PlacedNode, field: string): number {
  return find(placed, field).offset;
}

/** The plain or quoted text of a field's value, as it is written; null for a map, a list, or no such field. */
export function sourceOf(placed: PlacedNode, field: string): string | null {
  const { node, rest } = find(placed, field);
  return rest === "" && isScalar(node) ? node.source ?? null : null;
}

/** What is found on the way to a field: its value, or the last thing before it and the rest of the way. */
function find(
  placed: PlacedNode,
  field: string,
): { readonly node: Node | null; readonly offset: number; readonly rest: string } {
  let node: Node | null = placed.node;
  let offset = startOf(placed.node) ?? 0;
  let rest = field;
  while (rest !== "" && node !== null) {
    if (isAlias(node)) node = node.resolve(placed.document) ?? null;
    const step: Step | null = isMap(node)
      ? stepIntoMap(node.items, rest)
      : isSeq(node)
      ? stepIntoSequence(node.items, rest)
      : null;
    if (step === null) break;
    offset = step.offset ?? offset;
    node = step.node;
    rest = step.rest;
  }
  return { node, offset, rest };
}

/** The node at `field`, or null. */
export function nodeAt(node: Node, field: readonly (string | number)[]): Node | null {
  let found: unknown = node;
  for (const key of field) {
    found = isMap(found) || isSeq(found) ? found.get(key, true) : undefined;
  }
  return isNode(found) ? found : null;
}

export function positionAt(file: string, lines: LineCounter, offset: number): Position {
  const { line, col } = lines.linePos(offset);
  // An empty file has no lines, and the counter then says 0.
  return { file, line: Math.max(line, 1), column: Math.max(col, 1) };
}

interface Step {
  readonly node: Node | null;
  readonly offset: number | null;
  readonly rest: string;
}

function stepIntoMap(items: readonly Pair[], rest: string): Step | null {
  let best = quotedPair(items, rest);
  for (const pair of best === null ? items : []) {
    const key = isScalar(pair.key) ? String(pair.key.value) : null;
    if (key === null) continue;
    for (const written of [key, `[${key}]`, `["${key}"]`, `['${key}']`]) {
      const taken = written.length;
      if (rest.startsWith(written) && endsKey(rest, taken) && taken > (best?.taken ?? 0)) {
        best = { pair, taken };
      }
    }
  }
  if (best === null) return null;
  const { key, value } = best.pair;
  return {
    node: isNode(value) ? value : null,
    offset: isNode(key) ? startOf(key) : null,
    rest: rest.slice(best.taken).replace(/^\./, ""),
  };
}

/** Pairs of a map by their keys, of the maps that were looked into: thousands of problems may be of one map. */
const PAIRS = new WeakMap<readonly Pair[], ReadonlyMap<string, Pair>>();

/** The pair of a quoted key (`["a.b/c"]`), and how much of `rest` it is; null where it is no such, or another one. */
function quotedPair(items: readonly Pair[], rest: string): { pair: Pair; taken: number } | null {
  if (!rest.startsWith('["')) return null;
  const end = rest.indexOf('"]');
  if (end === -1 || !endsKey(rest, end + 2)) return null;
  let pairs = PAIRS.get(items);
  if (pairs === undefined) {
    pairs = new Map(
      items.flatMap((pair) => isScalar(pair.key) ? [[String(pair.key.value), pair]] : []),
    );
    PAIRS.set(items, pairs);
  }
  const pair = pairs.get(rest.slice(2, end));
  return pair === undefined ? null : { pair, taken: end + 2 };
}

function endsKey(rest: string, at: number): boolean {
  return at === rest.length || rest[at] === "." || rest[at] === "[";
}

function stepIntoSequence(items: readonly unknown[], rest: string): Step | null {
  const match = /^\[(\d+)\]\.?/.exec(rest);
  if (match === null) return null;
  const item = items[Number(match[1])];
  const node = isNode(item) ? item : isPair(item) && isNode(item.key) ? item.key : null;
  if (node === null) return null;
  return { node, offset: startOf(node), rest: rest.slice(match[0].length) };
}

function startOf(node: Node): number | null {
  return node.range?.[0] ?? null;
}
