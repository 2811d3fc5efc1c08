/**
 * Comparison of ASCII without regard to case. In: bytes as a peer has sent them, and what they may be, in lower
 * case. Out: whether they are.
 */

/** Whether `bytes` at `start` begins with `lower`, in any case of letters. */
export function equalsLower(bytes: Uint8Array, start: number, lower: Uint8Array): boolean {
  for (let i = 0; i < lower.length; i++) {
    if (lowered(bytes[start + i]) !== lower[i]) return false;
  }
  return true;
}

/** The same for a text, of which no bytes are made. */
export function equalsText(bytes: Uint8Array, start: number, lower: string): boolean {
  for (let i = 0; i < lower.length; i++) {
    if (lowered(bytes[start + i]) !== lower.charCodeAt(i)) return false;
  }
  return true;
}

function lowered(byte: number): number {
  return byte >= 0x41 && byte <= 0x5a ? byte | 0x20 : byte;
}
