/**
 * Types of the values of annotations. In: the text of a value, trimmed as its type says. Out: what it means, or null for
 * one that ingress-nginx would not accept either.
 *
 * https://kubernetes.github.io/ingress-nginx/user-guide/nginx-configuration/annotations/
 */
import { isIP } from "node:net";
import { quote } from "../../../../base/json.ts";
import { canonicalNetwork } from "../../../../../shared/net/network_set.ts";

/** How values of one type are written and read. */
export interface ValueType<T> {
  /** Follows "expected:", and stands in the documentation: a noun without an article. */
  readonly what: string;
  /** The meaning of a text that is not empty; null for one that has none. */
  readonly read: (text: string) => T | null;
  /** Of a text that has no meaning: which part of it has none, and why, a clause; null for the whole. */
  readonly faultOf?: (text: string) => string | null;
  /**
   * The blanks around a value that ingress-nginx drops before it reads it: none, or of an annotation those
   * of each line, not the line ends; missing for all.
   */
  readonly trims?: "none" | "lines";
  /** Whether `false`, `off` and `0` turn the feature off, as an empty value does. */
  readonly hasOff: boolean;
  /** The kind of the object that a value names; null for values that name none. */
  readonly refersTo: ReferencedKind | null;
}

/** The text that a type reads; of a ConfigMap, in which no lines are trimmed, all of it or none is. */
export function trimmed(text: string, type: ValueType<unknown> | undefined, isKey = false): string {
  const all = trimSpace(text);
  if (all === "") return isBlankValue(text, type, isKey) ? "\n" : "";
  if (all.length === text.length || type?.trims === undefined) return all;
  if (type.trims === "none" || isKey) return text;
  return text.split("\n").map(trimSpace).join("\n");
}

/**
 * Nothing but blanks asks for nothing; but the line end of an empty block of YAML is a value in ingress-nginx,
 * such as of a login that cannot be had. Values that have words for nothing are left at their default there.
 */
function isBlankValue(
  text: string,
  type: ValueType<unknown> | undefined,
  isKey: boolean,
): boolean {
  return !isKey && text.includes("\n") && type !== undefined && !type.hasOff &&
    type.read("\n") === null;
}

/** As Go's strings.TrimSpace: JavaScript's also drops the byte order mark, and not U+0085. */
function trimSpace(text: string): string {
  let [start, end] = [0, text.length];
  while (start < end && BLANKS.has(text[start])) start++;
  while (end > start && BLANKS.has(text[end - 1])) end--;
  return text.slice(start, end);
}

const BLANKS: ReadonlySet<string> = new Set(
  "\t\n\v\f\r \u0085\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a" +
    "\u2028\u2029\u202f\u205f\u3000",
);

/**
 * What is wrong with a value that cannot be read; follows the name of an annotation or a key.
 *
 * @param text Null where it is not known, or none.
 */
export function invalid<T>(
  { what, faultOf }: Pick<ValueType<T>, "what" | "faultOf">,
  text: string | null,
): string {
  const fault = text === null || text === "" ? null : faultOf?.(text) ?? null;
  return `is not valid${fault === null ? "" : `: ${fault}`} (expected: ${what})`;
}

/** What helps then. */
export function correction({ what }: Pick<ValueType<unknown>, "what">): string {
  return `Correct the value (expected: ${what})`;
}

export type ReferencedKind = "ConfigMap" | "Secret" | "Service";

/** A reference to an object; the namespace is null where the value does not name one. */
export interface ObjectName {
  readonly namespace: string | null;
  readonly name: string;
}

/** Texts beyond it are long lists, which have a bound of their own. */
const MAX_TEXT = 4096;

/** An access list of that size compiles in some milliseconds. */
const MAX_NETWORKS = 10_000;

const SWITCH = { hasOff: true, refersTo: null, trims: "lines" } as const;
/** Read by Go's strconv. */
const EXACT = { ...SWITCH, trims: "none" } as const;
const PLAIN = { hasOff: false, refersTo: null } as const;

const BOOLEANS: ReadonlyMap<string, boolean> = new Map([
  ...["1", "t", "T", "TRUE", "true", "True"].map((text) => [text, true] as const),
  ...["0", "f", "F", "FALSE", "false", "False"].map((text) => [text, false] as const),
]);

/** As Go's strconv.ParseBool. */
export const BOOL: ValueType<boolean> = {
  ...EXACT,
  what: '"true" or "false"',
  read: (text) => BOOLEANS.get(text) ?? null,
};

export const ON_OFF: ValueType<boolean> = {
  ...SWITCH,
  what: '"on" or "off"',
  read: (text) => text === "on" ? true : text === "off" ? false : null,
};

/** As Go's strconv.Atoi: "60s" is no integer. */
export function int(min: number, max = 2 ** 31 - 1): ValueType<number> {
  const range = max === 2 ** 31 - 1 ? `of at least ${min}` : `from ${min} to ${max}`;
  return {
    ...EXACT,
    what: `integer ${range}`,
    read: (text) => {
      const number = /^[+-]?\d{1,10}$/.test(text) ? Number(text) : NaN;
      return number >= min && number <= max ? number : null;
    },
  };
}

/** Whole seconds. */
export const SECONDS: ValueType<number> = { ...int(0), what: "integer, in seconds" };

/** nginx gives up at once with 0, so that nothing is served. */
export const SOME_SECONDS: ValueType<number> = {
  ...int(1),
  what: "integer of at least 1, in seconds",
};

const UNITS: ReadonlyMap<string, number> = new Map([["", 1], ["k", 1024], ["m", 2 ** 20], [
  "g",
  2 ** 30,
]]);

/** Bytes, as nginx writes sizes. */
export const SIZE: ValueType<number> = {
  ...SWITCH,
  what: "size such as 64k, 8m or 1g",
  read: (text) => {
    const size = /^(\d{1,12})([kmg]?)$/i.exec(text);
    return size === null ? null : Number(size[1]) * UNITS.get(size[2].toLowerCase())!;
  },
};

/** Blocks such as `10.0.0.0/8`; a single address is a block of its own. */
export const NETWORKS: ValueType<readonly string[]> = {
  ...PLAIN,
  what: "addresses and networks, separated by commas",
  ...readers(readNetworks),
};

/** Those of a type, by a function that gives the meaning of a text, or what is wrong with it. */
export function readers<T extends object>(
  meaningOf: (text: string) => T | string,
): Required<Pick<ValueType<T>, "read" | "faultOf">> {
  return {
    read: (text) => {
      const meaning = meaningOf(text);
      return typeof meaning === "string" ? null : meaning;
    },
    faultOf: (text) => {
      const meaning = meaningOf(text);
      return typeof meaning === "string" ? meaning : null;
    },
  };
}

/** Or what is wrong with them. */
function readNetworks(text: string): readonly string[] | string {
  const parts = text.split(",", MAX_NETWORKS + 1);
  if (parts.length > MAX_NETWORKS) return `it has more than ${MAX_NETWORKS} entries`;
  const networks: string[] = [];
  for (const part of parts.map(trimSpace)) {
    const network = networkOf(part);
    if (network === null) {
      return part === "" ? EMPTY_ENTRY : `${quote(part)} is no address or network`;
    }
    networks.push(network);
  }
  return networks;
}

/** What is wrong with a list that has a comma too much. */
export const EMPTY_ENTRY = "an entry is empty";

/** With a prefix, and without bits behind it, which Go's net.ParseCIDR accepts. */
function networkOf(text: string): string | null {
  if (text.length > 64 || text.includes("%")) return null;
  const [address, bits, ...more] = text.split("/");
  const version = isIP(address);
  if (version === 0 || more.length > 0) return null;
  const width = version === 4 ? 32 : 128;
  if (bits === undefined) return `${address}/${width}`;
  return /^\d{1,3}$/.test(bits) && Number(bits) <= width
    ? canonicalNetwork(address, Number(bits))
    : null;
}

/** One of some words, whose case matters unless all are upper case and `ignoreCase` is set. */
export function oneOf<const T extends string>(
  words: readonly T[],
  { ignoreCase = false } = {},
): ValueType<T> {
  const { trims, ...rest } = SWITCH;
  return {
    ...rest,
    // What is read in any case is trimmed there, too.
    ...(ignoreCase ? {} : { trims }),
    what: alternatives(words.map((word) => `"${word}"`)),
    read: (text) => {
      const found = ignoreCase && text.length <= MAX_TEXT ? text.toUpperCase() : text;
      return words.find((word) => word === found) ?? null;
    },
  };
}

/** `"a", "b" or "c"`. */
function alternatives(words: readonly string[]): string {
  return words.length < 2 ? words.join() : `${words.slice(0, -1).join(", ")} or ${words.at(-1)}`;
}

/** Words between separators; each must be one of some, where `words` is a list of them. */
export function listOf(
  words: readonly string[] | RegExp,
  separator: "," | " ",
  what: string,
): ValueType<readonly string[]> {
  const isKnown = words instanceof RegExp
    ? (word: string) => words.test(word)
    : (word: string) => words.includes(word);
  return {
    ...PLAIN,
    what,
    read: (text) => {
      if (text.length > MAX_TEXT) return null;
      const found = text.split(separator).map((word) => word.trim()).filter((word) => word !== "");
      return found.length > 0 && found.every(isKnown) ? found : null;
    },
  };
}

const HEADER_NAME = /^[A-Za-z\d_-]+$/;

export const HEADER_NAMES: Readonly<ValueType<readonly string[]>> = listOf(
  HEADER_NAME,
  ",",
  "names of headers, separated by commas",
);

export const STATUS_CODES: Readonly<ValueType<readonly string[]>> = listOf(
  /^[1-5]\d\d$/,
  ",",
  "status codes, separated by commas",
);

/** Text of some characters alone. */
export function text(characters: RegExp, what: string): ValueType<string> {
  return {
    ...PLAIN,
    what,
    read: (value) => value.length <= MAX_TEXT && characters.test(value) ? value : null,
  };
}

export const HEADER_NAME_TEXT: Readonly<ValueType<string>> = text(HEADER_NAME, "name of a header");

/** One line without control characters; its feature checks more. */
export const LINE: Readonly<ValueType<string>> = text(/^[^\p{Cc}]+$/u, "text");

export const ABSOLUTE_PATH: Readonly<ValueType<string>> = text(
  /^\/[^\s"'\\<>{}]*$/,
  "absolute path",
);

/** Of a redirect: it goes into a header as it stands, and `$` is a variable of nginx. */
export const REDIRECT_URL: Readonly<ValueType<string>> = text(
  /^https?:\/\/[-\w.[][^\s$"'\\<>{}\x80-\uffff]*$/i,
  "http or https URL without variables",
);

/** `//host` would be a host, and a redirect from `/` to `/` never ends. */
export const REDIRECT_PATH: Readonly<ValueType<string>> = text(
  /^\/(?!\/)[^\s$"'\\<>{}\x80-\uffff]+$/,
  "absolute path other than / without variables",
);

/** A URL as it stands, or a path on the host that the client has requested. */
export const REDIRECT_TARGET: Readonly<ValueType<string>> = {
  ...REDIRECT_URL,
  what: "http or https URL or absolute path, without variables",
  read: (value) => value === "/" ? value : REDIRECT_URL.read(value) ?? REDIRECT_PATH.read(value),
};

/** Of the codes that ingress-nginx accepts those with which nginx sends a Location. */
export function redirectCode<const T extends number>(codes: readonly T[]): ValueType<T> {
  return {
    ...EXACT,
    what: `one of ${codes.join(", ")}`,
    read: (value) => codes.find((code) => String(code) === value) ?? null,
  };
}

/** Characters of a regular expression that ingress-nginx accepts; its syntax is checked by its feature. */
export const PATTERN: Readonly<ValueType<string>> = text(
  /^[-\w.~/:^$[\](){}*+?|&=\\, @!<>]+$/,
  "regular expression",
);

/** Any text: what it holds is never checked here. */
export const SNIPPET: ValueType<string> = {
  ...PLAIN,
  what: "directives of nginx",
  read: (value) => value,
};

/** `name` or `namespace/name`. */
export function objectName(
  kind: ReferencedKind,
  { needsNamespace = false } = {},
): ValueType<ObjectName> {
  return {
    hasOff: false,
    // A name that ends with a line end is no object's.
    trims: "lines",
    refersTo: kind,
    what: needsNamespace ? `${kind} as namespace/name` : `${kind} as name or namespace/name`,
    read: (value) => {
      if (value.length > 512) return null;
      const parts = value.split("/");
      if (parts.length > 2 || (needsNamespace && parts.length !== 2)) return null;
      if (!parts.every((part) => OBJECT_NAME.test(part))) return null;
      const [name, namespace = null] = parts.reverse();
      return { namespace, name };
    },
  };
}

/** A Service of the Ingress's own namespace. */
export const SERVICE: ValueType<ObjectName> = {
  hasOff: false,
  refersTo: "Service",
  what: "name of a Service",
  read: (value) => SERVICE_NAME.test(value) ? { namespace: null, name: value } : null,
};

const SERVICE_NAME = /^[a-z](?:[-a-z\d]{0,61}[a-z\d])?$/;

const OBJECT_NAME = /^[a-z\d](?:[-a-z\d.]{0,251}[a-z\d])?$/;
