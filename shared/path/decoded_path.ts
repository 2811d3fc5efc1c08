/**
 * Paths as nginx compares them: its `$uri`. In: the path of a request's target as it was received, or of
 * a route. Out: its bytes, each as one character, with escapes decoded once (`%2F` too), slashes merged
 * and dot segments resolved.
 *
 * Only to be compared: it is not what a backend gets.
 *
 * https://nginx.org/en/docs/http/ngx_http_core_module.html#location
 */

/**
 * The path of a request, in time that is linear in its length; nearly every one is returned as the same
 * string. Null for one that nginx responds to with 400: above the root, or with a broken escape or `%00`.
 *
 * @param staysAtRoot Whether what leads above the root ends there instead, as other servers have it.
 */
export function decodedPath(received: string, staysAtRoot = false): string | null {
  const decoded = withoutEscapes(received);
  if (decoded === null) return null;
  const merged = decoded.includes("//") ? decoded.replace(/\/{2,}/g, "/") : decoded;
  return merged.includes("/.") ? withoutDotSegments(merged, staysAtRoot) : merged;
}

/** The path of a route, in which slashes and dots stand for themselves. */
export function decodedRoutePath(canonical: string): string {
  return withoutEscapes(canonical) ?? canonical;
}

/** As a request's target has it: the canonical path that `decodedPath` makes this one of. */
export function escapedPath(decoded: string): string {
  return decoded.replace(/[^!-~]|[#%?\\]/g, escapeOf);
}

/** Of a byte. */
export function escapeOf(char: string): string {
  return `%${char.charCodeAt(0).toString(16).toUpperCase().padStart(2, "0")}`;
}

function withoutEscapes(path: string): string | null {
  if (!path.includes("%")) return path;
  if (/%(?![\da-f]{2})|%00/i.test(path)) return null;
  return path.replace(
    /%([\da-f]{2})/gi,
    (_, digits: string) => String.fromCharCode(parseInt(digits, 16)),
  );
}

function withoutDotSegments(path: string, staysAtRoot: boolean): string | null {
  const segments = path.split("/");
  const kept = [""];
  for (let i = 1; i < segments.length; i++) {
    const segment = segments[i];
    if (segment !== "." && segment !== "..") {
      kept.push(segment);
      continue;
    }
    const isAtRoot = kept.length === 1;
    if (segment === ".." && isAtRoot && !staysAtRoot) return null;
    if (segment === ".." && !isAtRoot) kept.pop();
    if (i === segments.length - 1) kept.push("");
  }
  return kept.join("/");
}
