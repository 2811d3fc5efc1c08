/**
 * A URL as somebody would request it. In: text from a command line or an admin page. Out: host and path as they
 * reach the proxy: nothing but the fragment and the query is taken off, since what a client sends
 * and what it is matched as may differ, and that is worth explaining.
 */

export interface RequestedUrl {
  readonly scheme: "http" | "https";
  /** As for `RouteTable.match`: lower case, in ASCII, without port and last dot. */
  readonly host: string;
  /** Without query; bytes above ASCII escaped, as every client does. */
  readonly rawPath: string;
}

/** Scheme (another one than HTTP's is none), host with port, path. */
const URL_PARTS =
  /^(?:(https?):\/\/|(?![a-z][a-z0-9+.-]*:\/\/))([^/?#\\\s]+)(\/[^?#]*)?(?=[?#]|$)/i;

/** Null where the text is no URL. Without a scheme it is taken for http. */
export function parseRequestedUrl(text: string): RequestedUrl | null {
  const match = URL_PARTS.exec(text);
  if (match === null) return null;
  const [, scheme = "http", authority, path = "/"] = match;
  let hostname: string;
  try {
    const url = new URL(`http://${authority}`);
    if (url.username !== "" || url.password !== "" || url.pathname !== "/") return null;
    hostname = url.hostname;
  } catch {
    return null;
  }
  return {
    scheme: scheme.toLowerCase() === "https" ? "https" : "http",
    host: hostname.replace(/^\[(.*)\]$/, "$1").replace(/\.$/, ""),
    rawPath: path.replace(/[\u0080-\u{10ffff}]+/gu, escapeText),
  };
}

/** UTF-8 in escapes; lone surrogates, which have no UTF-8, as U+FFFD. */
function escapeText(text: string): string {
  return encodeURIComponent(text.toWellFormed());
}
