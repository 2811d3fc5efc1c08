/**
 * The text of a file. In: its bytes. Out: what they say in UTF-8; or why that is no text, where, and how to
 * convert it. kubectl takes no other encoding either.
 */

export type DecodedText =
  | { readonly ok: true; readonly text: string }
  | {
    readonly ok: false;
    readonly message: string;
    readonly remedy: string;
    /** From 1. */
    readonly line: number;
    /** In characters, from 1. */
    readonly column: number;
  };

/** Encodings of two bytes a character, by the bytes of their mark or of a first ASCII character. */
const WIDE: readonly (readonly [name: string, isIt: (bytes: Uint8Array) => boolean])[] = [
  ["UTF-16LE", ([a, b]) => (a === 0xff && b === 0xfe) || (a !== 0 && b === 0)],
  ["UTF-16BE", ([a, b]) => (a === 0xfe && b === 0xff) || (a === 0 && b !== 0)],
];

export function decodeText(bytes: Uint8Array): DecodedText {
  const wide = bytes.length < 2 ? undefined : WIDE.find(([, isIt]) => isIt(bytes));
  if (wide !== undefined) return refused(`it is encoded in ${wide[0]}, not in UTF-8`, wide[0]);
  if (bytes.includes(0)) {
    return {
      ok: false,
      message: "it is no text, but has bytes that are zero",
      remedy: "Remove the file, or give it another ending than .yaml, .yml and .json",
      ...PLACE,
    };
  }
  try {
    return { ok: true, text: new TextDecoder("utf-8", { fatal: true }).decode(bytes) };
  } catch {
    const { line, column, byte } = firstFault(bytes);
    const hex = byte.toString(16).padStart(2, "0").toUpperCase();
    return {
      ...refused(`byte 0x${hex} here is not UTF-8; most likely it is Latin-1`, "ISO-8859-1"),
      line,
      column,
    };
  }
}

/** Of the whole file. */
const PLACE = { line: 1, column: 1 };

function refused(message: string, encoding: string) {
  const remedy = `Save it as UTF-8: iconv -f ${encoding} -t UTF-8 FILE`;
  return { ok: false as const, message, remedy, ...PLACE };
}

/** Where decoding goes wrong: each line is decoded alone, as no character holds a line break. */
function firstFault(bytes: Uint8Array): { line: number; column: number; byte: number } {
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  let start = 0;
  for (let line = 1;; line++) {
    const next = bytes.indexOf(0x0a, start);
    const end = next === -1 ? bytes.length : next;
    const shown = decoder.decode(bytes.subarray(start, end));
    const column = shown.indexOf("\ufffd");
    if (column !== -1 || next === -1) {
      const before = new TextEncoder().encode(shown.slice(0, Math.max(column, 0))).length;
      return { line, column: Math.max(column, 0) + 1, byte: bytes[start + before] ?? 0 };
    }
    start = end + 1;
  }
}
