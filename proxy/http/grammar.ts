/**
 * The bytes of HTTP/1.1's grammar (RFC 9110 §5.6, RFC 9112 §2–5) as lookup tables. In: a byte. Out:
 * what it may be part of.
 */

export const CR = 0x0d;
export const LF = 0x0a;
export const SP = 0x20;
export const HTAB = 0x09;
export const COLON = 0x3a;
export const SEMICOLON = 0x3b;
export const PLUS = 0x2b;
export const EQUALS = 0x3d;
export const DQUOTE = 0x22;
export const BACKSLASH = 0x5c;

/**
 * Bits for a byte of a token (RFC 9110 §5.6.2): 1 for each, and one of those below besides for what
 * is no letter, digit or hyphen; 0 for any other byte.
 */
export const TOKEN = new Uint8Array(256);
/** The bit of TOKEN that marks the underscore. */
export const TOKEN_UNDERSCORE = 2;
/** The bit of TOKEN that marks other punctuation than hyphen and underscore. */
export const TOKEN_PUNCTUATION = 4;
for (const char of "-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz") {
  TOKEN[char.charCodeAt(0)] = 1;
}
for (const char of "!#$%&'*+.^`|~") TOKEN[char.charCodeAt(0)] = 1 | TOKEN_PUNCTUATION;
TOKEN["_".charCodeAt(0)] = 1 | TOKEN_UNDERSCORE;

/** 1 for a byte of a field value: HTAB, SP, visible ASCII, obs-text (RFC 9110 §5.5). */
export const VALUE = new Uint8Array(256).fill(1, 0x20).fill(0, 0x7f, 0x80);
VALUE[HTAB] = 1;

/** 1 for a byte of a request target: visible ASCII but `#` (a fragment is never sent). */
export const TARGET = new Uint8Array(256).fill(1, 0x21, 0x7f);
TARGET["#".charCodeAt(0)] = 0;

/** The value of a hexadecimal digit, or 255. */
export const HEX = new Uint8Array(256).fill(255);
for (let i = 0; i < 16; i++) {
  HEX[i.toString(16).charCodeAt(0)] = i;
  HEX[i.toString(16).toUpperCase().charCodeAt(0)] = i;
}

export function isDigit(byte: number): boolean {
  return byte >= 0x30 && byte <= 0x39;
}
