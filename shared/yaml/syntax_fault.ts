/**
 * What is wrong with a text that is no YAML. In: a text and the parser's first error. Out: the place that has to
 * be changed, which is often before the one where the parser gave up, and how to change it.
 */
import { type Document, isAlias, isCollection, isScalar, type Node, visit } from "yaml";

export interface SyntaxFault {
  /** In the text. */
  readonly offset: number;
  /** A clause, which may cite the line, as some of the parser's do. */
  readonly message: string;
  /** One sentence without a full stop, which may cite the line. */
  readonly remedy: string;
  /** In their place where the line must not be shown. */
  readonly plain: { readonly message: string; readonly remedy: string };
}

type ParseError = Document.Parsed["errors"][number];

const CORRECT = "Correct the line; the rest is served meanwhile";

/** Longer values are cut in remedies. */
const MAX_SHOWN = 60;

/** Null for a document that parses. */
export function syntaxFault(text: string, document: Document.Parsed): SyntaxFault | null {
  const [error] = document.errors;
  return error === undefined ? unresolvedAlias(text, document) : faultOf(text, document, error);
}

/** @param offset Of the second key of the name. */
export function duplicateKey(offset: number): SyntaxFault {
  return fault(
    offset,
    "the key stands here a second time",
    "Remove one of the two, or write what they hold into one",
  );
}

/** Of an exception of the parser, or of what walks a document: it says nothing of the place. */
export function thrownFault(error: unknown): SyntaxFault {
  // The stack is full.
  if (error instanceof RangeError) return tooDeep(0);
  return unknownFault(0, error instanceof Error ? error.message : String(error));
}

/** @param offset Of the outermost one. */
export function tooDeep(offset: number): SyntaxFault {
  return fault(
    offset,
    "its lists and maps stand too deep in each other",
    "Write it with fewer levels",
  );
}

/**
 * @param message It cites nothing.
 * @param plainRemedy Where the remedy cites the line.
 */
export function fault(
  offset: number,
  message: string,
  remedy: string,
  plainRemedy = remedy,
): SyntaxFault {
  return { offset, message, remedy, plain: { message, remedy: plainRemedy } };
}

/** One for which there are only the words of the parser. */
function unknownFault(offset: number, message: string): SyntaxFault {
  const plain = { message: "the line is not valid YAML", remedy: CORRECT };
  return { offset, message: lowerFirst(message), remedy: CORRECT, plain };
}

function faultOf(text: string, document: Document.Parsed, error: ParseError): SyntaxFault {
  // Where the stack is full depends on more than the text.
  if (error.code === "RESOURCE_EXHAUSTION") return tooDeep(document.range?.[0] ?? 0);
  const offset = error.pos[0];
  return conflictFault(text, offset) ?? tabFault(text, offset) ?? dashFault(text, offset) ??
    byCode(text, document, error) ?? unknownFault(offset, error.message);
}

function byCode(
  text: string,
  document: Document.Parsed,
  { code, message, pos: [offset] }: ParseError,
): SyntaxFault | null {
  switch (code) {
    case "BLOCK_AS_IMPLICIT_KEY":
    case "MULTILINE_IMPLICIT_KEY":
      return openLine(text, offset) ?? nestedFault(text, offset) ?? lineWithoutColon(text, offset);
    case "MISSING_CHAR":
      if (message.includes("closing")) return unclosedQuote(document, offset);
      if (message.includes("followed by map values")) return lineWithoutColon(text, offset);
      if (message.includes("Missing ,")) {
        return fault(offset, lowerFirst(message), "Write a comma before it");
      }
      if (message.includes("without - indicator")) return indentFault(text, offset);
      if (message.includes("Comments must be separated")) return hashFault(text, offset);
      return unclosedCollection(document, offset, message);
    case "BAD_INDENT":
      return unclosedCollection(document, offset, message) ?? indentFault(text, offset);
    case "DUPLICATE_KEY":
      return duplicateKey(offset);
    case "BAD_SCALAR_START":
      return quoteFault(text, offset, `a value cannot begin with ${text[offset]}`);
    case "BAD_ALIAS":
      return quoteFault(text, offset, `${text[offset]} begins an alias or anchor in YAML`);
    case "BAD_DQ_ESCAPE":
      return fault(
        offset,
        "a backslash in double quotes begins an escape, and this is none",
        "Write \\\\ for a backslash, or put the value in single quotes",
      );
    case "UNEXPECTED_TOKEN":
      return /at node end/.test(message) ? textAfterValue(text, offset) : null;
    default:
      return null;
  }
}

/** `host: *.app.test`: an alias of YAML, whose anchor is nowhere. */
function unresolvedAlias(text: string, document: Document.Parsed): SyntaxFault | null {
  const anchors = new Set<string>();
  let found: SyntaxFault | null = null;
  visit(document, {
    Node: (_, node) => {
      const { anchor } = node as { readonly anchor?: string };
      if (anchor !== undefined) anchors.add(anchor);
    },
    Alias: (_, node) => {
      if (anchors.has(node.source)) return;
      const offset = node.range?.[0] ?? 0;
      found = quoteFault(
        text,
        offset,
        "what begins with * is an alias in YAML, and nothing has this anchor",
      );
      return visit.BREAK;
    },
  });
  return found;
}

/** A tab in the indentation of the line of the error, or of the nearest line before it that has one. */
function tabFault(text: string, offset: number): SyntaxFault | null {
  const line = lineAt(text, offset);
  const before = lineAt(text, Math.max(line.start - 1, 0));
  for (const { start, content } of [line, before]) {
    const tab = /^ *(?=\t)/.exec(content)?.[0].length;
    if (tab === undefined || /^\s*[{[]/.test(text)) continue;
    return fault(
      start + tab,
      "a tab indents the line, and YAML takes spaces only",
      "Replace the tab by spaces",
    );
  }
  return null;
}

/** What Git writes around both versions of lines that it could not merge. */
function conflictFault(text: string, offset: number): SyntaxFault | null {
  const { start, content } = lineAt(text, offset);
  return /^(?:<{7}|={7}|>{7})(?: |$)/.test(content)
    ? fault(
      start,
      "a merge conflict of Git is not resolved",
      "Resolve the conflict, and remove its markers",
    )
    : null;
}

/** `-path: /`, on the line of the error or above it. */
function dashFault(text: string, offset: number): SyntaxFault | null {
  const line = lineAt(text, offset);
  const above = lineAt(text, Math.max(line.start - 1, 0));
  for (const { start, content } of [line, above]) {
    const [, indent, item] = /^(\s*)-([A-Za-z][\w.]*:(?:\s.*)?)$/.exec(content) ?? [];
    if (item === undefined) continue;
    return fault(
      start + indent.length,
      "there is no space after the dash, so this is no item of a list",
      `Write - ${cut(item)}`,
      "Write a space after the dash",
    );
  }
  return null;
}

/** `note: see: this`, or a line that is indented deeper than the value before it allows. */
function nestedFault(text: string, offset: number): SyntaxFault | null {
  const { start, content } = lineAt(text, offset);
  const nested = /^(\s*(?:-\s+)*[^\s:"'#][^:#]*:\s+)([^\s"'{[|>&*#][^#]*:(?:\s.*)?)$/.exec(content);
  if (nested !== null) {
    return fault(
      start + nested[1].length,
      "a colon and a space in a value begin another map",
      `Quote the value: ${quoted(nested[2])}`,
      "Quote the value",
    );
  }
  return deeperLine(text, offset);
}

/** `rules: [`, on the line of the error or above it: what follows is read as an item of it. */
function openLine(text: string, offset: number): SyntaxFault | null {
  let line = lineAt(text, offset);
  for (let i = 0; i <= MAX_LOOKED; i++) {
    const content = line.content.trimEnd();
    const bracket = content.at(-1);
    const isValue = content.slice(0, -1).trimEnd().endsWith(":") && !/["'#]/.test(content);
    if (isValue && (bracket === "[" || bracket === "{")) {
      return openFault(line.start + content.length - 1, bracket, `, or remove the ${bracket}`);
    }
    if (line.start === 0) return null;
    line = lineAt(text, line.start - 1);
  }
  return null;
}

/** The line after a value, indented as if it belonged to it. */
function deeperLine(text: string, offset: number): SyntaxFault | null {
  let above = lineAt(text, offset);
  for (let i = 0; i < MAX_LOOKED && above.end < text.length; i++) {
    const next = lineAt(text, above.end + 1);
    const [before, now] = [above, next].map(({ content }) => /^ */.exec(content)![0].length);
    const isKey = /^\s*[\w."'/-]+\s*:(?:\s|$)/.test(next.content);
    if (isKey && now > before && /:\s+\S/.test(above.content)) {
      return fault(
        next.start + now,
        "the line is indented deeper than the key above, which has a value already",
        `Indent it by ${keyColumn(above.content)} spaces, as the line above`,
      );
    }
    above = next;
  }
  return null;
}

/** Lines before or after the one where the parser gave up. */
const MAX_LOOKED = 3;

/** A key without a colon, or without the space after it. */
function lineWithoutColon(text: string, offset: number): SyntaxFault | null {
  const { start, content } = lineAt(text, offset);
  const indent = /^\s*(?:-\s+)*/.exec(content)![0].length;
  const glued = /^([\w./-]+):(?=[^\s])(.*)$/.exec(content.slice(indent));
  if (glued !== null) {
    const [, key, value] = glued;
    return fault(
      start + indent,
      "there is no space after the colon, so this is no key",
      `Write ${key}: ${cut(value)}`,
      "Write a space after the colon",
    );
  }
  const written = content.slice(indent).trimEnd();
  if (written === "") return null;
  if (/^-{2,}$/.test(written)) {
    return fault(
      start + indent,
      "documents are separated by a line of three dashes",
      "Write --- at the beginning of the line",
    );
  }
  const space = written.search(/\s/);
  const key = space === -1 ? written : written.slice(0, space);
  const value = written.slice(key.length).trim();
  return fault(
    start + indent,
    "there is no colon after the key",
    value === "" ? `Write ${cut(key)}:` : `Write ${cut(key)}: ${cut(value)}`,
    "Write a colon and a space after the key",
  );
}

function indentFault(text: string, offset: number): SyntaxFault | null {
  // The parser may give up at the end of the line before.
  const line = lineAt(text, text[offset] === "\n" ? offset + 1 : offset);
  const indent = /^ */.exec(line.content)![0].length;
  const above = lineAt(text, Math.max(line.start - 1, 0));
  const beside = keyColumn(above.content);
  const isMeant = Math.abs(beside - indent) === 1;
  return fault(
    line.start + indent,
    "the line begins in another column than the lines that it belongs to",
    isMeant
      ? `Indent it by ${beside} spaces, as the line above`
      : "Indent it by as many spaces as the keys or items beside it",
  );
}

/** Where the key of a line begins, behind the dash of an item. */
function keyColumn(content: string): number {
  return /^ *(?:- +)*/.exec(content)![0].length;
}

function unclosedQuote(document: Document.Parsed, offset: number): SyntaxFault | null {
  const found = lastNode(
    document,
    (node) => isScalar(node) && /^QUOTE/.test(node.type ?? "") && endOf(node) >= offset,
  );
  return found === null ? null : fault(
    startOf(found),
    "the quoted text that begins here does not end",
    "Write the closing quote",
  );
}

/** Null where no `{` or `[` is the reason. */
function unclosedCollection(
  document: Document.Parsed,
  offset: number,
  message: string,
): SyntaxFault | null {
  const closing = /end with a ([}\]])/.exec(message)?.[1];
  if (closing === undefined) return null;
  const found = lastNode(
    document,
    (node) => isCollection(node) && node.flow === true && startOf(node) <= offset,
  );
  return found === null ? null : openFault(startOf(found), closing === "}" ? "{" : "[");
}

/** Of a collection that begins there. */
function openFault(offset: number, bracket: "[" | "{", more = ""): SyntaxFault {
  return fault(
    offset,
    `the ${bracket} that begins here does not end`,
    `Write the ${bracket === "{" ? "}" : "]"} at its end${more}`,
  );
}

/** `host: "a" b`. */
function textAfterValue(text: string, offset: number): SyntaxFault {
  const { start, content } = lineAt(text, offset);
  const value = /^\s*(?:-\s+)*(?:[^\s:]+:\s+)?/.exec(content)![0].length;
  const whole = content.slice(value).replaceAll(/["']/g, "");
  return fault(
    offset,
    "text follows a value that is complete",
    start + value < offset ? `Remove it, or quote all of the value: ${quoted(whole)}` : "Remove it",
    "Remove it, or quote all of the value",
  );
}

function hashFault(text: string, offset: number): SyntaxFault {
  return fault(
    offset,
    "a comment begins without a space before it",
    text[offset] === "#"
      ? "Write a space before #, or quote the value if # belongs to it"
      : CORRECT,
  );
}

function quoteFault(text: string, offset: number, message: string): SyntaxFault {
  const value = /^[^\n\r#,}\]]*/.exec(text.slice(offset))![0];
  return fault(offset, message, `Quote it: ${quoted(value)}`, "Quote the value");
}

/** In single quotes, which leave everything as it is. */
function quoted(text: string): string {
  return `'${cut(text.trim()).replaceAll("'", "''")}'`;
}

function cut(text: string): string {
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text;
}

function lastNode(document: Document.Parsed, wanted: (node: Node) => boolean): Node | null {
  let found: Node | null = null;
  visit(document, {
    Node: (_, node) => {
      if (!isAlias(node) && wanted(node as Node)) found = node as Node;
    },
  });
  return found;
}

function startOf(node: Node): number {
  return node.range?.[0] ?? 0;
}

function endOf(node: Node): number {
  return node.range?.[1] ?? 0;
}

interface Line {
  readonly start: number;
  /** Of its line break. */
  readonly end: number;
  readonly content: string;
}

function lineAt(text: string, offset: number): Line {
  const start = text.lastIndexOf("\n", offset - 1) + 1;
  const next = text.indexOf("\n", start);
  const end = next === -1 ? text.length : next;
  return { start, end, content: text.slice(start, end).replace(/\r$/, "") };
}

function lowerFirst(text: string): string {
  const [line] = text.split("\n");
  // Names such as YAML stay as they are.
  return /^[A-Z][a-z]/.test(line) ? line[0].toLowerCase() + line.slice(1) : line;
}
