/** Keys about who may send requests, and about which clients' addresses are believed. */
import { NetworkSet } from "../../../shared/net/network_set.ts";
import { ACCESS } from "../annotations/nginx/rows/access.ts";
import {
  ALL_COOKIES,
  EXTERNAL_AUTHENTICATION,
  OF_CLIENT,
  WITH_BRACKETS,
} from "../annotations/nginx/rows/authentication.ts";
import {
  always,
  differs,
  HONOURED,
  NEVER_TEXT,
  NOT_YET,
  type Verdict,
} from "../annotations/nginx/rows/row.ts";
import {
  BOOL,
  HEADER_NAME_TEXT,
  int,
  LINE,
  NETWORKS,
  SNIPPET,
} from "../annotations/nginx/rows/value.ts";
import { defaultOf, globalAuth, guard, type KeyGroup, plain } from "./key.ts";
import { CLIENT_PATTERNS, LOCATIONS, RISK, WORDS } from "./key_values.ts";

const ELSEWHERE =
  "requests that no path of a host takes are not checked, and closed paths return 503";

const BLOCKED_BY_HEADER: Readonly<Verdict> = differs(
  "each of several lines counts, too, and a line of more than 8,192 characters matches every regular " +
    `expression; ${ELSEWHERE}`,
);

export const ACCESS_KEYS = {
  "whitelist-source-range": defaultOf(
    ACCESS,
    "allowlist-source-range",
    "admits clients of these networks only, where an Ingress has no list of its own",
  ),
  "denylist-source-range": defaultOf(
    ACCESS,
    "denylist-source-range",
    "rejects clients of these networks, where an Ingress has no list of its own",
  ),
  "block-cidrs": guard(
    NETWORKS,
    differs(
      "no list of an Ingress, redirect or satisfy lets them in; " + ELSEWHERE,
    ),
    "rejects clients of these networks with 403, for all hosts",
  ),
  "block-user-agents": guard(
    CLIENT_PATTERNS,
    BLOCKED_BY_HEADER,
    "rejects requests by User-Agent with 403, for all hosts",
  ),
  "block-referers": guard(
    CLIENT_PATTERNS,
    BLOCKED_BY_HEADER,
    "rejects requests by Referer with 403, for all hosts",
  ),
} satisfies KeyGroup;

const BESIDE_URL = { beside: ["global-auth-url"] } as const;

export const AUTHENTICATION_KEYS = {
  "global-auth-url": globalAuth(
    EXTERNAL_AUTHENTICATION,
    "auth-url",
    "authenticates the requests of all Ingresses without auth-url by a subrequest to this URL",
    {
      verdict: differs(
        "a host that an Ingress serves is dialled at its address, unless an administrator assigns it to a " +
          "namespace or it is $host; the certificate of a host outside of the cluster is verified; a URL " +
          "that is not valid, and one of a Service that does not exist, close the paths; " +
          `${WITH_BRACKETS}; ${ALL_COOKIES}; ${OF_CLIENT}`,
      ),
    },
  ),
  "global-auth-method": globalAuth(
    EXTERNAL_AUTHENTICATION,
    "auth-method",
    "sets the method of the subrequest",
    BESIDE_URL,
  ),
  "global-auth-signin": globalAuth(
    EXTERNAL_AUTHENTICATION,
    "auth-signin",
    "redirects clients that are not authenticated to this URL",
    BESIDE_URL,
  ),
  "global-auth-signin-redirect-param": globalAuth(
    EXTERNAL_AUTHENTICATION,
    "auth-signin-redirect-param",
    "names the parameter of that URL with the requested URL; rd by default",
    BESIDE_URL,
  ),
  "global-auth-response-headers": globalAuth(
    EXTERNAL_AUTHENTICATION,
    "auth-response-headers",
    "passes these headers of the subrequest's response to the backend",
    BESIDE_URL,
  ),
  "global-auth-request-redirect": globalAuth(
    EXTERNAL_AUTHENTICATION,
    "auth-request-redirect",
    "sets X-Auth-Request-Redirect of the subrequest",
    BESIDE_URL,
  ),
  "global-auth-snippet": guard(
    SNIPPET,
    NEVER_TEXT,
    "adds directives to the subrequest",
    { isHarmless: (_, textOf) => textOf("global-auth-url") === "" },
  ),
  "global-auth-cache-key": globalAuth(
    EXTERNAL_AUTHENTICATION,
    "auth-cache-key",
    "caches responses of the subrequest by this key",
    BESIDE_URL,
  ),
  "global-auth-cache-duration": globalAuth(
    EXTERNAL_AUTHENTICATION,
    "auth-cache-duration",
    "says how long they are cached, by status",
    BESIDE_URL,
  ),
  "global-auth-always-set-cookie": globalAuth(
    EXTERNAL_AUTHENTICATION,
    "auth-always-set-cookie",
    "passes cookies of the subrequest's response on to the client after errors, too",
    BESIDE_URL,
  ),
  "no-auth-locations": {
    ...guard(
      LOCATIONS,
      differs(
        "a text that ends in a slash exempts only paths of Ingresses that are written with it",
      ),
      "exempts paths of Ingresses that begin with one of these texts from basic and external " +
        "authentication; /.well-known/acme-challenge by default",
    ),
    takesEmpty: true,
  },
} satisfies KeyGroup;

/**
 * By default all peers are believed there, so every client could choose its address. Networks may be all
 * addresses of a version only together, as 0.0.0.0/1 and 128.0.0.0/1.
 */
function lacksNetworks(value: boolean, textOf: (key: string) => string): string | null {
  const networks = NETWORKS.read(textOf("proxy-real-ip-cidr"));
  const isList = networks !== null && !new NetworkSet(networks).admitsAll;
  return !value || isList
    ? null
    : "needs networks in proxy-real-ip-cidr that are not all addresses";
}

const WITHOUT_LIST = "Set proxy-real-ip-cidr to the networks of the load balancer, as without it " +
  "every client could choose its address; or start the proxies with --trusted-proxies and these " +
  "networks (--proxy-arg of the controller), and accept the key by " +
  "--accept-unsupported=use-forwarded-headers";

function trustRemedy(isAccepted: boolean): string {
  return isAccepted
    ? "Set proxy-real-ip-cidr to the networks of the load balancer; or check that the proxies have " +
      "them in --trusted-proxies, and remove the key"
    : WITHOUT_LIST;
}

function isOn(key: string, textOf: (key: string) => string): boolean {
  return BOOL.read(textOf(key)) === true;
}

export const ADDRESS_KEYS = {
  "use-forwarded-headers": guard(
    BOOL,
    differs(
      "X-Forwarded-* count from the networks of proxy-real-ip-cidr only, and for all that the proxies " +
        "serve; without that list, or with networks that are all addresses, it closes the paths; the " +
        "address of the load balancer is appended to X-Forwarded-For",
    ),
    "believes X-Forwarded-* of clients, and takes their addresses from it",
    { lacks: lacksNetworks, closedRemedy: WITHOUT_LIST, remedyFor: trustRemedy },
  ),
  "proxy-real-ip-cidr": guard(
    NETWORKS,
    HONOURED,
    "lists the networks whose X-Forwarded-For is believed; all of them by default",
    { beside: ["use-forwarded-headers"] },
  ),
  "enable-real-ip": guard(
    BOOL,
    NOT_YET,
    "takes the address of the client from X-Forwarded-For",
    {
      closedRemedy: "Set use-forwarded-headers in its place, with proxy-real-ip-cidr",
      isHarmless: (_, textOf) => isOn("use-forwarded-headers", textOf),
    },
  ),
  "forwarded-for-header": guard(
    HEADER_NAME_TEXT,
    NOT_YET,
    "names the header with the client's address",
    {
      closedRemedy: "Let the load balancer send X-Forwarded-For, and remove the key",
      isHarmless: (name, textOf) =>
        name.toLowerCase() === "x-forwarded-for" ||
        !(isOn("use-forwarded-headers", textOf) || isOn("enable-real-ip", textOf)),
    },
  ),
  "compute-full-forwarded-for": plain(
    BOOL,
    { kind: "always", because: "the address of a trusted peer is appended to X-Forwarded-For" },
    "appends the peer's address to X-Forwarded-For in place of replacing it",
  ),
  "use-proxy-protocol": guard(
    BOOL,
    NOT_YET,
    "reads the addresses of clients from the PROXY protocol",
    {
      closedRemedy: "Turn the PROXY protocol off at the load balancer, or keep the addresses of " +
        "clients by externalTrafficPolicy: Local",
    },
  ),
  "proxy-protocol-header-timeout": plain(
    LINE,
    NOT_YET,
    "limits the time for the header of the PROXY protocol",
  ),
  "bind-address": guard(
    LINE,
    NOT_YET,
    "listens on these addresses only",
    { closedRemedy: "Give the proxies --listen-http and --listen-https by --proxy-arg" },
  ),
  "bind-address-ipv4": guard(LINE, NOT_YET, "holds the IPv4 addresses of bind-address"),
  "bind-address-ipv6": guard(LINE, NOT_YET, "holds the IPv6 addresses of bind-address"),
} satisfies KeyGroup;

export const TENANT_KEYS = {
  "annotations-risk-level": guard(
    RISK,
    HONOURED,
    "refuses Ingresses with annotations of a higher risk",
  ),
  "allow-snippet-annotations": plain(
    BOOL,
    {
      kind: "always",
      because: "an Ingress with a snippet is closed, unless --accept-unsupported accepts it",
    },
    "admits annotations with text of nginx's configuration",
  ),
  "allow-cross-namespace-resources": plain(
    BOOL,
    always("objects of another namespace are never used"),
    "admits annotations that name objects of another namespace; true by default, false in the last versions",
  ),
  "annotation-value-word-blocklist": guard(
    WORDS,
    HONOURED,
    "refuses Ingresses whose annotations have one of these words in a value",
  ),
  "strict-validate-path-type": plain(
    BOOL,
    { kind: "always", because: "paths of type Exact and Prefix are compared as they are written" },
    "refuses paths of type Exact or Prefix with characters of regular expressions",
  ),
} satisfies KeyGroup;

const GLOBAL_LIMIT = "is a setting of the annotations global-rate-limit*";

export const LIMIT_KEYS = {
  "limit-rate": guard(int(0), NOT_YET, "limits the KiB per second of one response"),
  "limit-rate-after": guard(
    int(0),
    NOT_YET,
    "exempts the first KiB of each response from limit-rate",
    { beside: ["limit-rate"] },
  ),
  "limit-req-status-code": plain(
    int(400, 599),
    NOT_YET,
    "sets the status for requests above limit-rps and limit-rpm",
  ),
  "limit-conn-status-code": plain(
    int(400, 599),
    NOT_YET,
    "sets the status for requests above limit-connections",
  ),
  "limit-conn-zone-variable": plain(LINE, NOT_YET, "sets what limit-connections counts by"),
  "global-rate-limit-memcached-host": plain(LINE, NOT_YET, GLOBAL_LIMIT),
  "global-rate-limit-memcached-port": plain(LINE, NOT_YET, GLOBAL_LIMIT),
  "global-rate-limit-memcached-connect-timeout": plain(LINE, NOT_YET, GLOBAL_LIMIT),
  "global-rate-limit-memcached-max-idle-timeout": plain(LINE, NOT_YET, GLOBAL_LIMIT),
  "global-rate-limit-memcached-pool-size": plain(LINE, NOT_YET, GLOBAL_LIMIT),
  "global-rate-limit-status-code": plain(LINE, NOT_YET, GLOBAL_LIMIT),
} satisfies KeyGroup;
