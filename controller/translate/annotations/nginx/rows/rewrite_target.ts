/**
 * The value of rewrite-target. In: its text. Out: the parts of the new path and query, or null where it
 * has variables other than the groups of a path.
 *
 * As nginx reads it: what follows `?` goes before the query of the request, and a `?` at the end drops
 * that; an http or https URL is redirected to. The text is no URL but a path as a backend sees it, so that
 * `%20` is a percent sign and two digits.
 *
 * https://nginx.org/en/docs/http/ngx_http_rewrite_module.html#rewrite
 */
import { isCanonicalPath } from "../../../../../shared/path/canonical_path.ts";
import type { ValueType } from "./value.ts";

export type RewritePart =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "group"; readonly group: number };

export interface RewriteTarget {
  readonly path: readonly RewritePart[];
  /** With neither `?` nor `&` at its ends; null for none. */
  readonly query: readonly RewritePart[] | null;
  /** Whether the query of the request is left out. */
  readonly dropsQuery: boolean;
  /** Whether it is a URL. */
  readonly redirects: boolean;
  /** Numbers of the groups that it needs. */
  readonly groups: ReadonlySet<number>;
}

const MAX_TEXT = 1024;

/** As ingress-nginx, and what follows `?`. */
const CHARACTERS = /^[-\w.~/:$?&=]+$/;

export const REWRITE_TARGET: ValueType<RewriteTarget> = {
  hasOff: false,
  refersTo: null,
  what: "absolute path, which may have $1 to $9, or http or https URL",
  read: readTarget,
};

function readTarget(text: string): RewriteTarget | null {
  if (text.length > MAX_TEXT || !CHARACTERS.test(text) || /\$(?![1-9])/.test(text)) return null;
  const redirects = /^https?:\/\/[-\w.]/i.test(text);
  const dropsQuery = text.endsWith("?");
  const whole = dropsQuery ? text.slice(0, -1) : text;
  const question = whole.indexOf("?");
  const written = question === -1 ? whole : whole.slice(0, question);
  if (!redirects && !/^(?:\/|\$[1-9])/.test(written)) return null;
  const path = partsOf(written);
  const query = question === -1 ? [] : partsOf(whole.slice(question + 1));
  const groups = groupsOf([...path, ...query]);
  if (!redirects && groups.size === 0 && !isCanonicalPath(written)) return null;
  return { path, query: query.length === 0 ? null : query, dropsQuery, redirects, groups };
}

/** Numbers of the groups that stand in some parts. */
export function groupsOf(parts: readonly RewritePart[]): ReadonlySet<number> {
  return new Set(parts.flatMap((part) => part.kind === "group" ? part.group : []));
}

/** Of x-forwarded-prefix: as ingress-nginx, but without variables other than groups. */
export const FORWARDED_PREFIX: ValueType<readonly RewritePart[]> = {
  hasOff: false,
  refersTo: null,
  what: "path, which may have $1 to $9",
  read: (text) =>
    text.length <= MAX_TEXT && /^(?:[-\w.~/:]|\$[1-9])+$/.test(text) ? partsOf(text) : null,
};

function partsOf(text: string): RewritePart[] {
  return text.split(/(\$[1-9])/).filter((part) => part !== "").map((part) =>
    /^\$[1-9]$/.test(part)
      ? { kind: "group", group: Number(part[1]) }
      : { kind: "text", text: part }
  );
}
