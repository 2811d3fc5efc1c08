/**
 * Every way in which an exchange with a client can fail, as a value. In: nothing. Out: for each code
 * whose side it was, the status that a client gets, and a line for clients and logs.
 */

/** `downstream`: the client's doing; `upstream`: the backend's; `internal`: configuration or ours. */
export type Side = "downstream" | "upstream" | "internal";

interface ErrorKind {
  readonly side: Side;
  /** The status answered, or 0 where nobody is left to answer. */
  readonly status: number;
  /** For clients and logs: what happened, never an inner detail. */
  readonly text: string;
}

/** Every code there is. Stable: metrics and logs carry them. */
export const ERROR_KINDS = {
  bad_request: { side: "downstream", status: 400, text: "The request is malformed" },
  bad_framing: { side: "downstream", status: 400, text: "The request's length is ambiguous" },
  bad_host: { side: "downstream", status: 400, text: "The request's host is missing or malformed" },
  bad_target: { side: "downstream", status: 400, text: "The request's target is malformed" },
  bad_chunk: { side: "downstream", status: 400, text: "The request's body is malformed" },
  unauthorized: {
    side: "downstream",
    status: 401,
    text: "Credentials are missing, or are not valid",
  },
  forbidden: { side: "downstream", status: 403, text: "This client may not send requests here" },
  no_route: { side: "internal", status: 404, text: "No route for this host and path" },
  method_refused: { side: "downstream", status: 405, text: "This method is not served" },
  head_timeout: { side: "downstream", status: 408, text: "The request took too long to arrive" },
  body_timeout: { side: "downstream", status: 408, text: "The request's body stopped arriving" },
  body_too_large: { side: "downstream", status: 413, text: "The request's body is too large" },
  target_too_long: { side: "downstream", status: 414, text: "The request's target is too long" },
  too_much_matching: {
    side: "downstream",
    status: 414,
    text: "The request is too long for the regular expressions of its host",
  },
  bad_expectation: { side: "downstream", status: 417, text: "This expectation is not known" },
  misdirected: { side: "downstream", status: 421, text: "This connection is for another host" },
  too_many_bodies: {
    side: "downstream",
    status: 429,
    text: "Too many request bodies from this address are under way",
  },
  logins_busy: {
    side: "downstream",
    status: 503,
    text: "Too many logins are being verified; try again soon",
  },
  head_too_large: { side: "downstream", status: 431, text: "The request's fields are too large" },
  deadline_passed: {
    side: "downstream",
    status: 504,
    text: "The time for this request has passed",
  },
  coding_unknown: { side: "downstream", status: 501, text: "This transfer coding is not known" },
  loop_detected: { side: "internal", status: 508, text: "The request loops through this proxy" },
  bad_version: { side: "downstream", status: 505, text: "This version of HTTP is not served" },
  handshake_failed: { side: "downstream", status: 0, text: "The TLS handshake failed" },
  client_gone: { side: "downstream", status: 0, text: "The client went away" },
  tunnel_idle: { side: "downstream", status: 0, text: "Nothing moved through the tunnel" },
  client_stalled: { side: "downstream", status: 0, text: "The client stopped reading" },
  route_broken: { side: "internal", status: 500, text: "This route cannot be served" },
  route_closed: { side: "internal", status: 503, text: "This route is closed" },
  overloaded: { side: "internal", status: 503, text: "The proxy is overloaded; try again soon" },
  auth_failed: { side: "internal", status: 500, text: "The authentication could not be done" },
  internal: { side: "internal", status: 500, text: "Something went wrong here" },
  connect_failed: { side: "upstream", status: 502, text: "The backend cannot be reached" },
  upstream_untrusted: { side: "upstream", status: 502, text: "The backend is not trusted" },
  upstream_refused: { side: "upstream", status: 502, text: "The backend cannot be reached" },
  upstream_closed: { side: "upstream", status: 502, text: "The backend closed the connection" },
  upstream_malformed: {
    side: "upstream",
    status: 502,
    text: "The backend's response is malformed",
  },
  no_endpoint: { side: "upstream", status: 503, text: "No backend is ready" },
  upstream_timeout: { side: "upstream", status: 504, text: "The backend did not answer in time" },
} as const satisfies Record<string, ErrorKind>;

export type ErrorCode = keyof typeof ERROR_KINDS;
