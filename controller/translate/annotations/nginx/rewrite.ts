/**
 * Paths that are regular expressions, and paths that backends get in place of the client's. In: the
 * annotations of one Ingress. Out: whether they turn its hosts to regular expressions; and for a path
 * that is rewritten, the filter that does it.
 */
import type { FilterSpec } from "../../../../shared/snapshot/types.ts";
import type { TextMemo } from "../../../base/text_memo.ts";
import type { RegexWish, WrittenPath } from "../../model/source.ts";
import type { Profile } from "../../model/profile.ts";
import type { NginxAnnotations } from "./nginx_annotations.ts";
import { PCRE, readPcre } from "./pcre_pattern.ts";
import { PATHS } from "./rows/paths.ts";
import { groupsOf, type RewritePart, type RewriteTarget } from "./rows/rewrite_target.ts";

export type RewriteReading =
  | { readonly ok: true; readonly filter: FilterSpec }
  /** A clause about the path. */
  | { readonly ok: false; readonly reason: string };

/** What an Ingress asks for by `use-regex` and `rewrite-target`; null for neither. */
export function readRegexWish(annotations: NginxAnnotations): RegexWish | null {
  const target = annotations.textOf("rewrite-target") ?? "";
  // Of a value that closes the paths, these must be the ones that are meant.
  const isClosed = annotations.isCut("rewrite-target") ||
    (target !== "" && annotations.valueOf(PATHS, "rewrite-target") === null);
  const usesRegex = annotations.valueOf(PATHS, "use-regex") === true || isClosed;
  return usesRegex || target !== "" ? { usesRegex, target: target === "" ? null : target } : null;
}

/** What backends get of a request for a path that is rewritten. */
export interface RewriteWish {
  readonly target: RewriteTarget;
  /** X-Forwarded-Prefix; null leaves it as it is. */
  readonly forwardedPrefix: readonly RewritePart[] | null;
}

/** Null where no path is rewritten. */
export function readRewriteWish(annotations: NginxAnnotations): RewriteWish | null {
  const target = annotations.valueOf(PATHS, "rewrite-target");
  const forwardedPrefix = annotations.valueOf(PATHS, "x-forwarded-prefix");
  return target === null ? null : { target, forwardedPrefix };
}

/** Whether the Ingress itself says of a path that it is a regular expression. */
export function isRegex({ path }: WrittenPath, regex: RegexWish | null): boolean {
  return regex !== null && (regex.usesRegex || (regex.target !== null && regex.target !== path));
}

/**
 * Whether a path makes all of its host regular expressions: also a Prefix whose `rewrite-target` is the path
 * itself, as the location for what is below it has a slash more.
 */
export function asksForRegex(written: WrittenPath, regex: RegexWish | null): boolean {
  const { path, type } = written;
  return isRegex(written, regex) ||
    (regex?.target === path && type === "Prefix" && !path.endsWith("/"));
}

/**
 * The rewrite of requests for one path, which is a regular expression.
 * @param memo Of expressions that were read before.
 */
export function rewriteOf(
  wish: RewriteWish,
  path: string,
  profile: Profile,
  memo?: TextMemo,
): RewriteReading {
  const { target, forwardedPrefix } = wish;
  const { redirects, dropsQuery, path: parts, query } = target;
  const groups = forwardedPrefix === null
    ? target.groups
    : target.groups.union(groupsOf(forwardedPrefix));
  const filter = {
    kind: "rewrite" as const,
    path: parts,
    ...(query === null ? {} : { query }),
    ...(dropsQuery ? { dropsQuery } : {}),
    ...(redirects ? { redirects } : {}),
    ...(forwardedPrefix === null ? {} : { forwardedPrefix }),
    ...(profile === "nginx" ? { decoded: true as const } : {}),
  };
  if (groups.size === 0) return { ok: true, filter };
  const reading = memo === undefined ? readPcre(path, profile) : memo.of(PCRE[profile], path);
  if (!reading.ok) return reading;
  const { search, unsure } = reading.pattern;
  const repeated = [...groups].find((group) => unsure.has(group));
  return repeated === undefined
    ? { ok: true, filter: { ...filter, pattern: search } }
    : { ok: false, reason: `repeats the group $${repeated} of rewrite-target` };
}
