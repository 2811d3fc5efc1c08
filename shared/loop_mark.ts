/**
 * The mark that requests get in `CDN-Loop` (RFC 8586). Out: a new one, and whether a text is one.
 *
 * The controller makes one for all proxies, which is published; a proxy that gets none makes its own.
 */

/** A pseudonym of RFC 8586 §2, and bounded: each request to a backend carries it. */
const MARK = /^[A-Za-z0-9-]{1,64}$/;

/** A mark that nobody else has: 64 random bits. */
export function newLoopMark(): string {
  const digits = Array.from(
    crypto.getRandomValues(new Uint8Array(8)),
    (byte) => byte.toString(16).padStart(2, "0"),
  );
  return `pingress-${digits.join("")}`;
}

export function isLoopMark(text: string): boolean {
  return MARK.test(text);
}
