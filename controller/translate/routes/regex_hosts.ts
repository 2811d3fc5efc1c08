/**
 * Hosts whose paths are regular expressions. In: Ingresses, oldest first. Out: the hosts of which some
 * path asks for that by `use-regex` or `rewrite-target`: as in ingress-nginx it then holds for all paths
 * of the host, whosever they are; what a path of such a host is there; and which one has requests that
 * several take.
 *
 * https://kubernetes.github.io/ingress-nginx/user-guide/ingress-path-matching/
 */
import { isRegex } from "../annotations/nginx/rewrite.ts";
import type { Ownership } from "../hosts/ownership.ts";
import type { RegexPath, RegexPlace, RoutePlace } from "../model/route_place.ts";
import type { RegexWish, Source, WrittenPath } from "../model/source.ts";
import { writtenKey } from "./route_claims.ts";
import { compareRoutes } from "./route_order.ts";

export interface RegexHost {
  /** Its Exact paths as they are written. */
  readonly exact: ReadonlySet<string>;
  /** Of paths that take the very same requests the one that has them, by the match's value. */
  readonly first: ReadonlyMap<string, OwnedRegex>;
}

/** Whose path a regular expression is. */
export interface OwnedRegex extends RegexPlace {
  readonly owner: Source;
}

export type RegexHosts = ReadonlyMap<string, RegexHost>;

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
        const key = writtenKey(host, written);
        if (taken.has(key)) continue;
        taken.add(key);
        if (written.type === "Exact") setOf(exact, host).add(written.path);
        if (isRegex(written, regex)) found.add(host);
      }
    }
  }
  const hosts = new Map(
    Array.from(found, (host) => [host, { exact: setOf(exact, host), first: new Map() }] as const),
  );
  if (hosts.size > 0) addFirst(hosts, ingresses, ownership);
  return hosts;
}

function addFirst(
  hosts: ReadonlyMap<
    string,
    { readonly exact: ReadonlySet<string>; first: Map<string, OwnedRegex> }
  >,
  ingresses: readonly Source[],
  ownership: Ownership,
): void {
  for (const owner of ingresses) {
    for (const { host, paths } of owner.rules) {
      const regexHost = host === null ? undefined : hosts.get(host);
      if (host === null || regexHost === undefined) continue;
      if (ownership.standing(host, owner.identity.ref.namespace) === "refused") continue;
      const { exact, first } = regexHost;
      for (const { field, written, place } of paths) {
        const regex = written !== null
          ? owner.regexPlaces.of(host, regexOf(written, owner.regex, exact), field, owner.identity)
          : place?.match.type === "Regex"
          ? published(place)
          : null;
        if (regex === null) continue;
        const { value } = regex.place.match;
        const other = first.get(value);
        if (other === undefined || precedes(regex.place, other.place)) {
          first.set(value, { ...regex, owner });
        }
      }
    }
  }
}

/** What was published is a regular expression already. */
function published(place: RoutePlace): RegexPlace {
  return { place, text: place.match.written ?? place.match.value, fault: null };
}

function precedes(a: RoutePlace, b: RoutePlace): boolean {
  const route = ({ host, match: path }: RoutePlace) => ({ host, match: { path } });
  return compareRoutes(route(a), route(b)) < 0;
}

/**
 * What a path is there. For a Prefix that its own Ingress does not mean as a regular expression
 * ingress-nginx adds a location with a slash at the end, beside one for the path itself that an Exact path
 * replaces. Both are where the path was sorted before.
 */
export function regexOf(
  written: WrittenPath,
  regex: RegexWish | null,
  exact: ReadonlySet<string>,
): RegexPath {
  const { path, type } = written;
  const isSplit = type === "Prefix" && !path.endsWith("/") && !isRegex(written, regex);
  return { path, isBelow: isSplit && exact.has(path) };
}

function setOf(sets: Map<string, Set<string>>, host: string): Set<string> {
  let set = sets.get(host);
  if (set === undefined) sets.set(host, set = new Set());
  return set;
}
