/**
 * Keys that no object of Kubernetes can have. In: a document that parses. Out: what is wrong with the first such key:
 * it is a map or a list, or stands in its map a second time; null where all are names. The parser compares each
 * key of a map with all before it, which a map of 20,000 keys makes seconds of: here it is one pass.
 */
import { type Document, isCollection, isScalar, type Node, visit } from "yaml";
import { duplicateKey, fault, type SyntaxFault } from "../../shared/yaml/syntax_fault.ts";

export function keyFault(document: Document.Parsed): SyntaxFault | null {
  let found: SyntaxFault | null = null;
  const report = (one: SyntaxFault) => {
    if (found === null || one.offset < found.offset) found = one;
  };
  visit(document, {
    Map: (_, { items }) => {
      const known = new Set<unknown>();
      for (const { key } of items) {
        // As `{{ … }}` of a template reads.
        if (isCollection(key)) report(strangeKey(startOf(key)));
        if (!isScalar(key)) continue;
        if (known.has(key.value)) report(duplicateKey(startOf(key)));
        known.add(key.value);
      }
    },
  });
  return found;
}

function strangeKey(offset: number): SyntaxFault {
  return fault(
    offset,
    "a map or list stands in place of a name",
    "Write the name, in quotes if it begins with { or [",
  );
}

function startOf(key: unknown): number {
  return (key as Node).range?.[0] ?? 0;
}
