/**
 * The one schema of a snapshot, format 2. In: nothing. Out: for each part its fields in the order in
 * which they are written, what a value must be, and what to write in place of one that is not.
 *
 * Everything else about a part is derived from here: its type (`types.ts`), reading with messages
 * (`node_reader.ts`), JSON, equality and ids by content (`node_writer.ts`). A field is added in this
 * one place.
 */
import Type from "typebox";
import type { Secret } from "../redacted.ts";
import { BLOCKED_CLIENTS, FILTER, TRACING } from "./filter_schema.ts";
import {
  certificateHost,
  endpointAddress,
  headerName,
  httpMethod,
  loopMark,
  network,
  resolvableName,
  revision,
  routeHost,
  serverName,
} from "./leaves.ts";
import { isCanonicalPath, readRoutePath } from "./route_path.ts";
import { formed, object, TRUE_OR_MISSING } from "./schema_hints.ts";
import { BALANCES, MAX_RETRY_BODY, MAX_TIMEOUT, MAX_TRIES } from "./setting_values.ts";

const NAME = Type.String({ minLength: 1 });
const PORT = Type.Integer({ minimum: 1, maximum: 65535 });
const NONE = { missing: () => [] };
/** Ids of parts in other lists of the snapshot. */
const ID = NAME;

/** Where in the user's objects a part of the snapshot comes from. */
export const ORIGIN = object({
  kind: Type.String(),
  namespace: Type.String(),
  name: Type.String(),
  /** JSON path in that object, for example `spec.rules[0].http.paths[1]`. */
  field: Type.String(),
}, {
  missing: (path) => {
    return { kind: "File", namespace: "", name: "", field: path.replace(/\.origin$/, "") };
  },
});

/** Newer means: same epoch, no component of `seen` smaller and one larger. */
export const VERSION = object({
  /** UID of the namespace kube-system, or "file" without a cluster. */
  epoch: NAME,
  /** Highest resourceVersion (decimal digits) by kind. */
  seen: Type.Record(Type.String(), formed(revision)),
});

/** Of a file without one. */
export const VERSION_OF_FILE = { epoch: "file", seen: {} };

/**
 * Exact: equal to the canonical path. Prefix: whole segments (`/foo` takes `/foo`, `/foo/` and
 * `/foo/bar`, never `/foobar`); its value carries no last slash, except `/` itself. StringPrefix:
 * every path that begins with it. Regex: one that the whole path must match; `written` is the text of the
 * user that it was made from. Other values are canonical, as `shared/path/canonical_path.ts` makes them.
 * `decoded`: requests are compared by their path as nginx has it (`shared/path/decoded_path.ts`), with the
 * value's escapes decoded, and are forwarded with the path that the client has sent. On a host that also
 * has routes without it, both forms of a path must lead to the same route; others get 400.
 * `slash`, of a Prefix written with one at its end: requests without it are redirected there, to a URL or a path.
 */
export const PATH_MATCH = Type.Refine(
  object({
    type: Type.Enum(["Exact", "Prefix", "StringPrefix", "Regex"]),
    value: Type.String(),
    written: Type.Optional(Type.String()),
    decoded: TRUE_OR_MISSING,
    slash: Type.Optional(Type.Enum(["absolute", "relative"])),
  }, {
    strict: true,
    form: (match: { type: "Exact"; value: string }) => {
      const path = readRoutePath(match.type, match.value);
      return path.ok ? { ok: true, value: { ...match, ...path.match } } : {
        ok: false,
        field: "value",
        message: `the path ${path.reason}${path.tooLong ? "; its route is left out" : ""}`,
        remedy: path.tooLong ? "shorten it" : "write it as a client sends it",
        isLeftOut: path.tooLong,
      };
    },
  }),
  isCanonicalPath,
);

const VALUE_MATCH = Type.Enum(["Exact", "Regex"]);

/**
 * All conditions must hold. Regular expressions must match the whole value, in time that is linear in
 * its length: without lookaround, back references, and repetitions of more than 16 times. A route
 * whose expression does not compile answers 500.
 */
export const ROUTE_MATCH = object({
  path: PATH_MATCH,
  /** Compared with its case; missing: any. */
  method: Type.Optional(formed(httpMethod)),
  /** Sorted by name, each name once. Several lines of a header are one value, joined by ",". */
  headers: Type.Optional(Type.Array(
    object({ name: formed(headerName), type: VALUE_MATCH, value: Type.String() }, {
      strict: true,
    }),
    { minItems: 1, uniqueBy: ["name"] },
  )),
  /** Of parameters of the query the first value, decoded. Sorted by name, each name once. */
  query: Type.Optional(Type.Array(
    object({ name: NAME, type: VALUE_MATCH, value: Type.String() }, { strict: true }),
    { minItems: 1, uniqueBy: ["name"] },
  )),
}, { strict: true });

/** Send the request to one of some upstreams. */
export const FORWARD = object({
  kind: Type.Literal("forward"),
  backends: Type.Array(
    object({
      upstream: ID,
      /** Why its requests get 500, for logs and `explain`: then `upstream` need not exist. */
      fault: Type.Optional(NAME),
      /** Its share of the requests, of the sum of all; missing: 1. */
      weight: Type.Optional(Type.Integer({ minimum: 0, maximum: 1_000_000 })),
      /** Filters for its requests only, after those of the route. */
      filterSet: Type.Optional(ID),
      /** Settings of its requests, in place of the policy of the route. */
      policy: Type.Optional(ID),
    }, { strict: true }),
    { minItems: 1 },
  ),
  /** A backend without endpoints keeps its share of the requests, which get 503; missing: others get it. */
  keepsShares: TRUE_OR_MISSING,
}, { strict: true });

/** A local reply: 503 for a backend that is missing, 500 for a route that cannot be understood. */
export const REPLY = object({
  kind: Type.Literal("reply"),
  status: Type.Enum([404, 500, 503]),
  /** For logs and `explain`; never sent to a client. */
  reason: Type.String(),
  /** Only with 503: until somebody changes the route, so a client is not told to retry soon. */
  closed: TRUE_OR_MISSING,
}, { strict: true });

export const ACTION = Type.Union([FORWARD, REPLY]);

/** A match and the action that it leads to. */
export const ROUTE = object({
  /** Unique and stable: `<host> <path type> <path>`, for example `app.example.com Prefix /api`. */
  id: Type.String({ minLength: 1, missing: () => "" }),
  /** Ids of listeners, sorted; missing: `http` and `https`. `@http`, `@https`: all that share the socket. */
  listeners: Type.Optional(Type.Array(ID, { minItems: 1 })),
  /**
   * Lower case, no trailing dot: `app.example.com` (exact), `*.example.com` (exactly one label in
   * place of the star, or as the listener says) or `*` (any host that no other route names).
   */
  host: formed(routeHost),
  match: ROUTE_MATCH,
  action: ACTION,
  /** Id of the filters for its requests. */
  filterSet: Type.Optional(ID),
  /** Id of its time-outs and limits; missing: those that the process was started with. */
  policy: Type.Optional(ID),
  /** In place of `HostSettings.httpsRedirect`, and of `httpsRedirect.when` of the policy. */
  httpsRedirect: Type.Optional(Type.Boolean()),
  origin: ORIGIN,
}, { strict: true });

/** Settings of a host, which hold where its routes say nothing, and where no route matches. */
export const HOST_SETTINGS = object({
  /**
   * A host pattern as in Route.host. Of several that match a host and have a setting, the most
   * specific one decides: the name itself, then a star for its first label, then `*`.
   */
  id: formed(routeHost),
  /**
   * Whether plain HTTP is redirected to HTTPS; missing: true. It never is without a certificate that
   * names the host, nor by a proxy that was started with `--ssl-redirect=false`.
   */
  httpsRedirect: Type.Optional(Type.Boolean()),
  /**
   * A host pattern as in Route.host, whose routes take the requests of this one too, unless a route
   * names this very pattern.
   */
  aliasOf: Type.Optional(formed(routeHost)),
}, { strict: true });

/** A socket of the proxy, and which hosts are served on it. */
export const LISTENER = object({
  id: NAME,
  /** The public one. */
  port: PORT,
  /** `http` and `https` are those of the process; others are container ports in decimal digits. */
  socket: NAME,
  protocol: Type.Enum(["HTTP", "HTTPS", "TLS"]),
  /** A host pattern; missing: any. */
  hostname: Type.Optional(formed(certificateHost)),
  /** How many labels a star stands for: one, or one and more. */
  wildcards: Type.Enum(["one-label", "suffix"]),
  /** Whether a request that no route of the most specific host takes goes to a broader host. */
  fallThrough: Type.Boolean(),
  /**
   * Of HTTPS on a container port: ids of its certificates. A client gets the first whose key it can
   * verify. If none of them can be used, handshakes for the listener are refused. On `https`, whose
   * clients get the certificate of a host, they say only whose they are.
   */
  certificates: Type.Optional(Type.Array(ID)),
  origin: ORIGIN,
}, { strict: true });

export const FILTER_SET = object({
  /** Hash of the content. */
  id: NAME,
  /** Filters of one kind meet requests in this order; that of the kinds is fixed in the proxy. */
  filters: Type.Array(FILTER),
}, { strict: true });

const TIMEOUT = Type.Integer({ minimum: 1, maximum: MAX_TIMEOUT });

/**
 * Failures of an attempt. `error`: no connection, or one that ends without a byte of a response.
 * `timeout`: no response in time. `malformed`: a response that cannot be read. A status: such a
 * response, as long as another attempt may follow. `non-idempotent` is no failure: methods count too
 * that are not idempotent (RFC 9110 §9.2.2).
 */
const RETRY_CONDITION = Type.Enum([
  ...["error", "timeout", "malformed", "non-idempotent"] as const,
  ...["403", "404", "429", "500", "502", "503", "504"] as const,
]);

/** Settings of routes. A missing one is that of the process. Times in ms, sizes in bytes. */
export const POLICY = object({
  /** Hash of the content. */
  id: NAME,
  timeouts: Type.Optional(object({
    connect: Type.Optional(TIMEOUT),
    /** Without a byte that the backend takes. */
    send: Type.Optional(TIMEOUT),
    responseHead: Type.Optional(TIMEOUT),
    /** Without a byte of the response's body. */
    responseBody: Type.Optional(TIMEOUT),
    /** Without a byte, either way, through a WebSocket, another tunnel or a gRPC stream. */
    tunnelIdle: Type.Optional(TIMEOUT),
  }, { strict: true })),
  /** How many endpoints are tried at most, the first included. */
  tries: Type.Optional(Type.Integer({ minimum: 1, maximum: MAX_TRIES })),
  retry: Type.Optional(object({
    /** Missing: after an `error`, where the method is idempotent or nothing was sent. */
    on: Type.Optional(Type.Array(RETRY_CONDITION)),
    /** No attempt begins later than this after the first; missing: any time. */
    timeout: Type.Optional(TIMEOUT),
    /** How much of a request body is kept for another attempt; longer ones are sent once. */
    bodyBytes: Type.Optional(Type.Integer({ minimum: 0, maximum: MAX_RETRY_BODY })),
  }, { strict: true })),
  /** Of a request; 0: no limit. A lower limit of the process holds. */
  bodyLimit: Type.Optional(Type.Integer({ minimum: 0 })),
  /** How much of a request body is read before an endpoint is chosen; missing: it is streamed. */
  requestBuffer: Type.Optional(Type.Integer({ minimum: 1, maximum: MAX_RETRY_BODY })),
  /** Only ever false: a connection of HTTP/1.1 to a backend is closed after a response. */
  upstreamKeepAlive: Type.Optional(Type.Literal(false, {
    remedy: "remove it: connections are kept unless it is false",
  })),
  /** How plain HTTP is redirected to HTTPS. */
  httpsRedirect: Type.Optional(object({
    /**
     * In place of `HostSettings.httpsRedirect`. `certificate`: if a certificate names the host, also
     * by a proxy that was started with `--ssl-redirect=false`. `tls`: without a certificate, too, by a
     * proxy that listens for HTTPS. `always`: also by one that does not, and ACME challenges as well.
     */
    when: Type.Optional(Type.Enum(["never", "certificate", "tls", "always"])),
    /** Only ever true: the port is in the URL, also if it is 443. */
    port: TRUE_OR_MISSING,
    /** Only ever true: a slash at the end of path and query is left out. */
    cutsSlash: TRUE_OR_MISSING,
  }, { strict: true })),
  /** Only ever false: its requests have no line in the access log. */
  accessLog: Type.Optional(Type.Literal(false, {
    remedy: "remove it: requests have a line unless it is false",
  })),
  tracing: Type.Optional(TRACING),
}, { strict: true });

/** A certificate that stands in the snapshot itself. */
export const PEM_TEXT = object({ kind: Type.Literal("pem"), pem: NAME });

export const PEM_SECRET = object({
  kind: Type.Literal("secret"),
  pem: Type.Unsafe<Secret>(Type.String({ minLength: 1, secret: true })),
});

/** A path that the proxy reads, relative to the configuration file's folder unless absolute. */
export const PEM_FILE = object({ kind: Type.Literal("file"), path: NAME });

/** How a backend proves who it is, and we to it. */
export const UPSTREAM_TLS = object({
  /** The name that its certificate must be for, sent as SNI; DNS or IP. */
  serverName: formed(serverName),
  /** Only ever false: no SNI is sent. */
  sni: Type.Optional(Type.Literal(false, {
    remedy: "remove it: the name is sent unless it is false",
  })),
  /** Authorities to trust, in place of the public ones. */
  ca: Type.Optional(PEM_TEXT),
  /** Id of the certificate to show to a backend that asks for one; one that is gone costs no file. */
  clientCertificate: Type.Optional(ID),
  /** Only ever false: any certificate will do, so anybody may pose as the backend. */
  verify: Type.Optional(Type.Literal(false, {
    remedy: "remove it: certificates are verified unless it is false",
  })),
  /** Intermediate certificates in a chain that is verified, at most; missing: any number. */
  verifyDepth: Type.Optional(Type.Integer({ minimum: 0 })),
  /** The only version of TLS; missing: both. */
  version: Type.Optional(Type.Enum(["TLSv1.2", "TLSv1.3"])),
});

/** One ip:port. IPv6 without brackets. */
export const ENDPOINT = object({
  address: formed(endpointAddress),
  port: PORT,
  zone: Type.Optional(Type.String()),
  /**
   * Zones whose proxies should ask it, sorted. They hold where each endpoint of the upstream has
   * some, as in kube-proxy.
   */
  hints: Type.Optional(Type.Array(Type.String())),
});

/** Known addresses. An empty list answers 503. */
export const ENDPOINT_LIST = object({
  kind: Type.Literal("endpoints"),
  /** Sorted by address, then port, without repetition. */
  endpoints: Type.Refine(
    Type.Array(ENDPOINT, { uniqueBy: ["address", "port"] }),
    (list) => new Set(list.map(({ address, port }) => `${address} ${port}`)).size === list.length,
  ),
});

/**
 * A name that the proxy resolves (ExternalName, and backends of the old proxy.json); each address an
 * endpoint.
 */
export const DNS_NAME = object({
  kind: Type.Literal("dns"),
  name: formed(resolvableName),
  port: PORT,
});

export const ADDRESSES = Type.Union([ENDPOINT_LIST, DNS_NAME]);

/** A resolved Service port: where requests may go, and how to speak to it. */
export const UPSTREAM = object({
  /**
   * `<namespace>/<service>:<port>`, where port is what the Ingress names (a number or a name), and
   * `+<protocol>` or the like where it is not spoken to as the Service says.
   */
  id: NAME,
  /**
   * `http`: HTTP/1.1 in plain text. `https`: TLS, and in it HTTP/2 or HTTP/1.1, as the endpoint
   * chooses (ALPN). `h2c`: HTTP/2 in plain text, with prior knowledge. `h2`: TLS, and HTTP/2 only.
   * Never another in place of the one named: gRPC fails by that in ways that nobody finds.
   */
  protocol: Type.Enum(["http", "https", "h2c", "h2"]),
  addresses: ADDRESSES,
  /** For https and h2. Without it the name is `<service>.<namespace>.svc`, or the one resolved. */
  tls: Type.Optional(UPSTREAM_TLS),
  /**
   * How requests are spread over its endpoints; without it as the proxy does by default.
   * `round-robin`: each endpoint in turn. `least-requests`: of two that are chosen at random the one
   * with fewer requests.
   */
  balance: Type.Optional(Type.Enum(BALANCES, {
    lenient: {
      what: "no load balancing policy",
      remedy: `write ${BALANCES.map((one) => JSON.stringify(one)).join(" or ")}`,
    },
  })),
  /** Whether gRPC-Web is translated to gRPC for it; without it as the proxy does by default. */
  grpcWeb: Type.Optional(Type.Boolean({
    lenient: { what: "neither true nor false", remedy: "write true or false" },
  })),
});

/** A certificate chain with its key, for the names that it is used for. */
export const CERTIFICATE = object({
  /** sha256 of the Secret's name, chain and key in hex for inline ones, the file's path for others. */
  id: NAME,
  /** Host patterns (as in Route.host, never `*`), sorted. */
  hosts: Type.Array(formed(certificateHost)),
  /**
   * Hosts that it is shown for and does not name: clients refuse it there, so plain HTTP is never
   * redirected. And hosts of Gateways, where only filters redirect. Sorted. A file of format 1 also lists names below one of its wildcards that another
   * namespace owns, for which format 2 has `hostSettings`.
   */
  plain: Type.Optional(Type.Array(formed(certificateHost))),
  /** PEM, the leaf first. */
  chain: Type.Union([PEM_TEXT, PEM_FILE]),
  key: Type.Union([PEM_SECRET, PEM_FILE]),
  origin: ORIGIN,
});

/** An htpasswd file; `credentials.ts` says how it begins. */
const USERS_SECRET = object({
  kind: Type.Literal("secret"),
  text: Type.Unsafe<Secret>(Type.String({ minLength: 1, secret: true })),
});

/** Users and passwords for basic authentication. */
export const CREDENTIALS = object({
  /** `<namespace>/<Secret> auth-file`, or `auth-map`. */
  id: NAME,
  users: Type.Union([
    USERS_SECRET,
    /** Where a Secret of the controller holds it, by its name there. */
    PEM_FILE,
    /** It cannot be used: routes with it answer 503. */
    object({ kind: Type.Literal("missing") }),
  ]),
}, { strict: true });

const FORMAT = Type.Literal(2);
export const DEFAULT_ACTION = Type.Union([FORWARD, REPLY, Type.Null()], { missing: () => null });
const DEFAULT_CERTIFICATE = Type.Union([NAME, Type.Null()], { missing: () => null });
const LOOP_MARK = Type.Optional(formed(loopMark));
const NETWORKS = Type.Optional(Type.Array(formed(network)));

const OPTIONAL_BLOCKED_CLIENTS = Type.Optional(BLOCKED_CLIENTS);

/** What the translation keeps of ingress-nginx's ConfigMap for when it is gone; no proxy reads it. */
export const GLOBAL_CONFIG = object({
  /** `NAMESPACE/NAME`. */
  configMap: NAME,
  /** Of keys with an effect. */
  values: Type.Record(Type.String(), Type.String()),
  /** Keys that closed paths as they are not supported, and those whose values were not valid. */
  unsupported: Type.Array(Type.String()),
  invalid: Type.Array(Type.String()),
});
const OPTIONAL_GLOBAL_CONFIG = Type.Optional(GLOBAL_CONFIG);

/** One whole configuration. A later one replaces it by one reference swap. */
export const SNAPSHOT = object({
  /** A number that only readers of it know; see `SNAPSHOT_FORMAT`. */
  format: FORMAT,
  version: VERSION,
  /** Sorted by id; missing: the two built-in ones, one-label and without falling through. */
  listeners: Type.Optional(Type.Array(LISTENER)),
  /** Sorted by id; missing for none. */
  hostSettings: Type.Optional(Type.Array(HOST_SETTINGS)),
  /**
   * In order of precedence: of those of a host (and listener), the first that matches wins. The most
   * specific host stands first; among routes of an Ingress, the longest path, and Exact before Prefix.
   */
  routes: Type.Array(ROUTE),
  /** What a request to a built-in listener gets that no route takes; null is 404. */
  defaultAction: DEFAULT_ACTION,
  /** Sorted by id; missing for none. */
  filterSets: Type.Optional(Type.Array(FILTER_SET)),
  /** Sorted by id; missing for none. */
  policies: Type.Optional(Type.Array(POLICY)),
  /** Sorted by id. */
  upstreams: Type.Array(UPSTREAM, NONE),
  /** Sorted by id; missing for none. */
  credentials: Type.Optional(Type.Array(CREDENTIALS)),
  /** Sorted by id. */
  certificates: Type.Array(CERTIFICATE, NONE),
  /** Id of the certificate for names that no other covers; null refuses them. */
  defaultCertificate: DEFAULT_CERTIFICATE,
  /**
   * What proxies add to requests in `CDN-Loop` (RFC 8586): one mark for all, so that a loop through
   * several ends as one through a single proxy. Missing, each proxy makes its own.
   */
  loopMark: LOOP_MARK,
  /**
   * Addresses and networks that no name may stand for: the API server's, those of nodes, and networks
   * of Services. Sorted; missing for none.
   */
  denied: NETWORKS,
  /**
   * Peers whose X-Forwarded-*, X-Real-IP and X-Request-Id are believed, on all ports, besides those of
   * the proxy's own `--trusted-proxies`. Missing for none.
   */
  trustedProxies: NETWORKS,
  /** For filters of that kind; missing where none has it. */
  blockedClients: OPTIONAL_BLOCKED_CLIENTS,
  globalConfig: OPTIONAL_GLOBAL_CONFIG,
});

/** What is neither a list of parts nor the version. */
export const REST = object({
  format: FORMAT,
  defaultAction: DEFAULT_ACTION,
  defaultCertificate: DEFAULT_CERTIFICATE,
  loopMark: LOOP_MARK,
  denied: NETWORKS,
  trustedProxies: NETWORKS,
  blockedClients: OPTIONAL_BLOCKED_CLIENTS,
  globalConfig: OPTIONAL_GLOBAL_CONFIG,
});
