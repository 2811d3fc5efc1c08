/**
 * One file of manifests. In: its name and text, YAML or JSON, with any number of documents, JSON
 * objects and lists in it. Out: the objects, each with where its fields stand, and a problem for all that is no
 * object. One bad document never costs the others.
 */
import {
  type Document,
  isMap,
  LineCounter,
  type Node,
  parseAllDocuments,
  Scalar,
  type ScalarTag,
} from "yaml";
import { asText } from "../../controller/base/json.ts";
import { isDnsLabel, isDnsName } from "../../controller/base/names.ts";
import type { ObjectRef, Problem } from "../../shared/problem.ts";
import { nearestName } from "../../shared/nearest_name.ts";
import { aliasFault } from "./alias_fault.ts";
import { type Excerpt, excerptOf } from "./excerpt.ts";
import { foreignFile } from "./foreign_document.ts";
import { splitJsonObjects } from "./json_values.ts";
import { keyFault } from "./key_fault.ts";
import { kindReading, READ_KINDS, versionsOf } from "./kinds.ts";
import {
  nodeAt,
  offsetOf,
  type PlacedNode,
  type Position,
  positionAt,
  sourceOf,
} from "./position.ts";
import { strictProblems } from "./strict_validation.ts";
import { type SyntaxFault, syntaxFault, thrownFault } from "../../shared/yaml/syntax_fault.ts";
import { type FilePart, withheldLines } from "./withheld_lines.ts";

/** A problem and where its cause stands; null where no file is at fault. */
export interface LocatedProblem {
  readonly problem: Problem;
  readonly at: Position | null;
  /** The line of the place; null for one that must not be shown. */
  readonly excerpt?: Excerpt | null;
  /** The object that is left out for it, as it was written. */
  readonly leftOut?: unknown;
  /** Of an unknown field, the one that was meant. */
  readonly meant?: string | null;
}

/** An object as it was written. Nothing but the types of kind, name and namespace is checked. */
export interface ManifestObject {
  readonly apiVersion: string;
  /** With `namespace` "default" where none is written, as for `kubectl apply`. */
  readonly ref: ObjectRef;
  readonly value: Readonly<Record<string, unknown>>;
  /** Where a field (see `Problem.field`) stands, or what is around it. */
  locate(field: string): Position;
}

export interface ManifestFile {
  readonly file: string;
  readonly objects: readonly ManifestObject[];
  /** The values of all documents, those of other tools too. */
  readonly documents: readonly unknown[];
  readonly problems: readonly LocatedProblem[];
  /** Whether every document could be parsed: if not, the file may be half-saved. */
  readonly whole: boolean;
  /** The line of a place in it; null for one that may hold a credential. */
  excerptAt(at: Position): Excerpt | null;
}

/** Kinds that are read here and stand in no namespace. */
const CLUSTER_WIDE: ReadonlySet<string> = new Set([
  "IngressClass",
  "GatewayClass",
  "Namespace",
]);

const UNPARSABLE = "this document does not parse";

const RENDER =
  "If this is a template, render it first (helm template CHART > DIR/all.yaml); else correct the line";

/** Deeper nesting is no manifest, and would overrun the stack of whoever walks it. */
const MAX_LIST_DEPTH = 8;

/** Booleans of YAML 1.1, which kubectl reads; the texts that it takes for one must be quoted. */
const OLD_BOOLEANS: ScalarTag[] = [
  [/^(?:y|Y|yes|Yes|YES|on|On|ON)$/, true] as const,
  [/^(?:n|N|no|No|NO|off|Off|OFF)$/, false] as const,
].map(([test, value]) => ({
  tag: "tag:yaml.org,2002:bool",
  default: true,
  test,
  resolve: () => new Scalar(value),
}));

/** A shorter key, such as `id`, is a name of its own. */
const MIN_MISSPELT = 3;

/** Parses `text`; never throws for what it holds. */
export function parseManifestFile(file: string, text: string): ManifestFile {
  const reader = new FileReader(file, text);
  reader.read();
  return reader;
}

class FileReader implements ManifestFile {
  readonly file: string;
  readonly objects: ManifestObject[] = [];
  readonly documents: unknown[] = [];
  problems: LocatedProblem[] = [];
  whole = true;
  #text: string;
  #lines: LineCounter;
  #parts: FilePart[] = [];
  #withheld: ReadonlySet<number> | null = null;
  /** What is said in place of problems that may cite their line, where it must not be shown. */
  #plain = new Map<Problem, Problem>();
  /** Where in the text the part begins that is being read. */
  #base = 0;

  constructor(file: string, text: string) {
    this.file = file;
    this.#text = text;
    this.#lines = linesOf(text);
  }

  read(): void {
    for (
      const { start, text } of splitJsonObjects(this.#text) ?? [{ start: 0, text: this.#text }]
    ) {
      this.#base = start;
      this.#readPart(text);
    }
    this.problems = this.problems.map((one) => {
      const excerpt = one.at === null ? null : this.excerptAt(one.at);
      const plain = excerpt === null ? this.#plain.get(one.problem) : undefined;
      return { ...one, problem: plain ?? one.problem, excerpt };
    });
  }

  excerptAt(at: Position): Excerpt | null {
    const { lineStarts } = this.#lines;
    this.#withheld ??= withheldLines(this.#parts, (offset) => this.#lines.linePos(offset).line);
    if (this.#withheld.has(at.line)) return null;
    const start = lineStarts[at.line - 1] ?? 0;
    return excerptOf(this.#text.slice(start, (lineStarts[at.line] ?? Infinity) - 1), at);
  }

  #readPart(text: string): void {
    let documents: Document.Parsed[];
    try {
      documents = parseAllDocuments(text, {
        merge: true,
        prettyErrors: false,
        // Looked for in `keyFault`, as the parser would take long.
        uniqueKeys: false,
        customTags: (tags) => [...tags, ...OLD_BOOLEANS],
      }) as Document.Parsed[];
    } catch (error) {
      this.#unparsable(text, null, thrownFault(error));
      return;
    }
    for (const document of documents) this.#readDocument(text, document);
  }

  #readDocument(text: string, document: Document.Parsed): void {
    const wrong = syntaxFault(text, document);
    if (wrong !== null) {
      this.#unparsable(text, document, wrong);
      return;
    }
    const node = document.contents;
    // A document of nothing but comments, as `---` at the end of a file makes one.
    if (node === null || (!isMap(node) && document.toJS() === null)) return;
    let value: unknown;
    try {
      const wrong = keyFault(document) ?? aliasFault(document);
      if (wrong !== null) {
        this.#unparsable(text, document, wrong);
        return;
      }
      // All of them are counted above.
      value = document.toJS({ maxAliasCount: -1 });
    } catch (error) {
      const offset = offsetOf({ document, node }, "");
      this.#unparsable(text, document, { ...thrownFault(error), offset });
      return;
    }
    this.#parts.push({ start: this.#base, text, document });
    this.documents.push(value);
    this.#readObject({ document, node }, value, null, 0);
  }

  /** `inherited` is what the items of a list such as IngressList are. */
  #readObject(
    placed: PlacedNode,
    value: unknown,
    inherited: { apiVersion: string; kind: string } | null,
    depth: number,
  ): void {
    const report = (
      field: string,
      problem: Omit<Problem, "field" | "severity">,
      severity: Problem["severity"] = "error",
    ) => this.#report(offsetOf(placed, field), { ...problem, field, severity }, value);
    if (!isRecord(value)) {
      if (!mentionsObject(value)) return this.#ignored(placed, value);
      report("", {
        object: null,
        reason: "NotAnObject",
        message: "this is no Kubernetes object but a single value or a list",
        remedy: Array.isArray(value)
          ? "Write the objects one by one, with --- between them"
          : "Write an object with apiVersion, kind and metadata, with a colon and a space after each",
      });
      return;
    }
    const kind = value.kind ?? inherited?.kind;
    const apiVersion = value.apiVersion ?? inherited?.apiVersion;
    if (typeof kind !== "string" || kind === "" || typeof apiVersion !== "string") {
      const field = typeof kind === "string" && kind !== "" ? "apiVersion" : "kind";
      if (field === "kind" && isForeign(this.file, value)) return this.#ignored(placed, value);
      const written = value[field];
      const meant = isAbsent(written) ? misspeltKey(field, value) : null;
      report(meant ?? field, {
        object: null,
        reason: "NotAnObject",
        message: isAbsent(written) || written === ""
          ? `this document has no ${field}, so it is no Kubernetes object`
          : `${field} is ${describe(written)}, not text, so this is no Kubernetes object`,
        remedy: meant !== null ? `Write "${field}"` : noObjectRemedy(field, kind, apiVersion),
      });
      return;
    }
    if (kind.endsWith("List") && (Array.isArray(value.items) || kind === "List")) {
      this.#readList(placed, value.items, apiVersion, kind, depth);
      return;
    }
    const identity = identify(kind, isRecord(value.metadata) ? value.metadata : {});
    const strict = strictProblems(
      apiVersion,
      identity.ref,
      value,
      (field) => sourceOf(placed, field),
    );
    for (const { meant = null, ...problem } of strict) {
      if (problem.field === identity.problem?.field) continue;
      this.#report(offsetOf(placed, problem.field), problem, undefined, meant);
    }
    // Others have names of other forms, or none, as settings of tools do.
    if (identity.problem !== null && kindReading(apiVersion, kind).kind !== "other") {
      const { field, ...problem } = identity.problem;
      if (strict.some(({ meant }) => meant === "metadata" || meant === field)) return;
      report(field, { ...problem, object: identity.ref });
      return;
    }
    const base = this.#base;
    this.objects.push({
      apiVersion,
      ref: identity.ref,
      value,
      locate: (field) => positionAt(this.file, this.#lines, base + offsetOf(placed, field)),
    });
  }

  #readList(
    placed: PlacedNode,
    items: unknown,
    apiVersion: string,
    kind: string,
    depth: number,
  ): void {
    if (!Array.isArray(items) || depth >= MAX_LIST_DEPTH) {
      if (items === undefined || items === null) return;
      this.#report(offsetOf(placed, "items"), {
        object: null,
        field: "items",
        reason: "NotAnObject",
        message: depth >= MAX_LIST_DEPTH
          ? `lists stand in lists more than ${MAX_LIST_DEPTH} deep, so this one is left out`
          : "the items of this List are no list, so it is left out",
        remedy: "Write the objects one by one, with --- between them",
        severity: "error",
      });
      return;
    }
    const inherited = kind === "List" ? null : { apiVersion, kind: kind.slice(0, -"List".length) };
    for (const [index, item] of items.entries()) {
      const node: Node = nodeAt(placed.node, ["items", index]) ?? placed.node;
      this.#readObject({ document: placed.document, node }, item, inherited, depth + 1);
    }
  }

  #unparsable(
    text: string,
    document: Document.Parsed | null,
    { offset, message, remedy, plain }: SyntaxFault,
  ): void {
    this.whole = false;
    const [start, , end] = document?.range ?? [0, 0, text.length];
    this.#parts.push({
      start: this.#base + start,
      text: text.slice(start, end),
      document: null,
    });
    const problem = {
      object: null,
      field: "",
      reason: "NotParsable",
      message: `${UNPARSABLE}: ${message}`,
      remedy: this.#text.includes("{{") ? RENDER : remedy,
      severity: "error",
    } as const;
    this.#plain.set(problem, {
      ...problem,
      message: `${UNPARSABLE}: ${plain.message}`,
      remedy: this.#text.includes("{{") ? RENDER : plain.remedy,
    });
    this.#report(offset, problem);
  }

  /** What stands beside manifests and is none. */
  #ignored(placed: PlacedNode, value: unknown): void {
    const tool = foreignFile(this.file);
    if (this.problems.some(({ problem }) => problem.reason === "FileIgnored")) return;
    this.#report(offsetOf(placed, ""), {
      object: null,
      field: "",
      reason: "FileIgnored",
      message: tool !== null
        ? `it has ${tool.what} and no Kubernetes object, so it is ignored`
        : isRecord(value)
        ? "this has neither apiVersion nor kind, so it is no Kubernetes object and ignored"
        : "this is no Kubernetes object but a single value or a list, so it is ignored",
      remedy: tool?.hint == null ? "Nothing to do" : `Nothing to do; to serve it, ${tool.hint}`,
      severity: "info",
    });
  }

  #report(
    offset: number,
    problem: Problem,
    leftOut?: unknown,
    meant: string | null = null,
  ): void {
    const at = positionAt(this.file, this.#lines, this.#base + offset);
    this.problems.push({ problem, at, leftOut, meant });
  }
}

interface Identity {
  /** With `?` in the place of a name that is none. */
  readonly ref: ObjectRef;
  readonly problem: Omit<Problem, "object" | "severity"> | null;
}

function identify(kind: string, metadata: Readonly<Record<string, unknown>>): Identity {
  const name = metadata.name;
  if (typeof name !== "string" || !isDnsName(name)) {
    return {
      ref: { kind, namespace: "", name: "?" },
      problem: {
        field: "metadata.name",
        reason: "NameInvalid",
        message: name === undefined || name === null
          ? `this ${kind} has no name, so it is left out`
          : `its name is ${describe(name)}, which the API server refuses, so it is left out`,
        remedy: typeof name === "number" || typeof name === "boolean"
          ? `Write it in quotes: name: "${name}"`
          : "Name it with lower-case letters, digits, - and .",
      },
    };
  }
  const namespace = CLUSTER_WIDE.has(kind) ? "" : metadata.namespace || "default";
  if (namespace !== "" && (typeof namespace !== "string" || !isDnsLabel(namespace))) {
    return {
      ref: { kind, namespace: "", name },
      problem: {
        field: "metadata.namespace",
        reason: "NamespaceInvalid",
        message: `its namespace is ${describe(namespace)}, which the API server refuses, so it ` +
          "is left out",
        remedy: typeof namespace === "number" || typeof namespace === "boolean"
          ? `Write it in quotes: namespace: "${namespace}"`
          : "Use lower-case letters, digits and -",
      },
    };
  }
  return { ref: { kind, namespace, name }, problem: null };
}

/** Whether a value that is no object holds some, or was meant to be one. */
function mentionsObject(value: unknown): boolean {
  return Array.isArray(value)
    ? value.some((item) => isRecord(item) && ("kind" in item || "apiVersion" in item))
    : /\b(?:apiVersion|kind)\b/.test(String(value));
}

/** Whether a document without a kind is none of Kubernetes. */
function isForeign(file: string, value: Readonly<Record<string, unknown>>): boolean {
  if (!isAbsent(value.kind)) return false;
  return foreignFile(file) !== null ||
    !["apiVersion", "kind", "metadata", "spec"].some((field) => field in value);
}

/** The key that was meant to be `kind` or `apiVersion`; null for none. */
function misspeltKey(field: string, value: Readonly<Record<string, unknown>>): string | null {
  return Object.keys(value).find((key) =>
    key.length >= MIN_MISSPELT && key !== field && nearestName(key, [field]) !== null
  ) ?? null;
}

function noObjectRemedy(field: string, kind: unknown, apiVersion: unknown): string {
  if (field === "kind") {
    const kinds = READ_KINDS.filter((each) => versionsOf(each).includes(asText(apiVersion) ?? ""));
    return kinds.length > 0
      ? `Write kind: ${kinds.join(" or ")}`
      : "Give it apiVersion and kind (for example networking.k8s.io/v1 and Ingress), or take " +
        "it out of the folder";
  }
  const [version] = versionsOf(String(kind));
  return version === undefined
    ? `Give it the apiVersion of ${kind}`
    : `Write apiVersion: ${version}`;
}

function isAbsent(value: unknown): boolean {
  return value === undefined || value === null;
}

function linesOf(text: string): LineCounter {
  const lines = new LineCounter();
  let start = 0;
  do {
    lines.addNewLine(start);
    start = text.indexOf("\n", start) + 1;
  } while (start > 0);
  return lines;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** What somebody wrote, short and safe to print. */
function describe(value: unknown): string {
  if (typeof value === "object") return Array.isArray(value) ? "a list" : "a map";
  const text = String(value);
  const shown = text.length > 60 ? `${text.slice(0, 60)}…` : text;
  return typeof value === "string" ? `"${shown}"` : `the ${typeof value} ${shown}`;
}
