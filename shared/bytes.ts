/** Parts put together. In: arrays of bytes. Out: one with all of them; a single one is given as it is. */

/** @param length of all parts together, in bytes. */
export function joined<Buffer extends ArrayBufferLike>(
  parts: readonly Uint8Array<Buffer>[],
  length: number,
): Uint8Array<Buffer | ArrayBuffer> {
  if (parts.length === 1) return parts[0];
  const whole = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
