/**
 * New marks for `CDN-Loop` (`loop_mark.ts`). In: random numbers. Out: a mark.
 *
 * The controller makes one for all proxies, which is published; a proxy that gets none makes its own.
 */

/** A mark that nobody else has: 64 random bits. */
export function newLoopMark(): string {
  const digits = Array.from(
    crypto.getRandomValues(new Uint8Array(8)),
    (byte) => byte.toString(16).padStart(2, "0"),
  );
  return `pingress-${digits.join("")}`;
}
