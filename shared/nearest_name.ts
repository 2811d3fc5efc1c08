/**
 * The name that somebody meant who misspelt it. In: what was written, and the names that there are.
 * Out: the one with the fewest changes to it, or null where none is close.
 */

/** Letter case does not count as a difference. */
export function nearestName(written: string, names: Iterable<string>): string | null {
  const limit = Math.max(2, written.length / 3);
  let nearest: string | null = null;
  let least = Infinity;
  for (const name of names) {
    // The distance is at least that of the lengths; a long key of a hostile file costs nothing.
    if (Math.abs(name.length - written.length) > limit) continue;
    const distance = editDistance(written.toLowerCase(), name.toLowerCase());
    if (distance <= limit && distance < least) [nearest, least] = [name, distance];
  }
  return nearest;
}

/** Levenshtein's distance: insertions, deletions and replacements from `a` to `b`. */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = row[j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, row[j] + 1, next[j - 1] + 1));
    }
    row = next;
  }
  return row[b.length];
}
