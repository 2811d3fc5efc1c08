/**
 * Texts with variables of nginx, such as `https://$host/oauth2/auth`. In: the text of a value. Out: its
 * literals and variables, or null where it names a variable that is not known here.
 *
 * A template is never text of a program: a variable becomes the value of one request, and nothing else.
 */
import type { ValueType } from "./value.ts";

export type TemplatePart =
  | { readonly kind: "literal"; readonly text: string }
  | { readonly kind: "variable"; readonly name: string };

const MAX_TEMPLATE = 4096;

const VARIABLES: ReadonlySet<string> = new Set([
  ...["args", "best_http_host", "content_length", "content_type", "document_uri"],
  ...["escaped_request_uri", "host", "http_host", "ingress_name", "is_args", "literal_dollar"],
  ...["location_path", "namespace", "pass_access_scheme", "proxy_add_x_forwarded_for"],
  ...["query_string", "remote_addr", "remote_port", "req_id", "request_id", "request_method"],
  ...["request_uri", "scheme", "server_name", "server_port", "service_name", "service_port"],
  ...["ssl_client_cert", "ssl_client_i_dn", "ssl_client_s_dn", "ssl_client_verify", "uri"],
]);

/** `host` or `{host}`. */
const NAME = /^(?:(\w+)|\{(\w+)\})/;
const MAX_NAME = 80;

/** Families of variables: arguments, cookies and headers of the request. */
const FAMILY = /^(?:arg|cookie|http)_\w{1,64}$/;

/** Null for an unknown variable, a `$` without a name, and control characters. */
export function parseTemplate(text: string): readonly TemplatePart[] | null {
  if (text.length > MAX_TEMPLATE || /\p{Cc}/u.test(text)) return null;
  const parts: TemplatePart[] = [];
  let at = 0;
  for (;;) {
    const dollar = text.indexOf("$", at);
    const literal = text.slice(at, dollar < 0 ? text.length : dollar);
    if (literal !== "") parts.push({ kind: "literal", text: literal });
    if (dollar < 0) return parts;
    const name = NAME.exec(text.slice(dollar + 1, dollar + 1 + MAX_NAME));
    const variable = name?.[1] ?? name?.[2];
    if (variable === undefined || !(VARIABLES.has(variable) || FAMILY.test(variable))) return null;
    parts.push({ kind: "variable", name: variable });
    at = dollar + 1 + name![0].length;
  }
}

/** Text that may hold variables. */
export const TEMPLATE: ValueType<readonly TemplatePart[]> = {
  what: "text with variables",
  read: parseTemplate,
  hasOff: false,
  refersTo: null,
};

/** The scheme and the beginning of the host may not come from a request. */
export const URL_TEMPLATE: ValueType<readonly TemplatePart[]> = {
  ...TEMPLATE,
  what: "http or https URL with variables",
  read: (text) =>
    /^https?:\/\/[^/?#\s]/i.test(text) && !/\s/.test(text) ? parseTemplate(text) : null,
};

/** Variables of the client's host, and of the Ingress. */
const HOST_VARIABLES: ReadonlySet<string> = new Set([
  ...["best_http_host", "host", "http_host", "namespace"],
]);

/** A host that may be made of the client's. */
export const HOST_TEMPLATE: ValueType<readonly TemplatePart[]> = {
  ...TEMPLATE,
  what: "host, which may have $host, $http_host and $namespace",
  read: (text) => {
    const parts = parseTemplate(text);
    return parts?.every((part) =>
        part.kind === "variable" ? HOST_VARIABLES.has(part.name) : /^[-.:\w[\]]+$/.test(part.text)
      )
      ? parts
      : null;
  },
};
