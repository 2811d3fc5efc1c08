/**
 * YAML of files that hold credentials. In: a text. Out: its value, or what is wrong and where.
 *
 * Messages of parsers cite the text, and their excerpts hold whole lines: none of them leaves this file.
 */
import { type Document, LineCounter, parseDocument } from "yaml";
import { syntaxFault } from "./syntax_fault.ts";

export type YamlReading =
  | { readonly ok: true; readonly value: unknown }
  /** `line 14, column 4: a tab indents the line, …`. It cites nothing. */
  | { readonly ok: false; readonly message: string };

/** Of aliases, so that a short text cannot make a long value. */
const MAX_ALIASES = 100;

/** Never throws. */
export function readGuardedYaml(text: string): YamlReading {
  const lines = new LineCounter();
  let document: Document.Parsed;
  try {
    document = parseDocument(text, {
      merge: true,
      prettyErrors: false,
      lineCounter: lines,
      // Warnings go to standard error, and cite the text too.
      logLevel: "error",
    });
  } catch {
    return { ok: false, message: "it is not valid YAML" };
  }
  const wrong = faultOf(text, document);
  if (wrong !== null) {
    const { line, col } = lines.linePos(wrong.offset);
    return { ok: false, message: `line ${line}, column ${col}: ${wrong.message}` };
  }
  try {
    // As JSON, which everything in Kubernetes is: an alias of what it stands in would have no end.
    const json = JSON.stringify(document.toJS({ maxAliasCount: MAX_ALIASES }));
    return { ok: true, value: JSON.parse(json) };
  } catch {
    return { ok: false, message: "its aliases are too many, or one is of what it stands in" };
  }
}

function faultOf(
  text: string,
  document: Document.Parsed,
): { readonly offset: number; readonly message: string } | null {
  const [error] = document.errors;
  if (error?.code === "MULTIPLE_DOCS") {
    return { offset: error.pos[0], message: "a second document begins, and one is read" };
  }
  const fault = syntaxFault(text, document);
  if (fault !== null) return { offset: fault.offset, message: fault.plain.message };
  const [warning] = document.warnings;
  return warning === undefined
    ? null
    : { offset: warning.pos[0], message: "what begins with ! is a tag in YAML, and none is known" };
}
