/**
 * JSON objects that stand one after the other in one text, as kubectl takes them and `jq` prints
 * them. In: a text. Out: each object with where it begins; YAML knows no such thing.
 */

export interface JsonValue {
  /** UTF-16 units before it. */
  readonly start: number;
  readonly text: string;
}

/** Null where the text is anything else than several objects with nothing but space between them. */
export function splitJsonObjects(text: string): JsonValue[] | null {
  const values: JsonValue[] = [];
  let start = 0;
  let depth = 0;
  for (let i = 0; i < text.length; i++) {
    const char = text[i];
    if (depth === 0) {
      if (char === "{") start = i;
      else if (/\s|\ufeff/.test(char)) continue;
      else return null;
    }
    if (char === '"') {
      i = endOfString(text, i);
    } else if (char === "{") {
      depth++;
    } else if (char === "}" && --depth === 0) {
      values.push({ start, text: text.slice(start, i + 1) });
    }
  }
  // One that is cut short is still told from those before it.
  if (depth > 0) values.push({ start, text: text.slice(start) });
  return values.length > 1 ? values : null;
}

/** Where the closing quotation mark stands, or the end of the text. */
function endOfString(text: string, open: number): number {
  let i = open + 1;
  while (i < text.length && text[i] !== '"') i += text[i] === "\\" ? 2 : 1;
  return i;
}
