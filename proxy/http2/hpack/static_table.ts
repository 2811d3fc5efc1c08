/**
 * The static table (RFC 7541 Appendix A). In: an index from 1 to 61, or a name. Out: its line, or the
 * index of the first entry with that name.
 */
import { writeLatin1 } from "../../http/fields.ts";
import { COLON, SP } from "../../http/grammar.ts";
import { FieldLines, LINE_OVERHEAD, META, nameInfo } from "./field_lines.ts";

/** Names and values, in the order of their indexes, which begin at 1. */
export const STATIC_TABLE: readonly (readonly [string, string])[] = [
  [":authority", ""],
  [":method", "GET"],
  [":method", "POST"],
  [":path", "/"],
  [":path", "/index.html"],
  [":scheme", "http"],
  [":scheme", "https"],
  [":status", "200"],
  [":status", "204"],
  [":status", "206"],
  [":status", "304"],
  [":status", "400"],
  [":status", "404"],
  [":status", "500"],
  ["accept-charset", ""],
  ["accept-encoding", "gzip, deflate"],
  ["accept-language", ""],
  ["accept-ranges", ""],
  ["accept", ""],
  ["access-control-allow-origin", ""],
  ["age", ""],
  ["allow", ""],
  ["authorization", ""],
  ["cache-control", ""],
  ["content-disposition", ""],
  ["content-encoding", ""],
  ["content-language", ""],
  ["content-length", ""],
  ["content-location", ""],
  ["content-range", ""],
  ["content-type", ""],
  ["cookie", ""],
  ["date", ""],
  ["etag", ""],
  ["expect", ""],
  ["expires", ""],
  ["from", ""],
  ["host", ""],
  ["if-match", ""],
  ["if-modified-since", ""],
  ["if-none-match", ""],
  ["if-range", ""],
  ["if-unmodified-since", ""],
  ["last-modified", ""],
  ["link", ""],
  ["location", ""],
  ["max-forwards", ""],
  ["proxy-authenticate", ""],
  ["proxy-authorization", ""],
  ["range", ""],
  ["referer", ""],
  ["refresh", ""],
  ["retry-after", ""],
  ["server", ""],
  ["set-cookie", ""],
  ["strict-transport-security", ""],
  ["transfer-encoding", ""],
  ["user-agent", ""],
  ["vary", ""],
  ["via", ""],
  ["www-authenticate", ""],
];

export const STATIC_COUNT = STATIC_TABLE.length;

/** The static table's lines; the entry of index i is in slot i - 1. */
export const STATIC_LINES = staticLines();

function staticLines(): FieldLines {
  const lines = new FieldLines();
  let length = 0;
  for (const [name, value] of STATIC_TABLE) length += name.length + value.length + LINE_OVERHEAD;
  lines.bytes = new Uint8Array(length);
  lines.meta = new Int32Array(STATIC_COUNT * META);
  let at = 0;
  for (const [slot, [name, value]] of STATIC_TABLE.entries()) {
    const start = at;
    const nameEnd = writeLatin1(lines.bytes, at, name);
    lines.bytes[nameEnd] = COLON;
    lines.bytes[nameEnd + 1] = SP;
    at = writeLatin1(lines.bytes, nameEnd + 2, value);
    lines.set(slot, start, nameEnd, at, nameInfo(lines.bytes, start, nameEnd));
    at += 2;
  }
  return lines;
}

/** Indexes of names in buckets by length and last letter, so that most names compare with one. */
const BUCKETS: (readonly number[] | undefined)[] = new Array(32 * 32);

for (const [slot, [name]] of STATIC_TABLE.entries()) {
  if (slot > 0 && STATIC_TABLE[slot - 1][0] === name) continue;
  const bucket = name.length * 32 + (name.charCodeAt(name.length - 1) & 31);
  BUCKETS[bucket] = [...(BUCKETS[bucket] ?? []), slot + 1];
}

/** Index of the first entry whose name is `bytes[start, end)`, which is in lower case; 0 for none. */
export function staticName(bytes: Uint8Array, start: number, end: number): number {
  const length = end - start;
  if (length === 0 || length > 31) return 0;
  const bucket = BUCKETS[length * 32 + (bytes[end - 1] & 31)];
  if (bucket === undefined) return 0;
  for (let i = 0; i < bucket.length; i++) {
    const from = STATIC_LINES.meta[(bucket[i] - 1) * META];
    let at = 0;
    while (at < length && STATIC_LINES.bytes[from + at] === bytes[start + at]) at++;
    if (at === length) return bucket[i];
  }
  return 0;
}
