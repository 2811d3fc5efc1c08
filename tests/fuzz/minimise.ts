/**
 * Smaller streams that show the same. In: a stream and a test that it passes. Out: a stream from
 * which no range of any tried length can be taken without failing that test.
 */
import { replaced } from "./mutation.ts";

const NOTHING = new Uint8Array(0);

/** @param holds for each stream, whether it still shows what `stream` shows. */
export async function minimise(
  stream: Uint8Array,
  holds: (streams: readonly Uint8Array[]) => Promise<readonly boolean[]>,
): Promise<Uint8Array> {
  let smallest = stream;
  for (let length = stream.length >> 1; length >= 1;) {
    const candidates: Uint8Array[] = [];
    for (let at = 0; at + length <= smallest.length; at += length) {
      candidates.push(replaced(smallest, at, at + length, NOTHING));
    }
    const found = (await holds(candidates)).indexOf(true);
    if (found !== -1) smallest = candidates[found];
    else length >>= 1;
  }
  return smallest;
}
