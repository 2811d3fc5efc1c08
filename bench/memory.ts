/**
 * Resident memory of a program of one or more processes. In: what the kernel says of each of them in
 * `/proc/PID/smaps_rollup`. Out: bytes.
 */

/**
 * Pages that the program's own processes share count once; those that it shares with others count in
 * full: the load and the bench run on the same binary as a proxy in TypeScript, which would share
 * its size with them, and look smaller than it is anywhere else.
 */
export function residentBytes(rollups: readonly string[]): number {
  let anonymous = 0;
  let mapped = 0;
  for (const rollup of rollups) {
    // After a fork the same pages are part of each process, which `Pss` divides among them.
    anonymous += kibibytes(rollup, "Pss_Anon");
    // Of the binary and its libraries, which all of them map, the largest has about the whole.
    mapped = Math.max(mapped, kibibytes(rollup, "Rss") - kibibytes(rollup, "Anonymous"));
  }
  return (anonymous + mapped) * 1024;
}

function kibibytes(rollup: string, name: string): number {
  return Number(new RegExp(`^${name}:\\s+(\\d+) kB`, "m").exec(rollup)?.[1] ?? 0);
}
