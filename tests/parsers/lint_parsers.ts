/** Parsers of lint and of manifests, for text that nothing else reads. In: nothing. Out: rows of the table. */
import { redact } from "../../cli/lint/finding.ts";
import { snippetLines } from "../../cli/lint/snippet.ts";
import { parseManifestFile } from "../../dev/manifests/file.ts";
import { listParser, type Parser, textParser } from "./parser.ts";

/** Of all annotations of an object together (k8s.io/apimachinery, TotalAnnotationSizeLimitB). */
const ANNOTATION_BYTES = 256 * 1024;

export const LINT_PARSERS: readonly Parser[] = [
  textParser({
    name: "a snippet",
    functions: ["cli/lint/snippet.ts snippetLines"],
    bytes: ANNOTATION_BYTES,
    frames: [["a_by_lua_block {", "}"], ["a_by_lua_block", "{"], ['"', ""], ["a ${", ""], [
      "a ",
      ";",
    ]],
    pumps: ["a b;", "a;", "{", "}", "${", "\\", "'", "#\n", "a_by_lua_block{", "\n"],
    read: (text) => () => void snippetLines(text),
  }),
  textParser({
    name: "a text that lint shows",
    functions: ["cli/lint/finding.ts redact"],
    bytes: ANNOTATION_BYTES,
    frames: [["https://", "@a"], ["https://a:", ""], ["//", "@"]],
    pumps: ["https://a:b@c ", "://", "@", "a:b@"],
    read: (text) => () => void redact(text),
  }),
  listParser({
    name: "a file of manifests",
    // Those of dev/ are not in the table.
    functions: [],
    count: 32_768,
    read: {
      keys: (count) => manifestOf(count, (i) => `  key-${i}: value\n`),
    },
  }),
];

/** A ConfigMap with a line of data for each number. */
function manifestOf(count: number, lineOf: (i: number) => string): () => void {
  const lines = Array.from({ length: count }, (_, i) => lineOf(i));
  const text = `apiVersion: v1\nkind: ConfigMap\nmetadata: { name: a }\ndata:\n${lines.join("")}`;
  return () => void parseManifestFile("a.yaml", text);
}
