/**
 * One path in many spellings. In: a path as one would write it. Out: what nginx takes for the same path, or
 * nearly the same: with slashes, dots and escapes where they mean nothing, or something else.
 */
import { canonicalPath } from "../../shared/path/canonical_path.ts";
import type { Random } from "../fuzz/random.ts";

/** Each changes something at a random place. */
const CHANGES: readonly ((path: string, random: Random) => string)[] = [
  (path, random) => atSlash(path, random, "//"),
  (path, random) => atSlash(path, random, "/./"),
  (path, random) => atSlash(path, random, "/x/../"),
  (path, random) => atSlash(path, random, "/x/..%2f"),
  (path, random) => atSlash(path, random, "/x%2f..%2F"),
  (path, random) => atSlash(path, random, "/%2e/"),
  (path, random) => atSlash(path, random, "/x//../"),
  (path, random) => atSlash(path, random, "%2F").replace(/^%2F/, "/"),
  (path, random) => atSlash(path, random, "/../"),
  escapedLetter,
  escapedLetter,
  (path) => `${path};a`,
  (path) => `${path}/.`,
  (path) => `${path}/..`,
  (path) => `${path}/...`,
  (path) => `${path}.`,
  (path) => `${path}/`,
  (path) => `${path}%25`,
  (path) => `${path}%2561`,
  (path) => `${path}%20x`,
  (path) => `${path}%c3%A9%ff`,
  (path) => `${path}+b%3Fc%26d%23`,
  (path) => path.toUpperCase(),
];

/** None of those that the proxy refuses whatever the host; see `canonicalPath`. */
export function spelled(path: string, random: Random): string {
  let found = path;
  for (let i = random.below(4); i > 0; i--) {
    const changed = random.pick(CHANGES)(found, random);
    if (canonicalPath(changed).ok) found = changed;
  }
  return found;
}

function atSlash(path: string, random: Random, between: string): string {
  const slashes = [...path.matchAll(/\//g)].map(({ index }) => index);
  const index = random.pick(slashes);
  return path.slice(0, index) + between + path.slice(index + 1);
}

function escapedLetter(path: string, random: Random): string {
  const letters = [...path.matchAll(/(?<!%.?)[a-z]/gi)].map(({ index }) => index);
  if (letters.length === 0) return path;
  const index = random.pick(letters);
  const escape = `%${path.charCodeAt(index).toString(16)}`;
  return path.slice(0, index) + escape + path.slice(index + 1);
}
