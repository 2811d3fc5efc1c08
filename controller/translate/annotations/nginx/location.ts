/**
 * Locations of nginx whose paths are regular expressions. In: the path of an Ingress. Out: the match for
 * the requests that `location ~* "^PATH"` takes, and what is wrong with a path that cannot be matched.
 */
import type { PathMatch } from "../../../../shared/snapshot/types.ts";
import type { TextMemo } from "../../../base/text_memo.ts";
import type { Profile } from "../../model/profile.ts";
import { inProfile } from "../../model/route_place.ts";
import { PCRE, readPcre } from "./pcre_pattern.ts";

export interface Location {
  readonly match: PathMatch;
  /** Why the match is broader than the path, and its requests get 500; null where it is not. */
  readonly fault: string | null;
}

/**
 * @param profile Whether it is compared with decoded paths, as there.
 * @param memo Of expressions that were read before.
 */
export function regexLocation(path: string, profile: Profile, memo?: TextMemo): Location {
  const reading = memo === undefined ? readPcre(path, profile) : memo.of(PCRE[profile], path);
  return reading.ok
    ? { match: matchOf(reading.pattern.location, path, profile), fault: null }
    : { match: matchOf(broader(path), path, profile), fault: reading.reason };
}

function matchOf(value: string, written: string, profile: Profile): PathMatch {
  return inProfile({ type: "Regex", value, written }, profile);
}

/** All that the path may be meant for: what begins as it does. */
function broader(path: string): string {
  const reading = readPcre(startOf(path), "nginx");
  return reading.ok ? reading.pattern.location : ".*";
}

/**
 * How everything begins that the location may take, in any case: the path up to the first character with a
 * meaning of its own, "" where that cannot be told. Behind a `|` at the top, nginx finds its path anywhere.
 */
export function startOf(path: string): string {
  if (hasAlternatives(path)) return "";
  const [start] = /^[\w/~%&=:@!,;'-]*/.exec(path.slice(0, MAX_START))!;
  const isQuantified = QUANTIFIER.test(path.slice(start.length));
  // Of either form of a path: what a decoded one has no escapes for is left out here.
  return /^[^%]*/.exec(isQuantified ? start.slice(0, -1) : start)![0];
}

/** What may allow none of the character before it; a comment, `\E` and `\Q\E` may stand between. */
const QUANTIFIER = /^(?:[*?{]|\(\?#|\\[EQ])/;

/** Of the start of a path that is too long as a whole. */
const MAX_START = 64;

/**
 * One piece of an expression, as PCRE takes it to pieces: an escape, a class, how a group begins or ends,
 * options, or another character. Pieces that hide what is in them are none: `\Q`, `\c`, comments, classes
 * that begin with `]`, also behind `\E`, which means nothing there, and classes of their own within a class.
 * Nor is `\\`, of which nginx makes one backslash where ingress-nginx does not write it as two.
 */
const PIECE =
  /\\[^cQ\\]|\[(?!\^?(?:\]|\\E))\^?(?:\\[^cQ\\]|[^\\[\]])+\]|\(\?(?:[:=!>|]|<[=!]|P?<\w+>|'\w+'|[imsnJU^-]+[:)])|\((?![?*])|[^\\[(]/suy;

/** Whether a `|` stands outside of all groups; true where that cannot be told. */
function hasAlternatives(path: string): boolean {
  if (!path.includes("|")) return false;
  const piece = new RegExp(PIECE);
  let depth = 0;
  while (piece.lastIndex < path.length) {
    const found = piece.exec(path)?.[0];
    if (found === undefined) return true;
    if (found === ")") depth--;
    else if (found[0] === "(" && !found.endsWith(")")) depth++;
    else if (found === "|" && depth <= 0) return true;
  }
  return depth !== 0;
}
