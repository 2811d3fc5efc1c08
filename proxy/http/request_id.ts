/**
 * Ids of requests, and of spans. In: nothing, or one that somebody else has given. Out: 128 random bits as
 * 32 hexadecimal digits, from a store of random bytes that is filled a page at a time.
 */
import { latin1 } from "./fields.ts";

export const REQUEST_ID_LENGTH = 32;

/** Of an id that others have given. */
const MAX_REQUEST_ID = 128;

const store = new Uint8Array(4096);
let used = store.length;

const DIGITS = Uint8Array.from("0123456789abcdef", (digit) => digit.charCodeAt(0));

/** Writes an id at `at`. */
export function writeRequestId(bytes: Uint8Array, at: number): void {
  writeRandomDigits(bytes, at, REQUEST_ID_LENGTH);
}

/** Writes random hexadecimal digits at `at`, `count` of them: an even number, at most 4096. */
export function writeRandomDigits(bytes: Uint8Array, at: number, count: number): void {
  if (used + count / 2 > store.length) {
    crypto.getRandomValues(store);
    used = 0;
  }
  for (let i = 0; i < count / 2; i++) {
    const byte = store[used++];
    bytes[at++] = DIGITS[byte >> 4];
    bytes[at++] = DIGITS[byte & 15];
  }
}

/** Whether a client's id may be this request's: not empty, no blanks, not too long. */
export function isRequestId(text: string): boolean {
  return text.length <= MAX_REQUEST_ID && /^[\x21-\x7e]+$/.test(text);
}

export function newRequestId(): string {
  const bytes = new Uint8Array(REQUEST_ID_LENGTH);
  writeRequestId(bytes, 0);
  return latin1(bytes, 0, REQUEST_ID_LENGTH);
}
