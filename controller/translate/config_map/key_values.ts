/**
 * Types of values that keys of the ConfigMap have, and no annotation. In: the text of a value.
 * Out: what it means, or null for one that cannot be read.
 */
import type { BlockedClients } from "../../../shared/snapshot/types.ts";
import {
  EMPTY_ENTRY,
  listOf,
  oneOf,
  readers,
  type ValueType,
} from "../annotations/nginx/rows/value.ts";
import { quote } from "../../base/json.ts";
import { type Risk, RISKS } from "../model/global_settings.ts";
import { inBytes, readHeaderPattern } from "../annotations/nginx/pcre_pattern.ts";

const PLAIN = { hasOff: false, refersTo: null } as const;

export const RISK: ValueType<Risk> = { ...oneOf(RISKS), hasOff: false };

export const WORDS: Readonly<ValueType<readonly string[]>> = listOf(
  /^[^\p{Cc}]+$/u,
  ",",
  "words, separated by commas",
);

const TRIMMED_LOCATIONS: Readonly<ValueType<readonly string[]>> = listOf(
  /^\/[^\s"'\\<>{}]*$/,
  ",",
  "absolute paths, separated by commas",
);

/** Prefixes of paths. Of what is around them only spaces are trimmed: one with a line end is no path's. */
export const LOCATIONS: Readonly<ValueType<readonly string[]>> = {
  ...TRIMMED_LOCATIONS,
  trims: "none",
  read: (text) => {
    if (TRIMMED_LOCATIONS.read(text) === null) return null;
    const parts = text.split(",").filter((part) => !/[^\S ]/.test(part));
    return parts.map((part) => part.trim()).filter((part) => part !== "");
  },
};

/** What a line of a header is compared with. */
export type ClientPattern = NonNullable<BlockedClients["userAgents"]>[number];

/** Each is compared with each request of the profile. */
const MAX_PATTERNS = 100;
const MAX_PATTERN_TEXT = 8192;

/** As keys of nginx's `map`: `~` and `~*` begin a regular expression, other texts ignore case. */
export const CLIENT_PATTERNS: ValueType<readonly ClientPattern[]> = {
  ...PLAIN,
  what: `at most ${MAX_PATTERNS} texts, or ~ and ~* with a regular expression that matches in ` +
    "linear time, separated by commas",
  ...readers(readPatterns),
};

/** Or what is wrong with them. */
function readPatterns(written: string): readonly ClientPattern[] | string {
  if (written.length > MAX_PATTERN_TEXT) return `it has more than ${MAX_PATTERN_TEXT} characters`;
  const parts = written.split(",", MAX_PATTERNS + 1);
  if (parts.length > MAX_PATTERNS) return `it has more than ${MAX_PATTERNS} entries`;
  const patterns: ClientPattern[] = [];
  for (const part of parts.map((each) => each.trim())) {
    if (part === "") return EMPTY_ENTRY;
    const pattern = patternOf(part);
    if (typeof pattern === "string") return `${quote(part)} ${pattern}`;
    patterns.push(pattern);
  }
  return patterns;
}

/** Or what is wrong with it. `""` stands for requests without the header. */
function patternOf(written: string): ClientPattern | string {
  const text = unquoted(written);
  if (/\p{Cc}/u.test(text)) return "has a control character";
  if (!text.startsWith("~")) {
    // A backslash takes the meaning from what nginx would read as a word of its own.
    const value = inBytes(text.replace(/^\\/, ""));
    return value === null
      ? "is not well-formed Unicode"
      : { type: "Exact", value: value.toLowerCase() };
  }
  const ignoreCase = text.startsWith("~*");
  const expression = text.slice(ignoreCase ? 2 : 1);
  if (expression === "") return "has no regular expression";
  const reading = readHeaderPattern(expression, { ignoreCase });
  return reading.ok ? { type: "Regex", value: reading.value } : reading.reason;
}

function unquoted(text: string): string {
  const quoted = /^(["'])(.*)\1$/.exec(text);
  return quoted === null ? text : quoted[2];
}
