/**
 * Host patterns. In: what a user wrote as the host of a rule or of a certificate. Out: the form
 * that routes carry (`app.example.com`, `*.example.com`, `*`), or why it is none.
 */

export type HostPattern =
  | { readonly ok: true; readonly host: string }
  | { readonly ok: false; readonly reason: string };

/** RFC 1123 §2.1: letters, digits and inner hyphens; of any length, as the API server takes them. */
const LABEL = /^[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?$/;

/** RFC 1035 §2.3.4: 255 octets less the first length byte and the root. */
const MAX_NAME = 253;

/**
 * Reads a host pattern: lower-cased, one last dot removed. `*` is any host, and a star may stand
 * for the whole first label. The reason for a refusal is a clause such as `has an empty label`.
 */
export function parseHostPattern(raw: string): HostPattern {
  if (raw === "*") return { ok: true, host: raw };
  if (raw.length > MAX_NAME + 1) return refused(`is longer than ${MAX_NAME} characters`);
  const host = raw.endsWith(".") ? raw.slice(0, -1) : raw;
  if (host === "") return refused("is empty");
  if (host.length > MAX_NAME) return refused(`is longer than ${MAX_NAME} characters`);
  const labels = host.split(".");
  const first = labels[0] === "*" && labels.length > 1 ? 1 : 0;
  for (const label of labels.slice(first)) {
    if (label === "") return refused("has an empty label");
    if (label.includes("*")) return refused("has a star that is not its whole first label");
    if (!LABEL.test(label)) {
      return refused("has a label with other than letters, digits and inner hyphens");
    }
  }
  // Only now: a Kelvin sign, for one, would have become a k.
  return { ok: true, host: host.toLowerCase() };
}

function refused(reason: string): HostPattern {
  return { ok: false, reason };
}
