/**
 * Hosts whose paths are regular expressions. In: Ingresses, oldest first. Out: the hosts of which some
 * path asks for that by `use-regex` or `rewrite-target`: as in ingress-nginx it then holds for all paths
 * of the host, whosever they are; and what a path of such a host is there.
 *
 * https://kubernetes.github.io/ingress-nginx/user-guide/ingress-path-matching/
 */
import { isRegex } from "../annotations/nginx/rewrite.ts";
import type { Ownership } from "../hosts/ownership.ts";
import type { RegexWish, Source, WrittenPath } from "../model/source.ts";

/** By host, its Exact paths as they are written. */
export type RegexHosts = ReadonlyMap<string, ReadonlySet<string>>;

/** A path that an older one has, with the same type, is no path and asks for nothing. */
export function regexHosts(ingresses: readonly Source[], ownership: Ownership): RegexHosts {
  const wishing = ingresses.filter(({ regex }) => regex !== null);
  if (wishing.length === 0) return new Map();
  const candidates = new Set(
    wishing.flatMap(({ rules }) => rules.flatMap(({ host }) => host ?? [])),
  );
  const found = new Set<string>();
  const exact = new Map<string, Set<string>>();
  const taken = new Set<string>();
  for (const { rules, regex, identity } of ingresses) {
    for (const { host, paths } of rules) {
      if (host === null || !candidates.has(host)) continue;
      if (ownership.standing(host, identity.ref.namespace) === "refused") continue;
      for (const { written } of paths) {
        if (written === null) continue;
        const key = `${host} ${written.type} ${written.path}`;
        if (taken.has(key)) continue;
        taken.add(key);
        if (written.type === "Exact") setOf(exact, host).add(written.path);
        if (isRegex(written, regex)) found.add(host);
      }
    }
  }
  return new Map([...found].map((host) => [host, setOf(exact, host)]));
}

/**
 * The regular expression for a path. For a Prefix that its own Ingress does not mean as one ingress-nginx
 * adds a location with a slash at the end, beside one for the path itself that an Exact path replaces.
 */
export function regexOf(
  written: WrittenPath,
  regex: RegexWish | null,
  exact: ReadonlySet<string>,
): string {
  const { path, type } = written;
  const isSplit = type === "Prefix" && !path.endsWith("/") && !isRegex(written, regex);
  return isSplit && exact.has(path) ? `${path}/` : path;
}

function setOf(sets: Map<string, Set<string>>, host: string): Set<string> {
  let set = sets.get(host);
  if (set === undefined) sets.set(host, set = new Set());
  return set;
}
