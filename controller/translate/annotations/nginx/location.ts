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

/**
 * All that the path may be meant for: what begins as it does up to the first character with a meaning of
 * its own. Behind a `|` at the top, nginx finds its path anywhere.
 */
function broader(path: string): string {
  const [start] = /^[\w/~%&=:@!,;'-]*/.exec(hasAlternatives(path) ? "" : path.slice(0, MAX_START))!;
  const next = path[start.length] ?? "";
  // Of either form of a path: what a decoded one has no escapes for is left out here.
  const [plain] = /^[^%]*/.exec("*?{".includes(next) ? start.slice(0, -1) : start)!;
  const reading = readPcre(plain, "nginx");
  return reading.ok ? reading.pattern.location : ".*";
}

/** Of the start of a path that is too long as a whole. */
const MAX_START = 64;

/** Whether a `|` stands outside of all groups; true where that cannot be told. */
function hasAlternatives(path: string): boolean {
  if (!path.includes("|")) return false;
  let depth = 0;
  let isClass = false;
  for (let i = 0; i < path.length; i++) {
    const char = path[i];
    if (char === "\\") i++;
    else if (isClass) isClass = char !== "]";
    else if (char === "[") isClass = true;
    else if (char === "(") depth++;
    else if (char === ")") depth--;
    else if (char === "|" && depth <= 0) return true;
  }
  return depth !== 0 || isClass;
}
