/**
 * The order of hosts, which is their precedence. In: two host patterns as routes carry them. Out:
 * which comes first, the same on every machine.
 */

/** Exact hosts, then wildcards, then any host; each by UTF-16 code units. */
export function compareHosts(a: string, b: string): number {
  return hostRank(a) - hostRank(b) || (a < b ? -1 : a > b ? 1 : 0);
}

function hostRank(host: string): number {
  if (!host.startsWith("*")) return 0;
  return host === "*" ? 2 : 1;
}
