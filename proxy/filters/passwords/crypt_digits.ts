/**
 * The digits of crypt's hashes. In: bytes of a digest, in groups. Out: six bits a character.
 */

const DIGITS = "./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/** @param groups indices of one to three bytes each, the highest first; a byte more is a digit more. */
export function encode64(bytes: Uint8Array, groups: readonly (readonly number[])[]): string {
  let text = "";
  for (const group of groups) {
    let value = 0;
    for (const index of group) value = (value << 8) | bytes[index];
    for (let i = 0; i <= group.length; i++) {
      text += DIGITS[value & 63];
      value >>= 6;
    }
  }
  return text;
}
