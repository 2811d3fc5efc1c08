/**
 * The mark that requests get in `CDN-Loop` (RFC 8586). In: a text. Out: whether it is one.
 */

/** A pseudonym of RFC 8586 §2, and bounded: each request to a backend carries it. */
const MARK = /^[A-Za-z0-9-]{1,64}$/;

/** Whether a text may be a mark. */
export function isLoopMark(text: string): boolean {
  return MARK.test(text);
}
