/**
 * Texts of a snapshot that have a form of their own. In: a text. Out: the one form that it has in a
 * snapshot, or what is wrong with it and what to write.
 */
import { isIP } from "node:net";
import { parseHostPattern } from "../host/host_pattern.ts";
import { isLoopMark } from "../loop_mark.ts";
import { CidrList } from "../net/cidr.ts";
import { isToken } from "../path/requested_url.ts";
import { describe } from "./config_check.ts";
import { isProxyHeader } from "../path/proxy_headers.ts";
import { isTemplateVariable } from "../path/template_variables.ts";

export type LeafReading =
  | { readonly ok: true; readonly value: string }
  /** Clauses without a full stop. */
  | { readonly ok: false; readonly message: string; readonly remedy: string };

export interface Leaf {
  readonly read: (text: string) => LeafReading;
  /** Whether the text is in its one form already. */
  readonly isCanonical: (text: string) => boolean;
}

/** A text with one form: it is as it should be, or wrong. */
function plain(isGood: (text: string) => boolean, what: string, remedy: string): Leaf {
  return {
    isCanonical: isGood,
    read: (text) =>
      isGood(text)
        ? { ok: true, value: text }
        : { ok: false, message: `${describe(text)} is ${what}`, remedy },
  };
}

function normalised(read: (text: string) => LeafReading): Leaf {
  return {
    read,
    isCanonical: (text) => {
      const reading = read(text);
      return reading.ok && reading.value === text;
    },
  };
}

/** A host pattern: lower case, no trailing dot. */
export const routeHost: Leaf = normalised((text) => {
  const pattern = parseHostPattern(text);
  return pattern.ok ? { ok: true, value: pattern.host } : {
    ok: false,
    message: `the host ${describe(text)} ${pattern.reason}`,
    remedy: "write a name such as app.example.com, *.example.com, or * for any host",
  };
});

/** As `routeHost`, but never any host. */
export const certificateHost: Leaf = normalised((text) =>
  text === "*"
    ? {
      ok: false,
      message: "a certificate is not for any host",
      remedy: "write its id into $.defaultCertificate instead",
    }
    : routeHost.read(text)
);

/** Names as resolvers take them, which is more than hosts: `_` occurs, and a last dot is a right. */
const RESOLVABLE = /^[A-Za-z0-9_-]{1,63}(?:\.[A-Za-z0-9_-]{1,63})*\.?$/;
const MAX_NAME = 254;

/** Whether a resolver may be asked for the name. Addresses are names of themselves. */
export function isResolvableName(name: string): boolean {
  return (name.length <= MAX_NAME && RESOLVABLE.test(name)) || isIP(name) !== 0;
}

export const resolvableName: Leaf = plain(
  isResolvableName,
  "no name that can be resolved",
  "write a host name without scheme and port",
);

export const serverName: Leaf = plain(
  isResolvableName,
  "not a valid name in a certificate",
  "write a DNS name or an IP address",
);

/** `isIP` takes `fe80::1%eth0`, but an interface's name means nothing on another machine. */
export const endpointAddress: Leaf = plain(
  (text) => isIP(text) !== 0 && !text.includes("%"),
  "no IP address",
  "write an IPv4 or IPv6 address without brackets",
);

/** Decimal digits. */
export const revision: Leaf = plain(
  (text) => /^[0-9]+$/.test(text),
  "no resource version",
  "write decimal digits as a text",
);

export const loopMark: Leaf = plain(
  isLoopMark,
  "no mark for CDN-Loop",
  "write 1 to 64 letters, digits and hyphens, or leave it out",
);

/**
 * An address or a network. One that is left out would be allowed, so a wrong one refuses. Lists of flags may
 * have blanks, but who reads these one by one throws for them.
 */
export const network: Leaf = plain(
  (text) => /^[^,\s]+$/.test(text) && typeof CidrList.parse(text) !== "string",
  "no address or network",
  "write an address such as 192.0.2.1 or a network such as 10.96.0.0/12",
);

/** RFC 9110 §9.1: methods are case-sensitive tokens. */
export const httpMethod: Leaf = plain(
  (text) => isToken(text),
  "no method",
  "write a method such as GET",
);

/** RFC 9110 §5.1: names of headers are compared without case; here they are in lower case. */
export const headerName: Leaf = normalised((text) =>
  isToken(text) ? { ok: true, value: text.toLowerCase() } : {
    ok: false,
    message: `${describe(text)} is no name of a header`,
    remedy: "write letters, digits and hyphens",
  }
);

/** The name of a header that a filter may set, add or remove. */
export const changeableHeader: Leaf = normalised((text) => {
  const name = headerName.read(text);
  if (!name.ok || !isProxyHeader(name.value)) return name;
  return {
    ok: false,
    message: `${describe(text)} is a header that the proxy writes itself`,
    remedy: "remove it from the filter",
  };
});

/** RFC 9110 §5.5, in latin1: what would end the line, or be lost at its ends, is refused. */
export const headerValue: Leaf = plain(
  (text) => /^[\t\x20-\x7e\x80-\xff]*$/.test(text) && !/^[ \t]|[ \t]$/.test(text),
  "no value of a header",
  "write visible characters of latin1, without blanks at both ends",
);

/** Only visible ASCII: nothing of it ends the line. `//host` would be a host, not a path. */
export const redirectLocation: Leaf = plain(
  (text) => /^(?:https?:\/\/[-\w.[]|\/(?![/\\]))[\x21-\x7e]*$/i.test(text),
  "no location of a redirect",
  "write a URL with http or https, or an absolute path",
);

export const redirectedPath: Leaf = plain(
  (text) => /^\/[\x21-\x7e]*$/.test(text),
  "no path",
  "write an absolute path",
);

/** A part of an authority (RFC 3986 §3.2). */
export const hostText: Leaf = plain(
  (text) => /^[-.:\w[\]]+$/.test(text),
  "no part of a host",
  "write letters, digits, dots, hyphens and colons",
);

/** A realm (RFC 7617 §2), between quotation marks in a header. */
export const realmText: Leaf = plain(
  (text) => /^[\x20-\x7e]{0,4096}$/.test(text),
  "no realm",
  "write visible characters of ASCII and blanks",
);

/** A part of a path, a query or a URL: nothing of it ends a line or begins another part. */
export const targetText: Leaf = plain(
  (text) => /^[\x21-\x7e]+$/.test(text),
  "no part of a target",
  "write visible characters of ASCII",
);

/** Only visible ASCII, as of a target; what a variable becomes is checked for each request. */
export const templateVariable: Leaf = plain(
  isTemplateVariable,
  "no variable that a proxy knows",
  "write the name of a variable of nginx such as request_uri",
);

/** What a subrequest is sent with: it has no body, and opens no tunnel. */
export const subrequestMethod: Leaf = plain(
  (text) => isToken(text) && text !== "CONNECT",
  "no method of a subrequest",
  "write a method such as GET",
);
