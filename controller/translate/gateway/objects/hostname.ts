/**
 * Hostnames of listeners and routes. In: patterns such as `app.example.com`, `*.example.com`, or null for
 * any. Out: whether a pattern is one, and the hosts that two patterns share. A star stands for one label
 * or more, unlike that of an Ingress.
 *
 * https://gateway-api.sigs.k8s.io/reference/spec/#hostname and #httproutespec
 */
import { isDnsName } from "../../../base/names.ts";

/** In lower case; null for any host. */
export type Hostname = string | null;

/** Null for what is no hostname of the API: an address, or a star anywhere but for the first label. */
export function readHostname(value: unknown): string | null {
  if (typeof value !== "string") return null;
  const name = value.toLowerCase();
  const labels = name.startsWith("*.") ? name.slice(2) : name;
  // A numeric last label makes it an address to many clients.
  return isDnsName(labels) && !/(?:^|\.)\d+$/.test(labels) ? name : null;
}

/** The hosts that both have, as a pattern; undefined for none. */
export function intersection(a: Hostname, b: Hostname): Hostname | undefined {
  if (a === null) return b;
  if (b === null || a === b) return a;
  if (covers(a, b)) return b;
  return covers(b, a) ? a : undefined;
}

/** Whether a pattern has all hosts of another one. */
export function covers(pattern: string, other: string): boolean {
  if (pattern === other) return true;
  // The star of the other one is a label like any: `*.b.example.com` is below `*.example.com`.
  return pattern.startsWith("*.") && other.endsWith(pattern.slice(1));
}

/** The most specific first: a name before a pattern, a longer pattern before a shorter one, any host last. */
export function compareSpecificity(a: Hostname, b: Hostname): number {
  return rank(b) - rank(a);
}

/** Names have at most 253 characters. */
const EXACT = 1000;

function rank(hostname: Hostname): number {
  if (hostname === null) return 0;
  return hostname.startsWith("*.") ? hostname.length : EXACT + hostname.length;
}
