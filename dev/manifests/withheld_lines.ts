/**
 * Lines of a file that are never shown. In: its text, part by part. Out: the numbers of lines that may hold a
 * credential: data of Secrets and ConfigMaps, values of annotations and headers, and whatever belongs to
 * a kind that is not known to hold none.
 */
import {
  type Document,
  isAlias,
  isMap,
  isNode,
  isScalar,
  isSeq,
  type Node,
  type YAMLMap,
} from "yaml";
import { BY_NAME, NGINX_PREFIX } from "../../controller/translate/annotations/nginx/table.ts";
import { nearestName } from "../../shared/nearest_name.ts";

/** A document, or a text that is none. */
export interface FilePart {
  /** Offset of the text in the file. */
  readonly start: number;
  readonly text: string;
  /** Null where it does not parse. */
  readonly document: Document.Parsed | null;
}

/** Kinds whose fields hold no credentials, but for those below. */
const OPEN_KINDS: ReadonlySet<string> = new Set([
  ...["Ingress", "IngressClass", "Service", "EndpointSlice", "Namespace"],
  ...["GatewayClass", "Gateway", "HTTPRoute", "GRPCRoute", "TLSRoute", "TCPRoute", "UDPRoute"],
  ...["ReferenceGrant", "BackendTLSPolicy", "ListenerSet"],
]);

/** Fields of every object that are shown whatever its kind. */
const IDENTITY: ReadonlySet<string> = new Set(["apiVersion", "kind", "type"]);

const DATA: ReadonlySet<string> = new Set(["data", "stringData", "binaryData"]);

/** What a field or a line is called that may hold a credential. */
const SENSITIVE =
  /passw|secret(?!s?name)|token|credential|authorization|bearer|cookie|api-?_?key|private|BEGIN /i;

/** Annotations whose values are URLs, headers or configuration. */
const SENSITIVE_ANNOTATION =
  /snippet|url|signin|mirror|(?:permanent|temporal)-redirect|header-value|set-headers|influxdb/;

/** Annotations of others whose values are names of classes. */
const OPEN_ANNOTATIONS: ReadonlySet<string> = new Set([
  "kubernetes.io/ingress.class",
  "ingressclass.kubernetes.io/is-default-class",
]);

const OWN_ANNOTATION = /^(?:dev\.)?pingress\.io\//;

/** Where `value` is no value of a header or query parameter. */
const OPEN_VALUES: ReadonlySet<string> = new Set(["path", "addresses"]);

/** @param lineOf The number of the line of an offset in the file, from 1. */
export function withheldLines(
  parts: readonly FilePart[],
  lineOf: (offset: number) => number,
): ReadonlySet<number> {
  const withheld = new Set<number>();
  for (const part of parts) {
    const add = (from: number, to: number) => {
      const last = lineOf(part.start + Math.max(from, to - 1));
      for (let line = lineOf(part.start + from); line <= last; line++) withheld.add(line);
    };
    if (part.document === null) withholdText(part.text, add);
    else withholdObject(part.document.contents, null, add);
  }
  return withheld;
}

/** Offsets in the part: all lines from the first to the last. */
type Withhold = (from: number, to: number) => void;

function withholdObject(node: unknown, inherited: string | null, add: Withhold): void {
  if (!isMap(node)) return withholdNode(node, add);
  const written = node.get("kind");
  const kind = typeof written === "string" ? written : inherited ?? "";
  for (const { key, value } of node.items) {
    const name = isScalar(key) ? String(key.value) : "";
    if (name === "items" && kind.endsWith("List") && isSeq(value)) {
      const item = kind === "List" ? null : kind.slice(0, -"List".length);
      for (const each of value.items) withholdObject(each, item, add);
    } else if (OPEN_KINDS.has(kind)) withholdField(name, "", value, add);
    else if (name === "metadata" && isMap(value)) withholdMetadata(value, add);
    else if (!IDENTITY.has(name) && !isOpenKind(value)) withholdNode(value, add);
  }
}

/** What stands beside a misspelt `kind`. */
function isOpenKind(value: unknown): boolean {
  return isScalar(value) && OPEN_KINDS.has(String(value.value));
}

function withholdMetadata(metadata: YAMLMap, add: Withhold): void {
  for (const { key, value } of metadata.items) {
    const name = isScalar(key) ? key.value : null;
    if (name !== "name" && name !== "namespace") withholdNode(value, add);
  }
}

/** A field of a kind whose fields hold no credentials as a rule. */
function withholdField(name: string, outer: string, value: unknown, add: Withhold): void {
  if (DATA.has(name) || (name === "value" && !OPEN_VALUES.has(outer))) {
    withholdNode(value, add);
  } else if (name === "annotations" && isMap(value)) {
    for (const pair of value.items) {
      const annotation = isScalar(pair.key) ? String(pair.key.value) : "";
      if (!isOpenAnnotation(annotation)) withholdNode(pair.value, add);
    }
  } else if (isMap(value)) {
    for (const pair of value.items) {
      withholdField(isScalar(pair.key) ? String(pair.key.value) : "", name, pair.value, add);
    }
  } else if (isSeq(value)) {
    for (const item of value.items) withholdField("", name, item, add);
  } else if (SENSITIVE.test(name) || isAlias(value)) withholdNode(value, add);
}

/** Whether the value of an annotation is never a credential. */
export function isOpenAnnotation(name: string): boolean {
  if (OPEN_ANNOTATIONS.has(name) || OWN_ANNOTATION.test(name)) return true;
  if (!name.startsWith(NGINX_PREFIX)) return false;
  const written = name.slice(NGINX_PREFIX.length);
  const meant = BY_NAME.has(written) ? written : nearestName(written, BY_NAME.keys());
  return meant !== null && !SENSITIVE_ANNOTATION.test(meant) && !SENSITIVE_ANNOTATION.test(written);
}

function withholdNode(node: unknown, add: Withhold): void {
  const range = isNode(node) ? (node as Node).range : null;
  if (range !== null && range !== undefined) add(range[0], range[1]);
}

/** Of a line without its indentation. */
const KIND = /^(?:- {1,9})?["']?kind["']? {0,9}: {0,9}["']?(\w*)/;
const DATA_FIELD = /^(?:- {1,9})?["']?(?:data|stringData|binaryData)["']? {0,9}:/;

/**
 * A text that does not parse has no fields: what it looks like decides. All of it is withheld where it may
 * be of another kind, or hold snippets; else the lines below `annotations`, and those that sound like more.
 */
function withholdText(text: string, add: Withhold): void {
  const lines = text.split("\n").map((line) => line.trimStart());
  const kinds = lines.flatMap((line) => KIND.exec(line)?.[1] ?? []);
  const isOpen = kinds.length > 0 && kinds.every((kind) => OPEN_KINDS.has(kind)) &&
    !lines.some((line) => DATA_FIELD.test(line)) && !/\bSecret\b|\bConfigMap\b|snippet/.test(text);
  if (!isOpen) return add(0, text.length);
  let start = 0;
  let annotations = Infinity;
  for (const line of text.split("\n")) {
    const indent = /^\s*/.exec(line)![0].length;
    if (line.trim() !== "") {
      if (indent <= annotations) annotations = Infinity;
      const [, annotation = ""] = /^\s*["']?([^\s"':]+)/.exec(line) ?? [];
      if (
        indent > annotations ? !isOpenAnnotation(annotation) : SENSITIVE.test(line) ||
          /\bvalue["']?\s*:|annotations["']?\s*:\s*\S/.test(line)
      ) add(start, start + line.length);
      if (/^\s*["']?annotations["']?\s*:/.test(line)) annotations = indent;
    }
    start += line.length + 1;
  }
}
