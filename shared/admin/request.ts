/**
 * The head of a request to the admin port. In: its text. Out: method, URL and fields, or why it is
 * refused. Stricter than RFC 9112 asks where that is simpler: those who ask here are few.
 */

export interface AdminRequest {
  /** As it came: nothing is known of it but that it is a token. */
  readonly method: string;
  /** Its host is what the client named, `UNNAMED_HOST` where it named none. */
  readonly url: URL;
  readonly headers: Headers;
  /** Of HTTP/1: 0 knows no chunks. */
  readonly minorVersion: 0 | 1;
}

export type ParsedRequest =
  | { readonly ok: true; readonly request: AdminRequest }
  | { readonly ok: false; readonly reason: string };

/** The host of the URL of a request whose Host field is empty or, in HTTP/1.0, missing. */
export const UNNAMED_HOST = "unnamed.invalid";

const REQUEST_LINE = /^([!#$%&'*+.^_`|~\w-]+) ([!-~]+) HTTP\/1\.([01])$/;
const FIELD_LINE = /^([!#$%&'*+.^_`|~\w-]+):([\t -~\x80-\xff]*)$/;
const AUTHORITY = /^(?:\[[\da-fA-F:.]+\]|[\w.-]+)(?::\d*)?$/;

/** Reads the lines of a head, decoded as Latin-1, without the empty line that ends it. */
export function parseAdminRequest(head: string): ParsedRequest {
  const [requestLine, ...fieldLines] = head.split("\r\n");
  const start = REQUEST_LINE.exec(requestLine);
  if (start === null) return refused("The request line is none of HTTP/1");
  const [, method, target, minor] = start;
  const headers = new Headers();
  const hosts: string[] = [];
  for (const line of fieldLines) {
    const field = FIELD_LINE.exec(line);
    if (field === null) return refused("A field line is malformed");
    const value = field[2].trim();
    if (field[1].toLowerCase() === "host") hosts.push(value);
    headers.append(field[1], value);
  }
  // RFC 9112, 3.2: exactly one, which HTTP/1.0 alone may leave out.
  if (hosts.length !== 1 && !(hosts.length === 0 && minor === "0")) {
    return refused("There must be one Host field");
  }
  const url = requestedUrl(target, hosts[0] ?? "");
  if (url === null) return refused("Host field and target name no URL");
  return { ok: true, request: { method, url, headers, minorVersion: minor === "0" ? 0 : 1 } };
}

/** RFC 9112, 3.3: an absolute target wins over the Host field. Null where they make no URL. */
function requestedUrl(target: string, host: string): URL | null {
  if (host !== "" && !AUTHORITY.test(host)) return null;
  if (/^https?:\/\//i.test(target)) return URL.parse(target);
  if (!target.startsWith("/")) return null;
  return URL.parse(`http://${host || UNNAMED_HOST}${target}`);
}

function refused(reason: string): ParsedRequest {
  return { ok: false, reason };
}
