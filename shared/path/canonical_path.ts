/**
 * The one canonical path. In: the path of a request's target or of a route, without its query.
 * Out: the bytes that matching, filters, the log and the backend all see, or why it is refused.
 *
 * What is done (RFC 3986 §6.2.2): dot segments are resolved (§5.2.4) after escapes of unreserved
 * characters are decoded, so `/%2e%2e/` is `/../`; other escapes stay, with upper-case digits.
 * `%2F`, `%5C` and empty segments stay as they are, since backends may tell them apart, unless
 * `PathOptions` says otherwise. What a backend could read in two ways is refused: a path above the
 * root, escaped or raw control bytes, broken escapes, raw spaces, backslashes, `?`, `#` and bytes
 * above ASCII.
 */

/** For backends that do not tell apart what RFC 3986 does. */
export interface PathOptions {
  /**
   * Whether several slashes in a row become one, before dot segments are resolved, as nginx's
   * `merge_slashes` does: `/a//../b` is `/b` then, not `/a/b`.
   */
  readonly mergeSlashes: boolean;
  /** Whether a path with `%2F` or `%5C` is refused. */
  readonly refuseEscapedSlashes: boolean;
}

/** As RFC 3986 has it. */
const AS_WRITTEN: PathOptions = { mergeSlashes: false, refuseEscapedSlashes: false };

export type CanonicalPath =
  | { readonly ok: true; readonly path: string }
  | { readonly ok: false; readonly reason: string };

const HASH = 0x23;
const PERCENT = 0x25;
const DOT = 0x2e;
const SLASH = 0x2f;
const QUESTION = 0x3f;
const BACKSLASH = 0x5c;
const DELETE = 0x7f;

/**
 * Makes a path canonical. Time and memory are linear in its length, and a path that is canonical
 * already (nearly every one) is returned as the same string. The reason for a refusal is a clause
 * such as `has a broken escape at byte 4`, free of the path's own bytes, so it is safe to log.
 */
export function canonicalPath(raw: string, options: PathOptions = AS_WRITTEN): CanonicalPath {
  const { mergeSlashes, refuseEscapedSlashes } = options;
  if (isCanonicalPath(raw)) {
    if (refuseEscapedSlashes && hasEscapedSlash(raw)) return refused(ESCAPED_SLASH);
    return { ok: true, path: mergeSlashes ? mergedSlashes(raw) : raw };
  }
  if (raw.charCodeAt(0) !== SLASH) return refused("does not begin with a slash");
  let decoded = "";
  let copiedTo = 0;
  for (let i = 0; i < raw.length; i++) {
    const code = raw.charCodeAt(i);
    if (code !== PERCENT) {
      if (!isAllowedRaw(code)) return refused(`has ${nameRaw(code)} at byte ${i}`);
      continue;
    }
    const byte = (hexDigit(raw.charCodeAt(i + 1)) << 4) | hexDigit(raw.charCodeAt(i + 2));
    if (byte < 0) return refused(`has a broken escape at byte ${i}`);
    if (byte < 0x20 || byte === DELETE) {
      return refused(`has an escaped control byte at byte ${i}`);
    }
    decoded += raw.slice(copiedTo, i);
    decoded += isUnreserved(byte) ? String.fromCharCode(byte) : raw.slice(i, i + 3).toUpperCase();
    i += 2;
    copiedTo = i + 1;
  }
  decoded += raw.slice(copiedTo);
  if (refuseEscapedSlashes && hasEscapedSlash(decoded)) return refused(ESCAPED_SLASH);
  return resolveDotSegments(mergeSlashes ? mergedSlashes(decoded) : decoded);
}

/** Whether `canonicalPath` without options would return this very string. Allocates nothing. */
export function isCanonicalPath(path: string): boolean {
  if (path.charCodeAt(0) !== SLASH) return false;
  let segmentStart = 1;
  for (let i = 1; i < path.length; i++) {
    const code = path.charCodeAt(i);
    if (code === SLASH) {
      if (isDotSegment(path, segmentStart, i)) return false;
      segmentStart = i + 1;
    } else if (code === PERCENT) {
      if (!isCanonicalEscape(path, i)) return false;
      i += 2;
    } else if (!isAllowedRaw(code)) {
      return false;
    }
  }
  return !isDotSegment(path, segmentStart, path.length);
}

const ESCAPED_SLASH = "has an escaped slash or backslash";

/** `path` has whole escapes in upper case only, so every `%` begins one: `%252F` has none. */
function hasEscapedSlash(path: string): boolean {
  return path.includes("%2F") || path.includes("%5C");
}

function mergedSlashes(path: string): string {
  return path.includes("//") ? path.replace(/\/{2,}/g, "/") : path;
}

/** RFC 3986 §5.2.4 on a path that begins with a slash, but above the root is refused, not ignored. */
function resolveDotSegments(path: string): CanonicalPath {
  const segments = path.split("/");
  const kept = [""];
  for (let i = 1; i < segments.length; i++) {
    const segment = segments[i];
    if (segment !== "." && segment !== "..") {
      kept.push(segment);
      continue;
    }
    if (segment === "..") {
      if (kept.length === 1) return refused("leads above the root");
      kept.pop();
    }
    if (i === segments.length - 1) kept.push("");
  }
  return { ok: true, path: kept.join("/") };
}

/** Whether path[start, end) is `.` or `..`. */
function isDotSegment(path: string, start: number, end: number): boolean {
  const length = end - start;
  if (length !== 1 && length !== 2) return false;
  return path.charCodeAt(start) === DOT && path.charCodeAt(end - 1) === DOT;
}

/** Whether the escape at `at` is whole, in upper case, needed, and not of a control byte. */
function isCanonicalEscape(path: string, at: number): boolean {
  const high = path.charCodeAt(at + 1);
  const low = path.charCodeAt(at + 2);
  if (high > 0x46 || low > 0x46) return false;
  const byte = (hexDigit(high) << 4) | hexDigit(low);
  return byte >= 0x20 && byte !== DELETE && !isUnreserved(byte);
}

/** The digit's value; negative for anything else, NaN (past the end) included. */
function hexDigit(code: number): number {
  if (code >= 0x30 && code <= 0x39) return code - 0x30;
  const lower = code | 0x20;
  if (lower >= 0x61 && lower <= 0x66) return lower - 0x57;
  return -1;
}

/** RFC 3986 §2.3: letters, digits, `-`, `.`, `_`, `~`. */
function isUnreserved(code: number): boolean {
  const lower = code | 0x20;
  return (lower >= 0x61 && lower <= 0x7a) || (code >= 0x30 && code <= 0x39) ||
    code === 0x2d || code === DOT || code === 0x5f || code === 0x7e;
}

/** Visible ASCII but for the backslash, which some backends read as a slash, `?` and `#`. */
function isAllowedRaw(code: number): boolean {
  return code > 0x20 && code < DELETE && code !== BACKSLASH && code !== HASH && code !== QUESTION;
}

function nameRaw(code: number): string {
  switch (code) {
    case 0x20:
      return "a space";
    case BACKSLASH:
      return "a backslash";
    case HASH:
      return "a fragment";
    case QUESTION:
      return "a query";
  }
  return code >= 0x80 ? "a character above ASCII" : "a control byte";
}

function refused(reason: string): CanonicalPath {
  return { ok: false, reason };
}
