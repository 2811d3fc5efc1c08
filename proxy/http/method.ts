/**
 * Request methods (RFC 9110 §9.1). In: bytes of a token. Out: the method as one string for each that
 * is common, so that a request makes none.
 */
import { asciiBytes, latin1 } from "./fields.ts";

/** Longest method: the registry's longest, UPDATEREDIRECTREF, has 17 letters. */
export const MAX_METHOD = 32;

/** What is not refused, for Allow: others of a kind that nobody lists go on too. */
export const ALLOW = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS";

const METHODS = ["GET", "POST", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS"].map((text) => ({
  text,
  bytes: asciiBytes(text),
}));

/** The method, or "" for one with lower-case letters, which a lenient backend could take for another. */
export function methodAt(bytes: Uint8Array, start: number, end: number): string {
  for (const { text, bytes: known } of METHODS) {
    if (known.length !== end - start) continue;
    let i = 0;
    while (i < known.length && bytes[start + i] === known[i]) i++;
    if (i === known.length) return text;
  }
  const method = latin1(bytes, start, end);
  return /[a-z]/.test(method) ? "" : method;
}
