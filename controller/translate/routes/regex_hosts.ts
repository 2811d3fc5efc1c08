/**
 * Hosts whose paths are regular expressions. In: Ingresses, oldest first. Out: the hosts where a path, or the
 * location for requests that no path takes, has `use-regex` or `rewrite-target`: as in ingress-nginx, all paths
 * of the host are regular expressions then, of whichever Ingress; what a path of such a host becomes; and which
 * one has requests that several take.
 *
 * https://kubernetes.github.io/ingress-nginx/user-guide/ingress-path-matching/
 */
import { asksForRegex, isRegex } from "../annotations/nginx/rewrite.ts";
import type { Ownership } from "../hosts/ownership.ts";
import { ANY_HOST } from "../model/host.ts";
import type { RegexPath, RegexPlace, RoutePlace } from "../model/route_place.ts";
import type { PathModel, RegexWish, Source, WrittenPath } from "../model/source.ts";
import { isRoot } from "./catch_all.ts";
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
  const { owners, paths: all } = firstPaths(ingresses, candidates, ownership);
  const found = new Set<string>();
  const exact = new Map<string, Set<string>>();
  for (const { owner, host, path: { written, place } } of all) {
    if (written === null) {
      // Of what was published, those of an Ingress that asks for it.
      if (owner.regex?.usesRegex && place?.match.type === "Regex") found.add(host);
      continue;
    }
    if (written.type === "Exact") setOf(exact, host).add(written.path);
    if (asksForRegex(written, owner.regex)) found.add(host);
  }
  const roots = new Set(all.flatMap(({ host, path }) => isRoot(path) ? host : []));
  for (const [host, { regex }] of owners) {
    if (host !== ANY_HOST && !roots.has(host) && isRegex(REST, regex)) found.add(host);
  }
  const hosts = new Map(
    Array.from(found, (host) => [host, { exact: setOf(exact, host), first: new Map() }] as const),
  );
  if (hosts.size > 0) addFirst(hosts, all);
  return hosts;
}

/**
 * Requests that no path of a host takes: ingress-nginx has a location for them, with the annotations of the first
 * Ingress that names the host, also if it has no path there. Rules without a host have no such location.
 */
const REST: WrittenPath = { path: "/", type: "Prefix" };

interface OwnedPath {
  readonly owner: Source;
  readonly host: string;
  readonly path: PathModel;
}

interface FirstPaths {
  /** By host, the first Ingress that names it. */
  readonly owners: ReadonlyMap<string, Source>;
  readonly paths: readonly OwnedPath[];
}

/**
 * The paths of some hosts that no other has, with the same type: as they are claimed, those of a host's
 * guests last.
 */
function firstPaths(
  ingresses: readonly Source[],
  hosts: ReadonlySet<string>,
  ownership: Ownership,
): FirstPaths {
  const own: OwnedPath[] = [];
  const guests: OwnedPath[] = [];
  const owners = new Map<string, Source>();
  for (const owner of ingresses) {
    for (const { host, paths } of owner.rules) {
      if (host === null || !hosts.has(host)) continue;
      const standing = ownership.standing(host, owner.identity.ref.namespace);
      if (standing === "refused") continue;
      if (standing !== "guest" && !owners.has(host)) owners.set(host, owner);
      const list = standing === "guest" ? guests : own;
      for (const path of paths) list.push({ owner, host, path });
    }
  }
  const taken = new Set<string>();
  const paths = [...own, ...guests].filter(({ host, path: { written } }) => {
    if (written === null) return true;
    const key = writtenKey(host, written);
    return taken.size < taken.add(key).size;
  });
  return { owners, paths };
}

function addFirst(
  hosts: ReadonlyMap<
    string,
    { readonly exact: ReadonlySet<string>; first: Map<string, OwnedRegex> }
  >,
  paths: readonly OwnedPath[],
): void {
  for (const { owner, host, path: { field, written, place } } of paths) {
    const regexHost = hosts.get(host);
    if (regexHost === undefined || (written !== null && isBehindRest(written))) continue;
    const { exact, first } = regexHost;
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

/**
 * Whether what no other path takes comes before it. Each host of ingress-nginx begins with the location of
 * `/`, the default backend's, in the place of which a Prefix comes, whatever its age.
 */
export function isBehindRest({ path, type }: WrittenPath): boolean {
  return type === "Exact" && path === "/";
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
