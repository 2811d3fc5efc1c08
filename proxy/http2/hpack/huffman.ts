/**
 * HPACK's Huffman code (RFC 7541 §5.2, Appendix B). In: bytes. Out: bytes, coded or decoded.
 *
 * The code is canonical: of codes with one length the symbols ascend, and longer codes stand behind
 * shorter ones. So the lengths say all. Codes of up to TABLE_BITS bits, which is all that is common
 * in fields, are found by one look into a table; a longer one by comparing with the last code of
 * each length.
 */

/** Length of each byte's code in bits, a digit to the base 36. */
const LENGTHS = "dnsssssssoussussssssssusssssssss" + "6aacd68baa8b8666555666666678f6ca" +
  "d67777777777777777777777878djde6" + "f56565666577666567655677777fbeds" +
  "kmkkmmmnmnnnnnonoomnonnnnlmnmnno" + "mlkmmnnlnmmolmnnllmlnmnnkmmmnmmn" +
  "qqkjmnmpqqqrrqopjlqrrqrollqqsrrr" + "koklmllnmmppooqnqrqqrrrrrsrrrrrq";

/** The symbol that only pads. */
const EOS = 256;
const LONGEST = 30;
const TABLE_BITS = 10;
const TABLE_MASK = (1 << TABLE_BITS) - 1;

/** Code and its length of each byte. */
export const CODES = new Uint32Array(256);
export const CODE_BITS = new Uint8Array(256);

/** `byte << 4 | length` for what begins with a code of up to TABLE_BITS bits; else 0. */
const TABLE = new Uint16Array(1 << TABLE_BITS);
/** Behind the last code of each length, with LONGEST bits. */
const LIMITS = new Uint32Array(LONGEST + 1);
/** The first code of each length, and where its symbol is in SYMBOLS. */
const FIRST_CODES = new Uint32Array(LONGEST + 1);
const FIRST_SYMBOLS = new Uint16Array(LONGEST + 1);
/** All symbols, by length, then by value. */
const SYMBOLS = new Uint16Array(257);

fillTables();

function fillTables(): void {
  let code = 0;
  let symbols = 0;
  for (let bits = 1; bits <= LONGEST; bits++) {
    code *= 2;
    FIRST_CODES[bits] = code;
    FIRST_SYMBOLS[bits] = symbols;
    for (let symbol = 0; symbol <= EOS; symbol++) {
      if ((symbol === EOS ? LONGEST : parseInt(LENGTHS[symbol], 36)) !== bits) continue;
      SYMBOLS[symbols++] = symbol;
      if (symbol !== EOS) {
        CODES[symbol] = code;
        CODE_BITS[symbol] = bits;
      }
      if (bits <= TABLE_BITS) {
        const span = 1 << (TABLE_BITS - bits);
        TABLE.fill(symbol << 4 | bits, code * span, (code + 1) * span);
      }
      code++;
    }
    LIMITS[bits] = code * 2 ** (LONGEST - bits);
  }
}

/** How many bytes `bytes[start, end)` has when coded. */
export function huffmanLength(bytes: Uint8Array, start: number, end: number): number {
  let bits = 0;
  for (let i = start; i < end; i++) bits += CODE_BITS[bytes[i]];
  return (bits + 7) >>> 3;
}

/** Writes `bytes[start, end)` coded and padded; the position after it. */
export function writeHuffman(
  out: Uint8Array,
  at: number,
  bytes: Uint8Array,
  start: number,
  end: number,
): number {
  // `pending` holds fewer than 8 bits between two bytes, so that a code of 24 fits besides.
  let pending = 0;
  let count = 0;
  for (let i = start; i < end; i++) {
    const byte = bytes[i];
    let bits = CODE_BITS[byte];
    let code = CODES[byte];
    if (bits > 24) {
      bits -= 16;
      pending = pending << bits | code >>> 16;
      count += bits;
      while (count >= 8) out[at++] = pending >>> (count -= 8);
      code &= 0xffff;
      bits = 16;
    }
    pending = pending << bits | code;
    count += bits;
    while (count >= 8) out[at++] = pending >>> (count -= 8);
  }
  // RFC 7541 §5.2: padded with the most significant bits of EOS, which are ones.
  if (count > 0) out[at++] = pending << (8 - count) | 0xff >>> count;
  return at;
}

/** How many bytes `length` coded bytes decode to, at most: the shortest code has 5 bits. */
export function decodedBound(length: number): number {
  return (length * 8 / 5) | 0;
}

/**
 * Decodes `bytes[start, end)` to `out` from `at` on, which has `decodedBound` bytes of room; the
 * position after it. -1 for a code that does not end, EOS, or padding that is wrong or longer than
 * seven bits (RFC 7541 §5.2).
 */
export function readHuffman(
  bytes: Uint8Array,
  start: number,
  end: number,
  out: Uint8Array,
  at: number,
): number {
  let pending = 0;
  let count = 0;
  let from = start;
  while (true) {
    if (count < TABLE_BITS) {
      if (from + 1 < end) {
        pending = pending << 16 | bytes[from] << 8 | bytes[from + 1];
        from += 2;
        count += 16;
      } else if (from < end) {
        pending = pending << 8 | bytes[from++];
        count += 8;
        if (count < TABLE_BITS) continue;
      } else {
        break;
      }
    }
    const entry = TABLE[pending >>> (count - TABLE_BITS) & TABLE_MASK];
    if (entry !== 0) {
      out[at++] = entry >>> 4;
      count -= entry & 15;
      continue;
    }
    // The bit where the code begins is known from the bits that are left of what was read.
    const position = (from - start) * 8 - count;
    const coded = longCode(bytes, start, end, position);
    if (coded === -1) return -1;
    out[at++] = coded & 0xff;
    const next = position + (coded >>> 8);
    from = start + (next >>> 3);
    const used = next & 7;
    if (used === 0) {
      pending = 0;
      count = 0;
    } else {
      pending = bytes[from++] & 0xff >>> used;
      count = 8 - used;
    }
  }
  // Fewer than TABLE_BITS bits are left: whole codes, then padding.
  while (count > 0) {
    const ones = (1 << (TABLE_BITS - count)) - 1;
    const entry = TABLE[(pending << (TABLE_BITS - count) | ones) & TABLE_MASK];
    const bits = entry & 15;
    if (entry === 0 || bits > count) {
      const padding = (1 << count) - 1;
      return count < 8 && (pending & padding) === padding ? at : -1;
    }
    out[at++] = entry >>> 4;
    count -= bits;
  }
  return at;
}

/** `length << 8 | byte` of the code that begins at bit `position` behind `start`; -1 for none. */
function longCode(bytes: Uint8Array, start: number, end: number, position: number): number {
  let code = 0;
  for (let i = 0, at = start + (position >>> 3); i < 5; i++, at++) {
    // Behind the end come ones, as in padding: no code but EOS has as many.
    code = code * 256 + (at < end ? bytes[at] : 0xff);
  }
  // Forty bits: those before the position and behind the longest code are cut off.
  code = Math.floor(code / 2 ** (40 - LONGEST - (position & 7))) % 2 ** LONGEST;
  for (let bits = TABLE_BITS + 1; bits <= LONGEST; bits++) {
    if (code >= LIMITS[bits]) continue;
    if (position + bits > (end - start) * 8) return -1;
    const index = FIRST_SYMBOLS[bits] + (code >>> (LONGEST - bits)) - FIRST_CODES[bits];
    return SYMBOLS[index] === EOS ? -1 : bits << 8 | SYMBOLS[index];
  }
  return -1;
}
