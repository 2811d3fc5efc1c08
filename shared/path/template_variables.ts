/**
 * Variables of texts that are made for each request, such as the URL of a subrequest. In: the name of a
 * variable of nginx. Out: whether a proxy knows its value.
 */

const KNOWN: ReadonlySet<string> = new Set([
  ...["args", "best_http_host", "content_length", "content_type", "document_uri"],
  ...["escaped_request_uri", "host", "http_host", "is_args", "literal_dollar"],
  ...["pass_access_scheme", "proxy_add_x_forwarded_for", "query_string", "remote_addr"],
  ...["remote_port", "req_id", "request_id", "request_method", "request_uri", "scheme"],
  ...["server_port", "uri"],
]);

/** Families of variables: arguments, cookies and headers of the request. */
const FAMILY = /^(?:arg|cookie|http)_\w{1,64}$/;

export function isTemplateVariable(name: string): boolean {
  return KNOWN.has(name) || FAMILY.test(name);
}

/** Whether the value of a variable is a credential of the client. */
export function isCredentialVariable(name: string): boolean {
  return name === "http_authorization" || name.startsWith("cookie_");
}
