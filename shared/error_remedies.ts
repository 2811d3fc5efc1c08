/** What to do about each way in which an exchange can fail. In: nothing. Out: one sentence or two a code. */
import type { ErrorCode } from "./error_kinds.ts";

const CLIENT = "Correct the client; the proxy rejects the request before any backend gets it.";
const SEE_LIMITS = "docs/flags.md has the limits of the proxy.";

export const ERROR_REMEDIES: Readonly<Record<ErrorCode, string>> = {
  bad_request: CLIENT,
  bad_framing:
    "Correct the client: it sends Content-Length and Transfer-Encoding together, or several lengths.",
  bad_host: "Send one Host header (or :authority) with a valid name.",
  bad_target: "Send an absolute path, or in HTTP/1.1 a whole URL, with valid escapes.",
  bad_chunk: CLIENT,
  unauthorized: "Send valid credentials. The users are those of auth-secret, or of auth-url.",
  forbidden: "Add the address of the client to the allow list, or remove it from the deny list.",
  no_route:
    "Check host and path with pingress explain, and whether the Ingress is of a served class.",
  method_refused: "Use another method: CONNECT and TRACE are not forwarded.",
  head_timeout: "Check the network of the client. The flag is --request-head-timeout.",
  body_timeout: "Check the network of the client. The flags are --body-timeout and --body-rate.",
  body_too_large: "Raise proxy-body-size of the Ingress, or --body-limit of the proxies.",
  target_too_long: `Shorten the URL. ${SEE_LIMITS}`,
  too_much_matching:
    "Shorten the URL. If it is one that users need, write simpler regular expressions: fewer for the host, and in each fewer repetitions that can match the same characters.",
  bad_expectation: "Send no Expect header but 100-continue.",
  misdirected:
    "Nothing, with browsers: they open another connection. Other clients must not reuse a connection for a host that its certificate does not name.",
  too_many_bodies:
    "Raise --bodies-per-address if many clients share the address, or add it to --trusted-proxies.",
  logins_busy:
    "Find clients with many wrong logins (status 401) in the access log and deny their addresses. If the logins are right, use hashes that take less CPU, such as bcrypt with cost 10.",
  head_too_large: `Send smaller headers or cookies. ${SEE_LIMITS}`,
  deadline_passed: "Raise the timeout of the route or of the client, or make the backend faster.",
  coding_unknown: "Send no Transfer-Encoding but chunked.",
  loop_detected:
    "Remove the endpoint that leads back to the proxy; the field endpoint of the access log names it.",
  bad_version: "Use HTTP/1.0, HTTP/1.1 or HTTP/2.",
  handshake_failed: "Check that the client supports TLS 1.2 or newer, and trusts the certificate.",
  client_gone:
    "Nothing, if it is rare. Otherwise compare the timeout of the client with durationMs.",
  tunnel_idle: "Send pings, or raise --tunnel-idle-timeout.",
  client_stalled: "Check the network of the client.",
  route_broken: "Correct the Ingress: its problem in the Events and on /problems says how.",
  route_closed:
    "Correct the Ingress: a setting that protects the path is not supported or not valid, as its problem says.",
  overloaded: "Add proxies or CPU, or raise the limit that the log of the proxy names.",
  auth_failed: "Check the program of auth-url: it cannot be reached, or replies with an error.",
  internal: "Report it as a bug, with the log of the proxy.",
  connect_failed:
    "Check that the pods of the Service listen on its targetPort, and network policies.",
  upstream_untrusted:
    "Reference the CA of the backend's certificate, and the name that it has; see docs/tls.md.",
  upstream_refused: "Check the log of the proxy: the address of the endpoint is not permitted.",
  upstream_closed:
    "Check the log of the pod, and that its keep-alive timeout exceeds that of the proxy.",
  upstream_malformed:
    "Check the protocol of the backend: set appProtocol of the Service's port, or backend-protocol.",
  no_endpoint: "Check whether pods match the selector of the Service and are ready.",
  upstream_timeout: "Make the backend faster, or raise proxy-read-timeout of the Ingress.",
};
