/** Keys about requests and responses: redirects, headers, time-outs, backends, compression. */
import { always, flag, NOT_YET, STREAMED } from "../annotations/nginx/rows/row.ts";
import {
  BOOL,
  HEADER_NAMES,
  int,
  LINE,
  ON_OFF,
  SIZE,
  STATUS_CODES,
  text,
  type ValueType,
} from "../annotations/nginx/rows/value.ts";
import { BUFFERS, TIMEOUTS } from "../annotations/nginx/rows/buffers.ts";
import { LIMITS } from "../annotations/nginx/rows/limits.ts";
import { REDIRECTS } from "../annotations/nginx/rows/redirects.ts";
import { defaultOf, guard, key, type KeyGroup, NGINX_ONLY, plain } from "./key.ts";

/** Seconds, with or without the unit. */
const TIME: Readonly<ValueType<string>> = text(/^\d{1,9}(?:ms|[smhdwMy])?$/, "time such as 60s");

export const REDIRECT_KEYS = {
  "ssl-redirect": defaultOf(
    REDIRECTS,
    "ssl-redirect",
    'redirects plain HTTP to HTTPS where the Ingress has TLS entries or the host a certificate; "true" by default',
  ),
  "force-ssl-redirect": defaultOf(
    REDIRECTS,
    "force-ssl-redirect",
    "redirects plain HTTP to HTTPS, for all hosts",
  ),
  "http-redirect-code": key({
    ...plain(
      int(301, 308),
      always("redirects to HTTPS have the status 308"),
      "sets the status of redirects to HTTPS",
    ),
    differenceOf: (status) => status === 308 ? null : "redirects to HTTPS have the status 308",
  }),
  "no-tls-redirect-locations": plain(
    LINE,
    NOT_YET,
    "exempts paths that begin with one of these from redirects to HTTPS",
  ),
  "app-root": plain(LINE, NOT_YET, "redirects / to this path"),
  "preserve-trailing-slash": defaultOf(
    REDIRECTS,
    "preserve-trailing-slash",
    "keeps the last slash in redirects",
  ),
  "use-port-in-redirects": defaultOf(
    REDIRECTS,
    "use-port-in-redirects",
    "writes the port into redirects",
  ),
} satisfies KeyGroup;

export const HEADER_KEYS = {
  "add-headers": guard(
    LINE,
    NOT_YET,
    "adds the headers of this ConfigMap to all responses",
    { closedRemedy: "Add the headers in the backends" },
  ),
  "proxy-set-headers": guard(
    LINE,
    NOT_YET,
    "sets the headers of this ConfigMap in requests to all backends",
  ),
  "hide-headers": guard(
    HEADER_NAMES,
    NOT_YET,
    "removes these headers from responses of backends",
    { closedRemedy: "Remove the headers in the backends" },
  ),
  "global-allowed-response-headers": plain(
    LINE,
    always("custom-headers closes its paths, whatever headers it names"),
    "lists the headers that custom-headers may set",
  ),
  "server-tokens": plain(BOOL, NGINX_ONLY, "sends the version of nginx in Server"),
  "allow-backend-server-header": plain(
    BOOL,
    NOT_YET,
    "passes the Server header of backends on to clients",
  ),
  "enable-underscores-in-headers": plain(
    BOOL,
    NOT_YET,
    "passes on headers with an underscore in their names",
  ),
  "ignore-invalid-headers": plain(
    BOOL,
    always("a request with a header that is no valid one gets 400"),
    "drops headers with invalid names",
  ),
  "generate-request-id": plain(
    BOOL,
    always("requests without an X-Request-ID get one"),
    "sets X-Request-ID where a request has none",
  ),
  "proxy-add-original-uri-header": plain(BOOL, NOT_YET, "sends X-Original-Uri to backends"),
  "default-type": plain(LINE, NGINX_ONLY, "sets the Content-Type of files"),
  "hsts": plain(BOOL, NOT_YET, "sends Strict-Transport-Security"),
  "hsts-include-subdomains": plain(BOOL, NOT_YET, "extends it to subdomains"),
  "hsts-max-age": plain(LINE, NOT_YET, "says for how many seconds browsers keep to it"),
  "hsts-preload": plain(BOOL, NOT_YET, "asks for the host to be in the list of browsers"),
  "custom-http-errors": plain(
    STATUS_CODES,
    NOT_YET,
    "replaces responses of these statuses by those of the default backend",
  ),
  "disable-proxy-intercept-errors": plain(BOOL, NOT_YET, "turns custom-http-errors off"),
} satisfies KeyGroup;

const CLIENT = "limits the size of the head of requests";

export const CLIENT_KEYS = {
  "client-header-buffer-size": plain(LINE, flag("The proxy has --request-head-limit"), CLIENT),
  "large-client-header-buffers": plain(LINE, flag("The proxy has --request-head-limit"), CLIENT),
  "client-header-timeout": plain(
    TIME,
    flag("The proxy has --request-head-timeout"),
    "limits the time for the head of a request",
  ),
  "client-body-timeout": plain(
    TIME,
    flag("The proxy has --body-timeout"),
    "limits the time between two reads of a request body",
  ),
  "keep-alive": plain(
    TIME,
    flag("The proxy has --client-idle-timeout"),
    "keeps connections of clients open for so many seconds",
  ),
  "keep-alive-requests": plain(
    int(0),
    flag("The proxy has --connection-request-limit"),
    "limits the requests on a connection",
  ),
  "http2-max-concurrent-streams": plain(
    int(1),
    flag("The proxy has --http2-stream-limit"),
    "limits the streams of a connection with HTTP/2",
  ),
  "http2-max-field-size": plain(LINE, flag("The proxy has --request-head-limit"), CLIENT),
  "http2-max-header-size": plain(LINE, flag("The proxy has --request-head-limit"), CLIENT),
  "http2-max-requests": plain(int(0), NGINX_ONLY, "limits the requests on a connection"),
  "use-http2": plain(BOOL, flag("The proxy has --http2"), "offers HTTP/2 to clients"),
} satisfies KeyGroup;

export const BACKEND_KEYS = {
  "proxy-body-size": defaultOf(
    LIMITS,
    "proxy-body-size",
    "limits the size of request bodies, where an Ingress has no limit of its own",
  ),
  "proxy-connect-timeout": defaultOf(
    TIMEOUTS,
    "proxy-connect-timeout",
    "limits the time for connections to backends",
  ),
  "proxy-read-timeout": defaultOf(
    TIMEOUTS,
    "proxy-read-timeout",
    "limits the time between two reads from a backend",
  ),
  "proxy-send-timeout": defaultOf(
    TIMEOUTS,
    "proxy-send-timeout",
    "limits the time between two writes to a backend",
  ),
  "proxy-next-upstream": defaultOf(
    TIMEOUTS,
    "proxy-next-upstream",
    "says after what another endpoint is tried",
  ),
  "proxy-next-upstream-timeout": defaultOf(
    TIMEOUTS,
    "proxy-next-upstream-timeout",
    "limits the time for all tries",
  ),
  "proxy-next-upstream-tries": defaultOf(TIMEOUTS, "proxy-next-upstream-tries", "limits the tries"),
  "retry-non-idempotent": plain(BOOL, NOT_YET, "tries again whatever the method"),
  "proxy-request-buffering": defaultOf(
    BUFFERS,
    "proxy-request-buffering",
    "reads request bodies before a backend is contacted",
  ),
  "client-body-buffer-size": defaultOf(
    BUFFERS,
    "client-body-buffer-size",
    "sets the buffer for request bodies",
  ),
  "proxy-http-version": plain(LINE, NOT_YET, "sets the version of HTTP for backends"),
  "proxy-buffering": plain(ON_OFF, STREAMED, "buffers responses"),
  "proxy-buffers-number": plain(int(0), STREAMED, "sets the number of buffers for responses"),
  "proxy-buffer-size": plain(SIZE, STREAMED, "sets the size of such a buffer"),
  "proxy-max-temp-file-size": plain(SIZE, STREAMED, "limits the size of buffered files"),
  "grpc-buffer-size-kb": plain(int(0), STREAMED, "sets the buffer for gRPC"),
  "proxy-cookie-domain": plain(LINE, NOT_YET, "changes Domain of cookies of backends"),
  "proxy-cookie-path": plain(LINE, NOT_YET, "changes Path of cookies of backends"),
  "proxy-redirect-from": plain(LINE, NOT_YET, "changes Location of backends that begins so"),
  "proxy-redirect-to": plain(LINE, NOT_YET, "says to what"),
  "proxy-ssl-location-only": plain(
    BOOL,
    always("proxy-ssl-* hold for the paths of their Ingress, as with true"),
    "sets proxy-ssl-* in each location, not in the server",
  ),
  "load-balance": plain(
    LINE,
    flag("The proxy has --balance, and Services the annotation pingress.io/balance"),
    "sets how endpoints are balanced",
  ),
  "service-upstream": plain(BOOL, NOT_YET, "sends requests to the address of the Service"),
  "upstream-hash-by": plain(LINE, NOT_YET, "chooses the endpoint by a hash of this text"),
  "upstream-hash-by-subset": plain(BOOL, NOT_YET, "chooses one of a subset"),
  "upstream-hash-by-subset-size": plain(int(0), NOT_YET, "sets the size of the subset"),
  "upstream-keepalive-connections": plain(
    int(0),
    flag("The proxy has --upstream-idle-limit"),
    "limits the idle connections to backends",
  ),
  "upstream-keepalive-timeout": plain(
    TIME,
    flag("The proxy has --upstream-idle-timeout"),
    "keeps them open for so many seconds",
  ),
  "upstream-keepalive-time": plain(TIME, NGINX_ONLY, "closes them after this time"),
  "upstream-keepalive-requests": plain(int(0), NGINX_ONLY, "limits the requests on one"),
} satisfies KeyGroup;

export const COMPRESSION_KEYS = {
  "use-gzip": plain(BOOL, NOT_YET, "compresses responses with gzip"),
  "gzip-disable": plain(LINE, NOT_YET, "exempts these clients"),
  "gzip-level": plain(int(1, 9), NOT_YET, "sets the level of gzip"),
  "gzip-min-length": plain(int(0), NOT_YET, "exempts shorter responses"),
  "gzip-types": plain(LINE, NOT_YET, "lists the types that gzip compresses"),
  "enable-brotli": plain(BOOL, NOT_YET, "compresses responses with Brotli"),
  "brotli-level": plain(int(0, 11), NOT_YET, "sets the level of Brotli"),
  "brotli-min-length": plain(int(0), NOT_YET, "exempts shorter responses"),
  "brotli-types": plain(LINE, NOT_YET, "lists the types that Brotli compresses"),
} satisfies KeyGroup;
