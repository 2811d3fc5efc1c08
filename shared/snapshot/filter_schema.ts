/**
 * Schemas of the filters of a snapshot, and of traces. In: nothing. Out: one object for each kind, and
 * their union; and what filters of all routes share.
 */
import Type from "typebox";
import {
  changeableHeader,
  headerValue,
  hostText,
  network,
  realmText,
  redirectedPath,
  redirectLocation,
  subrequestMethod,
  targetText,
  templateVariable,
} from "./leaves.ts";
import { formed, object, TRUE_OR_MISSING } from "./schema_hints.ts";
import { MAX_TIMEOUT } from "./setting_values.ts";

const HEADER_LINE = object(
  { name: formed(changeableHeader), value: formed(headerValue) },
  { strict: true },
);

const HEADER_CHANGE = {
  /** In place of all that have the name. */
  set: Type.Optional(Type.Array(HEADER_LINE)),
  add: Type.Optional(Type.Array(HEADER_LINE)),
  remove: Type.Optional(Type.Array(formed(changeableHeader))),
};

const REQUEST_HEADERS = object(
  { kind: Type.Literal("request-headers"), ...HEADER_CHANGE },
  { strict: true },
);

const RESPONSE_HEADERS = object(
  { kind: Type.Literal("response-headers"), ...HEADER_CHANGE },
  { strict: true },
);

/** A text with values of a request; a result that would end a line, or has blanks, is an error. */
const TEMPLATE = Type.Array(
  Type.Union([
    object({ kind: Type.Literal("text"), text: formed(targetText) }, { strict: true }),
    /** A variable of nginx. */
    object({ kind: Type.Literal("variable"), name: formed(templateVariable) }, { strict: true }),
  ]),
  { minItems: 1 },
);

/**
 * A subrequest that decides: a response with 2xx admits the request, 401 and 403 reject it, and
 * everything else is an error (500).
 */
const EXTERNAL = object({
  scheme: Type.Enum(["http", "https"]),
  /** Host and port of the URL. */
  authority: TEMPLATE,
  /** Path and query of the URL. */
  target: TEMPLATE,
  /** Of who writes the filter: hosts with variables may be those of its routes alone. */
  namespace: Type.String(),
  /** Id of the upstream that gets the subrequests; missing: a host of routes, inside the process. */
  upstream: Type.Optional(Type.String({ minLength: 1 })),
  /** Where routes name the host, the subrequests are theirs, and not the upstream's. */
  ownHostsFirst: TRUE_OR_MISSING,
  /** Missing: GET. */
  method: Type.Optional(formed(subrequestMethod)),
  /** Clients are redirected there in place of a 401: a URL, or an absolute path. */
  signin: Type.Optional(TEMPLATE),
  /** X-Auth-Request-Redirect of the subrequest; missing: the target of the request. */
  requestRedirect: Type.Optional(TEMPLATE),
  /**
   * Headers of the response that the upstream of the request gets, in place of the client's. Those that
   * the proxy sets are refused by the controller alone: a kept part of an older configuration may have some,
   * and a proxy that rejects it would take no further change.
   */
  responseHeaders: Type.Optional(Type.Array(formed(changeableHeader), { minItems: 1 })),
  /** Clients get its Set-Cookie whatever the status of the response; missing: not with errors. */
  alwaysSetCookie: TRUE_OR_MISSING,
  /** Responses are kept; missing: none is, and no two requests share one. */
  cache: Type.Optional(object({
    /** It must have a credential of the client. */
    key: TEMPLATE,
    /** In ms; of several for a status the first counts. */
    durations: Type.Array(
      object({
        statuses: Type.Array(Type.Integer({ minimum: 200, maximum: 499 }), { minItems: 1 }),
        time: Type.Integer({ minimum: 1 }),
      }, { strict: true }),
      { minItems: 1 },
    ),
  }, { strict: true })),
}, { strict: true });

/** Who may send requests: others get 403. Only redirects come before. */
const ACCESS = object({
  kind: Type.Literal("access"),
  /** Networks whose clients are rejected; it counts before `allow`. */
  deny: Type.Optional(Type.Array(formed(network), { minItems: 1 })),
  /** Networks whose clients are admitted; missing: all. */
  allow: Type.Optional(Type.Array(formed(network), { minItems: 1 })),
  /** Clients need a login of these credentials. */
  basic: Type.Optional(object({
    /** The id of one of `Snapshot.credentials`; without it, requests get 500. */
    credentials: Type.String({ minLength: 1 }),
    /** Of the challenge; may be empty. */
    realm: formed(realmText),
  }, { strict: true })),
  /** The id of credentials without which requests get 503, as with `basic`; no login of them is asked for. */
  requiredUsers: Type.Optional(Type.String({ minLength: 1 })),
  external: Type.Optional(EXTERNAL),
  /** One check that admits is enough; missing: all must. */
  satisfy: Type.Optional(Type.Literal("any", { remedy: "remove it: all checks must admit" })),
}, { strict: true });

/** A redirect in place of the upstream's response; of several the first counts. */
const REDIRECT = object({
  kind: Type.Literal("redirect"),
  status: Type.Enum([301, 302, 303, 307, 308]),
  /** A URL, or a path on the scheme, host and port that the client has requested. */
  location: formed(redirectLocation),
  /** The only path that is redirected; missing: all of the route. */
  path: Type.Optional(formed(redirectedPath)),
  /** The path of the request is decoded before it is compared; see `PATH_MATCH`. */
  decoded: TRUE_OR_MISSING,
  /** The query of the request follows the location; missing: it is left out. */
  keepsQuery: TRUE_OR_MISSING,
  /** A path stays one; missing: it becomes a URL. */
  isRelative: TRUE_OR_MISSING,
}, { strict: true });

/** Another URL in place of the requested one, whose query stays: the redirect of Gateway API. */
const REQUEST_REDIRECT = object({
  kind: Type.Literal("request-redirect"),
  status: Type.Enum([301, 302, 303, 307, 308]),
  scheme: Type.Enum(["http", "https"]),
  /** Missing: the requested one. */
  host: Type.Optional(formed(hostText)),
  /** Missing: that of the scheme. */
  port: Type.Optional(Type.Integer({ minimum: 1, maximum: 65535 })),
  /** Missing: the requested one. */
  path: Type.Optional(object({
    value: formed(redirectedPath),
    /** Only these first segments of the requested path are replaced; missing: all of it. */
    prefix: Type.Optional(formed(redirectedPath)),
  }, { strict: true })),
}, { strict: true });

/**
 * The time of a whole request, in ms: from its head until the last byte of its response; 504 after it.
 * Shorter time-outs of waiting for the backend (`send`, `responseHead`, `responseBody`) do not apply.
 */
const DEADLINE = object({
  kind: Type.Literal("deadline"),
  time: Type.Integer({ minimum: 1, maximum: MAX_TIMEOUT }),
}, { strict: true });

/** A redirect by 308 to the host with `www.`, or without it; a slash at the end of the URL is left out. */
const WWW_REDIRECT = object({
  kind: Type.Literal("www-redirect"),
  to: Type.Enum(["www", "bare"]),
}, { strict: true });

/** Host of requests to the upstream: its parts in one. */
const REQUEST_HOST = object({
  kind: Type.Literal("request-host"),
  parts: Type.Array(
    Type.Union([
      object({ kind: Type.Literal("text"), text: formed(hostText) }, { strict: true }),
      /** The host that the client has requested, in lower case and without port. */
      object({ kind: Type.Literal("host") }, { strict: true }),
      /** Host as the client has sent it. */
      object({ kind: Type.Literal("authority") }, { strict: true }),
    ]),
    { minItems: 1 },
  ),
}, { strict: true });

const REWRITE_PARTS = Type.Array(
  Type.Union([
    object({ kind: Type.Literal("text"), text: formed(targetText) }, { strict: true }),
    /** What a group of the pattern has matched; nothing where it is not there. */
    object(
      { kind: Type.Literal("group"), group: Type.Integer({ minimum: 1, maximum: 9 }) },
      { strict: true },
    ),
  ]),
  { minItems: 1 },
);

/** Another path, and query, for the upstream. */
const REWRITE = object({
  kind: Type.Literal("rewrite"),
  /** A regular expression that is searched in the path, for groups. */
  pattern: Type.Optional(Type.String()),
  /** The new path; with `redirects` the URL. */
  path: REWRITE_PARTS,
  /** Goes before the query of the request. */
  query: Type.Optional(REWRITE_PARTS),
  /** The query of the request is left out. */
  dropsQuery: Type.Optional(Type.Boolean()),
  /** Clients are redirected there by 302. */
  redirects: Type.Optional(Type.Boolean()),
  /** X-Forwarded-Prefix of the request for the upstream, in place of the client's. */
  forwardedPrefix: Type.Optional(REWRITE_PARTS),
  /** The pattern is searched in the decoded path, and the new one is escaped; see `PATH_MATCH`. */
  decoded: TRUE_OR_MISSING,
}, { strict: true });

/** X-Request-ID of clients, X-Scheme and the like, as ingress-nginx sends them to backends. */
const NGINX_FORWARDED_HEADERS = object(
  { kind: Type.Literal("nginx-forwarded-headers") },
  { strict: true },
);

/**
 * Rejects requests of `Snapshot.blockedClients` with 403, before all other filters. The list stands
 * there, and once: it is the same for thousands of routes. Without it, requests get 500.
 */
const BLOCKED_CLIENTS_FILTER = object({ kind: Type.Literal("blocked-clients") }, { strict: true });

/** Strict-Transport-Security over TLS, in place of the upstream's. */
const HSTS = object({
  kind: Type.Literal("hsts"),
  /** In seconds. */
  maxAge: Type.Integer({ minimum: 0 }),
  includeSubDomains: Type.Optional(Type.Boolean()),
}, { strict: true });

/** One vocabulary for annotations, filters of the Gateway API and policies. */
export const FILTER = Type.Union([
  REQUEST_HEADERS,
  RESPONSE_HEADERS,
  ACCESS,
  REDIRECT,
  REQUEST_REDIRECT,
  WWW_REDIRECT,
  REQUEST_HOST,
  REWRITE,
  NGINX_FORWARDED_HEADERS,
  HSTS,
  BLOCKED_CLIENTS_FILTER,
  DEADLINE,
]);

/** What one line of a header is compared with. */
const CLIENT_PATTERN = object({
  /**
   * Exact: the whole line, without case; its value is in lower case, one character for each byte, and
   * empty for no line. Regex: one that matches a part of a line that is not empty, as in `ROUTE_MATCH`.
   */
  type: Type.Enum(["Exact", "Regex"]),
  value: Type.String(),
}, { strict: true });

/** Clients that the filter `blocked-clients` rejects: one entry that matches is enough. */
export const BLOCKED_CLIENTS = object({
  networks: Type.Optional(Type.Array(formed(network), { minItems: 1 })),
  /** Of User-Agent. */
  userAgents: Type.Optional(Type.Array(CLIENT_PATTERN, { minItems: 1 })),
  /** Of Referer. */
  referers: Type.Optional(Type.Array(CLIENT_PATTERN, { minItems: 1 })),
}, { strict: true });

/** How the requests of a route are traced. */
export const TRACING = object({
  /** Only ever false: no spans are made, and trace headers of clients pass. */
  enabled: Type.Optional(Type.Literal(false, {
    remedy: "remove it: requests are traced unless it is false",
  })),
  /** Of the request's span; missing: method and path of the route. */
  name: Type.Optional(Type.String({ minLength: 1, maxLength: 256 })),
  /** Whether the traceparent of any client counts, or of none; missing: that of trusted proxies. */
  trust: Type.Optional(Type.Boolean()),
}, { strict: true });
