/**
 * One file of manifests. In: its name and text, YAML or JSON, with any number of documents, JSON
 * objects and lists in it. Out: the objects, each with where its fields stand, and a problem for all that is no
 * object. One bad document never costs the others.
 */
import {
  type Document,
  isCollection,
  isMap,
  LineCounter,
  type Node,
  parseAllDocuments,
  visit,
} from "yaml";
import { isDnsLabel, isDnsName } from "../../controller/base/names.ts";
import type { ObjectRef, Problem } from "../../shared/problem.ts";
import { splitJsonObjects } from "./json_values.ts";
import { nodeAt, offsetOf, type PlacedNode, type Position, positionAt } from "./position.ts";
import { strictProblems } from "./strict_validation.ts";

/** A problem and where its cause stands; null where no file is at fault. */
export interface LocatedProblem {
  readonly problem: Problem;
  readonly at: Position | null;
  /** The object that is left out for it, as it was written. */
  readonly leftOut?: unknown;
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
  readonly problems: readonly LocatedProblem[];
  /** Whether every document could be parsed: if not, the file may be half-saved. */
  readonly whole: boolean;
}

/** Kinds that are read here and stand in no namespace. */
const CLUSTER_WIDE: ReadonlySet<string> = new Set([
  "IngressClass",
  "GatewayClass",
  "Namespace",
]);

/** Deeper nesting is no manifest, and would overrun the stack of whoever walks it. */
const MAX_LIST_DEPTH = 8;

/** Parses `text`; never throws for what it holds. */
export function parseManifestFile(file: string, text: string): ManifestFile {
  const reader = new FileReader(file, text);
  reader.read();
  return reader;
}

class FileReader implements ManifestFile {
  readonly file: string;
  readonly objects: ManifestObject[] = [];
  readonly problems: LocatedProblem[] = [];
  whole = true;
  #text: string;
  #lines: LineCounter;
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
  }

  #readPart(text: string): void {
    let documents: Document.Parsed[];
    try {
      documents = parseAllDocuments(text, {
        merge: true,
        prettyErrors: false,
      }) as Document.Parsed[];
    } catch (error) {
      this.#unparsable(0, messageOf(error));
      return;
    }
    for (const document of documents) this.#readDocument(document);
  }

  #readDocument(document: Document.Parsed): void {
    const [error] = document.errors;
    if (error !== undefined) {
      this.#unparsable(error.pos[0], error.message);
      return;
    }
    const node = document.contents;
    // A document of nothing but comments, as `---` at the end of a file makes one.
    if (node === null || (!isMap(node) && document.toJS() === null)) return;
    const strange = collectionKey(document);
    if (strange !== null) {
      this.#unparsable(strange.range?.[0] ?? 0, "a map or list stands in place of a name");
      return;
    }
    let value: unknown;
    try {
      value = document.toJS({ maxAliasCount: 100 });
    } catch (error) {
      this.#unparsable(offsetOf({ document, node }, ""), messageOf(error));
      return;
    }
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
      report("", {
        object: null,
        reason: "NotAnObject",
        message: "this is no Kubernetes object but a single value or a list",
        remedy: "Write an object with apiVersion, kind and metadata, or take it out of the folder",
      });
      return;
    }
    const kind = value.kind ?? inherited?.kind;
    const apiVersion = value.apiVersion ?? inherited?.apiVersion;
    if (typeof kind !== "string" || kind === "" || typeof apiVersion !== "string") {
      const field = typeof kind === "string" && kind !== "" ? "apiVersion" : "kind";
      const written = value[field];
      report(field, {
        object: null,
        reason: "NotAnObject",
        message: written === undefined || written === null || written === ""
          ? `this document has no ${field}, so it is no Kubernetes object`
          : `${field} is ${describe(written)}, not text, so this is no Kubernetes object`,
        remedy: field === "kind"
          ? "Give it apiVersion and kind (for example networking.k8s.io/v1 and Ingress), or take " +
            "it out of the folder"
          : `Give it the apiVersion of ${kind}`,
        // Settings of other tools (package.json, values.yaml) often stand beside manifests.
      }, kind === undefined && apiVersion === undefined ? "warning" : "error");
      return;
    }
    if (kind.endsWith("List") && (Array.isArray(value.items) || kind === "List")) {
      this.#readList(placed, value.items, apiVersion, kind, depth);
      return;
    }
    const identity = identify(kind, isRecord(value.metadata) ? value.metadata : {});
    for (const problem of strictProblems(apiVersion, identity.ref, value)) {
      this.#report(offsetOf(placed, problem.field), problem);
    }
    if (identity.problem !== null) {
      const { field, ...problem } = identity.problem;
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

  #unparsable(offset: number, reason: string): void {
    this.whole = false;
    const template = this.#text.includes("{{");
    this.#report(offset, {
      object: null,
      field: "",
      reason: "NotParsable",
      message: `this document does not parse: ${lowerFirst(reason)}`,
      remedy: template
        ? "If this is a template, render it first (helm template CHART > DIR/all.yaml); else " +
          "correct the line"
        : "Correct the line; the rest is served meanwhile",
      severity: "error",
    });
  }

  #report(offset: number, problem: Problem, leftOut?: unknown): void {
    const at = positionAt(this.file, this.#lines, this.#base + offset);
    this.problems.push({ problem, at, leftOut });
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

/** A key that is a map or a list, as `{{ … }}` of a template reads; no object of Kubernetes has one. */
function collectionKey(document: Document.Parsed): Node | null {
  let found: Node | null = null;
  visit(document, {
    Pair: (_, { key }) => {
      if (!isCollection(key)) return;
      found = key;
      return visit.BREAK;
    },
  });
  return found;
}

/** What somebody wrote, short and safe to print. */
function describe(value: unknown): string {
  if (typeof value === "object") return Array.isArray(value) ? "a list" : "a map";
  const text = String(value);
  const shown = text.length > 60 ? `${text.slice(0, 60)}…` : text;
  return typeof value === "string" ? `"${shown}"` : `the ${typeof value} ${shown}`;
}

function lowerFirst(text: string): string {
  const [line] = text.split("\n");
  // Names such as YAML stay as they are.
  return /^[A-Z][a-z]/.test(line) ? line[0].toLowerCase() + line.slice(1) : line;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
