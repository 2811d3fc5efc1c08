/**
 * Aliases that no manifest can have. In: a document that parses, all of whose aliases have an anchor. Out: what is
 * wrong with them, before the values are made of it: a value that holds itself, too many copies, or copies in each
 * other without end. kubectl refuses such documents, too; others have as many aliases of one anchor as they like.
 */
import { type Document, isAlias, isCollection, isPair, isScalar, type Node, visit } from "yaml";
import { fault, type SyntaxFault, tooDeep } from "../../shared/yaml/syntax_fault.ts";

/** Values that stand in the place of aliases, all copies counted: an object of etcd has fewer. */
const MAX_COPIES = 500_000;

/** Lists and maps in each other, also by aliases: what walks them takes a level of the stack for each. */
const MAX_DEPTH = 1000;

/** Aliases, times aliases and anchors: the parser looks for the anchor of each among all of them. */
const MAX_WORK = 50_000_000;

interface Size {
  /** Values, that of a collection itself included. */
  readonly values: number;
  readonly depth: number;
}

/** Null where all aliases can be replaced by what they stand for. */
export function aliasFault(document: Document.Parsed): SyntaxFault | null {
  const { aliases, anchors } = count(document);
  if (aliases === 0) return null;
  if (aliases * (aliases + anchors) > MAX_WORK) return tooMany(startOf(document.contents));
  return new Expansion().faultOf(document.contents);
}

function count(document: Document.Parsed): { readonly aliases: number; readonly anchors: number } {
  let aliases = 0;
  let anchors = 0;
  visit(document, {
    Node: (_, node) => {
      if (isAlias(node)) aliases++;
      else if ((node as { readonly anchor?: string }).anchor !== undefined) anchors++;
    },
  });
  return { aliases, anchors };
}

class Expansion {
  /** By anchor, as the text has been read so far; null while what it stands for is open. */
  #anchors = new Map<string, Size | null>();
  #fault: SyntaxFault | null = null;
  #copies = 0;

  faultOf(contents: unknown): SyntaxFault | null {
    this.#sizeOf(contents);
    return this.#fault;
  }

  #sizeOf(node: unknown): Size {
    if (this.#fault !== null) return NOTHING;
    if (isAlias(node)) return this.#copied(node.source, startOf(node));
    if (isPair(node)) return joined([this.#sizeOf(node.key), this.#sizeOf(node.value)], 0);
    if (!isCollection(node) && !isScalar(node)) return NOTHING;
    const { anchor } = node;
    if (anchor !== undefined) this.#anchors.set(anchor, isScalar(node) ? ONE : null);
    if (isScalar(node)) return ONE;
    const size = joined(node.items.map((item) => this.#sizeOf(item)), 1);
    if (size.depth > MAX_DEPTH) this.#fault ??= tooDeep(startOf(node));
    // Another one of the name may have begun inside of it, which counts from there on.
    if (anchor !== undefined && this.#anchors.get(anchor) === null) {
      this.#anchors.set(anchor, size);
    }
    return size;
  }

  #copied(anchor: string, offset: number): Size {
    const size = this.#anchors.get(anchor) ?? null;
    if (size === null) {
      this.#fault = fault(
        offset,
        "the alias stands in what it stands for, so it would never end",
        "Write the value in place of the alias, or move the anchor",
      );
      return NOTHING;
    }
    this.#copies += size.values;
    if (this.#copies > MAX_COPIES) this.#fault = tooMany(offset);
    return size;
  }
}

const NOTHING: Size = { values: 0, depth: 0 };
const ONE: Size = { values: 1, depth: 0 };

/** @param level 1 for a collection around them. */
function joined(parts: readonly Size[], level: 0 | 1): Size {
  let values: number = level;
  let depth = 0;
  for (const part of parts) {
    values += part.values;
    depth = Math.max(depth, part.depth);
  }
  return { values, depth: depth + level };
}

function tooMany(offset: number): SyntaxFault {
  return fault(
    offset,
    "its aliases stand for too many copies",
    "Write the values out, without aliases",
  );
}

function startOf(node: unknown): number {
  return (node as Node | null)?.range?.[0] ?? 0;
}
