/**
 * The page of all annotations. In: our own annotations, and the table of ingress-nginx's. Out: the text
 * of `docs/annotations.md`.
 */
import type { Row } from "../controller/translate/annotations/nginx/rows/row.ts";
import {
  canClose,
  closesWithoutProfile,
  GROUPS,
  isHonoured,
  ROWS,
} from "../controller/translate/annotations/nginx/table.ts";

/** Where the page stands, relative to the repository. */
export const ANNOTATIONS_PAGE = "docs/annotations.md";

const OWN: readonly (readonly [name: string, on: string, value: string, does: string])[] = [
  [
    "`pingress.io/balance`",
    "Service",
    "`round-robin` or `least-requests`",
    "Load balancing over the endpoints, overriding the proxy's [`--balance`](flags.md). `least-requests` picks, of two endpoints chosen at random, the one with fewer requests in progress.",
  ],
  [
    "`pingress.io/grpc-web`",
    "Service",
    '`"true"` or `"false"`',
    "Whether gRPC-Web requests are [translated to gRPC](grpc.md#grpc-web) for its backends, overriding the proxy's [`--grpc-web`](flags.md).",
  ],
  [
    "`pingress.io/upstream-tls-name`",
    "Service",
    "DNS name or IP address",
    "The name that the backend's certificate is verified against, sent as SNI unless it is an address. Default: `<service>.<namespace>.svc`, or the name of an ExternalName Service.",
  ],
  [
    "`pingress.io/upstream-tls-ca`",
    "Service",
    "name of a Secret",
    "The CA certificates that the backend's certificate is verified with, as PEM in `ca.crt`, instead of the public CAs.",
  ],
  [
    "`pingress.io/upstream-tls-client-certificate`",
    "Service",
    "name of a Secret",
    "A Secret of type `kubernetes.io/tls` with the client certificate for backends that request one.",
  ],
  [
    "`pingress.io/upstream-tls-verify`",
    "Service",
    '`"true"` or `"false"`',
    '`"false"` accepts any certificate, so that anybody on the network path can impersonate the backend.',
  ],
  [
    "`pingress.io/share-host-with`",
    "Ingress",
    "names of namespaces, separated by commas",
    "Accepts rules of these namespaces for the hosts of this Ingress, if [its own namespace owns them](tenants.md#sharing-a-host).",
  ],
  [
    "`pingress.io/profile`",
    "IngressClass",
    "`nginx`",
    "Reads the Ingresses of the class [as ingress-nginx does](#the-nginx-profile).",
  ],
  [
    "`pingress.io/status`",
    "IngressClass",
    '`"on"` or `"off"`',
    '`"off"` leaves the [addresses in the status](status.md#status) of its Ingresses to another controller that serves the class too; Events are still written.',
  ],
  [
    "`pingress.io/hosts`",
    "Namespace",
    "hosts, separated by commas",
    "The hosts that [the namespace owns](tenants.md), whoever else claims them.",
  ],
  [
    "`dev.pingress.io/endpoint`",
    "Service",
    "`HOST:PORT`, or `PORTNAME=HOST:PORT,…`",
    "In `deno task dev` only: sends the requests of the Service to a program on this machine.",
  ],
];

export function annotationsPage(): string {
  return [...ownAnnotations(), ...profileOfNginx(), ...annotationsOfNginx()].join("\n");
}

function ownAnnotations(): string[] {
  return [
    "# Annotations",
    "",
    "Made from the program itself by `deno task docs:update`; do not edit.",
    "",
    "Values in quotes must be quoted in YAML, because Kubernetes accepts only strings.",
    "",
    "| annotation | on | value | what it does |",
    "| --- | --- | --- | --- |",
    ...OWN.map((cells) => `| ${cells.join(" | ")} |`),
    "",
    "Use `least-requests` if requests differ much in cost, or replicas in speed: a slow replica gets",
    "fewer requests. Each proxy worker counts its own requests in progress; a WebSocket counts until it",
    "ends. See [endpoints](endpoints.md#load-balancing-and-retries).",
    "",
    "Secrets are read from the Service's own namespace. See [TLS](tls.md#to-backends) for how these",
    "settings work together.",
    "",
    "Any other `pingress.io/…` annotation on an Ingress has no effect and is reported: it is misspelt, or",
    "belongs on the Service.",
    "",
    "",
  ];
}

function profileOfNginx(): string[] {
  return [
    "## The nginx profile",
    "",
    "Ingresses that were written for ingress-nginx can be read in the profile `nginx`. An Ingress has it",
    "if its class has:",
    "",
    "- the annotation `pingress.io/profile: nginx` on the IngressClass; `kubectl apply -k overlays/nginx`",
    "  creates such a class, named `pingress-nginx`;",
    "- `--nginx-class NAME` of the [controller](flags.md), also where no IngressClass exists and only the",
    "  annotation `kubernetes.io/ingress.class` names it;",
    "- `spec.controller: k8s.io/ingress-nginx` on the IngressClass, and `--controller-name` takes it over;",
    "  a class of it that only `--ingress-class` names needs the annotation or `--nginx-class`.",
    "",
    "In the profile, unless an annotation says otherwise:",
    "",
    "- `pathType: ImplementationSpecific` is `Prefix`, which matches whole segments: `/api` matches",
    "  `/api/v1`, never `/apis`. Regular expressions are an exception, as of all path types.",
    "- Of Ingresses with the same `creationTimestamp` (seconds), as one `kubectl apply` makes them, the",
    "  last by `namespace/name` has the host and path, as in ingress-nginx. Without the profile it is the",
    "  first by namespace and name; on a host with both, those without the profile come first.",
    "- Request bodies are limited to 1 MiB. A lower `--body-limit` of the proxy applies to all.",
    "- Connecting to a backend may take 5 s; sending and reading time out after 60 s without data, also in WebSockets.",
    "- A request is tried on at most 3 endpoints, after errors and time-outs.",
    "- Paths are [compared with decoded paths](#paths-in-the-profile).",
    "- A `Prefix` that ends with a slash redirects requests for the path without it by 301, before access",
    "  lists and logins: `/app/` redirects `/app?x=y` to `/app/?x=y`. With `relative-redirects`,",
    "  `Location` is a path.",
    "- The redirect to HTTPS leaves out a slash at the end of the URL (`preserve-trailing-slash`).",
    "- Responses over TLS have `Strict-Transport-Security: max-age=31536000; includeSubDomains`, in place",
    "  of the backend's; responses have no `Server`.",
    "- Requests keep the `X-Request-ID` of the client, if it is of at most 128 visible characters, and",
    "  backends also get `X-Scheme`, `X-Forwarded-Scheme`, and as `X-Original-Forwarded-For` what the client",
    "  has sent as `X-Forwarded-For`. What clients send under these names is dropped, as",
    "  [without the profile](features.md).",
    "",
    "In contrast to ingress-nginx:",
    "",
    "- Responses to requests that no path matches (404), that are refused (400), and of paths that are closed",
    "  (503), have neither header of the profile.",
    "- `Location` of the redirect from `/app` to `/app/` has the host and port as the client has sent",
    "  them, and an `Exact` path `/app/` does not redirect `/app`.",
    "- Where a Service has no endpoints, access lists and logins count first: clients that they reject get 403",
    "  or 401, and not 503.",
    "- Idle connections of clients are kept as long as `--client-idle-timeout` of the proxies says (1 min),",
    "  as no host is known before a request; `--proxy-arg=--client-idle-timeout=75s` sets that of",
    "  ingress-nginx.",
    "- Its ConfigMap counts only if [`--configmap`](configmap.md) names it. Annotations with another prefix",
    "  are not read.",
    "- Whether hosts are shared between namespaces is set by [`--host-ownership`](tenants.md).",
    "",
    "The profile follows the IngressClass: a change applies to all of its Ingresses at once.",
    "",
    "### Protection requires the profile",
    "",
    "Without the profile, annotations that protect close their paths: requests get 503, and the Ingress",
    "gets an error with the remedy. Their authors rely on paths that are compared as nginx compares them.",
    `These are ${listed(protecting())}.`,
    "",
    "A value that protects nothing closes nothing: `0.0.0.0/0,::/0` in an access list, `HTTP` in",
    "`backend-protocol`, and 1 MiB or more in `proxy-body-size`. `proxy-ssl-…` annotations close with",
    "`proxy-ssl-secret` and `backend-protocol`. All other annotations have the same effect with and without the",
    "profile.",
    "",
    "With `--accept-unsupported=NAME`, all but `enable-global-auth` apply without the profile, too, to paths",
    "that are compared [as the API documents](security.md#path-based-access-control). Where a path is closed,",
    "or has an access list or requires a login, the host responds with 400 to requests that lead past it and",
    "would not if their path were decoded, such as `//admin` beside an open `/`. Plain HTTP is redirected",
    "to HTTPS where either form of the path leads to a route that is. Other settings, such as",
    "`proxy-body-size`, hold for paths as they are sent.",
    "",
    "### Paths in the profile",
    "",
    "The path of a request is compared as nginx compares it (its `$uri`): escapes are decoded once, `%2F`",
    "too, repeated slashes are merged, and dot segments are resolved after that. So `//admin`,",
    "`/x/..%2fadmin`, `/x%2f..%2fadmin` and `/%61dmin` are `/admin`, and `/%2561dmin` and `/admin;a` are not.",
    "Access lists, regular expressions, the groups of `rewrite-target`, and the `/` of `app-root` refer to",
    "this path. Requests that are not rewritten are forwarded with the path that the client has sent, and",
    "logs show that one too.",
    "",
    "The path of an Ingress is plain text: `/café` matches requests for `/caf%C3%A9`, and `/a%20b` matches",
    "`/a%2520b` only, for which there is a warning (`PathNotCanonical`).",
    "",
    "A request gets 400 where nginx refuses its path (above the root, `%00`), and also where the path has",
    "another escaped control byte, or leads above the root while `%2F` is not yet decoded",
    "(`/a%2Fb/../../c`), which nginx accepts.",
    "",
    "If a host has Ingresses with the profile and without it, a request must match the same path in both",
    "forms: as above, and [as the API documents](security.md#path-based-access-control). Others get 400,",
    "so that no spelling of a path leads past what protects it. Move all Ingresses of a host to one class",
    "to avoid that.",
    "",
  ];
}

function annotationsOfNginx(): string[] {
  return [
    "## ingress-nginx annotations",
    "",
    "Annotations of ingress-nginx (`nginx.ingress.kubernetes.io/…`) on an Ingress, and what becomes of",
    "each here:",
    "",
    "- *honoured* or *differs*: it has its effect, but for the difference that the table names.",
    "- *always so*: the proxies behave like that without it.",
    "- *refused*: it will not have an effect.",
    "- *not yet*: it has no effect in this version, and the Ingress gets one warning, with what to use",
    "  in its place.",
    "",
    "An annotation without an effect that protects its paths, or without which they would mean something",
    "else, **closes** them: requests get 503, and the Ingress gets an error that names the annotation and",
    "the remedy. An annotation that only adds to others (*with …*) is closed with them. Those that apply",
    "to a whole host in ingress-nginx and protect it (`auth-tls-*`, `server-snippet`, `stream-snippet`,",
    "`ssl-ciphers` and `ssl-passthrough`) close all paths of that host that belong to the Ingress's",
    "namespace; with `--host-ownership=shared` those of all namespaces, as in ingress-nginx.",
    "",
    "A value that requests nothing closes nothing: an empty value, except of `allowlist-source-range` and",
    "`denylist-source-range`, as an empty list is no list; `false`, `off` or `0` of a switch or a limit; an",
    "access list with both `0.0.0.0/0` and `::/0`, which cert-manager sets on its solvers;",
    "`proxy-ssl-ciphers` with all ciphers that are offered; and `auth-tls-secret` with",
    "`auth-tls-verify-client` set to `off` and a Secret of the Ingress's namespace that can be used: as in",
    "ingress-nginx, which returns 403, a Secret that is missing, or broken, closes the host until it is there.",
    "A value that is invalid is never harmless: it closes the paths of every annotation that closes at all.",
    "As there, a boolean or an integer with blanks around it is invalid, and so are words and sizes with a",
    "line end, which a block of YAML (`|`) adds.",
    "",
    "`whitelist-source-range` and `limit-whitelist` are old names: they count where the new name is",
    "missing or empty. As in ingress-nginx, a new name of blanks alone is not empty.",
    "",
    "To serve closed paths without the effect of the annotation, start the controller, `deno task dev` or",
    "`deno task explain` with `--accept-unsupported=NAME,…` (names without the prefix). If",
    "`--allow-accept-unsupported-annotation` is set, an Ingress can accept them itself with",
    "`pingress.io/accept-unsupported: limit-rps,satisfy`. Accepted annotations are reported as warnings.",
    "",
    'An Ingress with `canary: "true"` is skipped with a warning: it gets no routes, and the main Ingress',
    "keeps its paths. Its `auth-tls-secret` closes its hosts all the same, as it holds for them in ingress-nginx.",
    "",
    "*Scope* is what one value applies to in ingress-nginx; *risk* is the level in its own list of",
    "annotations; *invalid* is what a value that is not valid does.",
    "",
    ...REGULAR_EXPRESSIONS,
    ...LOGINS,
    ...EXTERNAL_AUTHENTICATION,
    ...GROUPS.flatMap(([title, group]) => [
      `### ${title}`,
      "",
      "| annotation | in ingress-nginx | value | invalid | scope | risk | here |",
      "| --- | --- | --- | --- | --- | --- | --- |",
      ...Object.entries(group).map(([name, row]) => rowOf(name, row)),
      "",
    ]),
  ];
}

const EXTERNAL_AUTHENTICATION = [
  "### How requests are authenticated",
  "",
  "`auth-url` is requested before a request goes on, with the headers of the client, without a body, and",
  "with `X-Original-URL`, `X-Original-Method`, `X-Auth-Request-Redirect` and `X-Sent-From`. A response",
  "with 2xx admits the request; 401 and 403 are the client's response, or a redirect to `auth-signin` in",
  "place of 401, as in place of the 401 of basic authentication beside it. With any other status, or without",
  "a response in time, the client gets 500. The host of the URL decides where it is requested:",
  "",
  "- `NAME.NAMESPACE.svc`, also with `.cluster.local`: from the endpoints of this Service, which must be in",
  "  the Ingress's namespace. Without the Service the paths return 503.",
  "- `$host`, `$http_host` and names with them: from the route of this host, inside the proxy.",
  "- A host of an Ingress: the same. The host must belong to the Ingress's namespace or be shared with it;",
  "  otherwise the paths return 503.",
  "- Any other name, or an address: from there, if the controller runs with `--allow-external-name`;",
  "  otherwise requests get 500. The certificate of an `https` URL is verified. A name of a Service or pod of",
  "  another namespace, of any cluster domain (`….NAMESPACE.svc.…`, `IP.NAMESPACE.pod.…`), closes the paths. Not",
  "  resolved, with a warning, are `NAME.NAMESPACE` of a Service, names without a dot, `localhost`, and",
  "  addresses of the proxy, of links, of the API server, of nodes and of the networks of Services.",
  "",
  "The route of a host of an Ingress applies its own filters, with the address of the client. If it",
  "requires external authentication itself, requests get 500. It does not redirect the subrequest to HTTPS,",
  "as that never leaves the proxy; ingress-nginx makes such requests fail with 500.",
  "",
  "Headers in `auth-response-headers` reach the backend only from the response. A client's headers with",
  "such a name, also with `_` or `.` in place of `-`, are dropped, and so are its `X-Original-*`,",
  "`X-Auth-Request-Redirect` and `X-Sent-From`. A client's `Authorization` and `Cookie` still reach",
  "`auth-url`.",
  "",
  "Paths that need no login pass these headers on as the client sends them, as in ingress-nginx: do not",
  "trust them there.",
  "",
  "In the profile, paths of an Ingress that begin with `/.well-known/acme-challenge`, or with a text of",
  "`no-auth-locations` of the ConfigMap in its place, need no login, and Ingresses without `auth-url` have",
  "[`global-auth-url`](configmap.md#global-authentication) of the ConfigMap, unless",
  '`enable-global-auth: "false"` exempts them. Outside of the profile, `enable-global-auth: "true"` closes',
  "the paths of an Ingress without `auth-url`.",
  "",
  "Without `auth-cache-key`, every request is authenticated by itself. With it, a response is used for",
  "all requests of the route and host whose key has the same parts. The key must name a credential",
  "(`$http_authorization` or `$cookie_NAME`), and a request without one, or with two cookies of the name,",
  "is authenticated by itself. Responses with `Set-Cookie`, with `Vary` (other than `Accept-Encoding`),",
  "with `Cache-Control: no-store`, `no-cache` or `private`, with `Expires` of the past or none that is a",
  "date, with `X-Accel-Expires: 0`, and errors of the server are not kept. Each worker of a proxy has a",
  "cache of 4 MiB.",
  "",
  "[Protect an application with oauth2-proxy](oauth2-proxy.md) has a whole example.",
  "",
];

const REGULAR_EXPRESSIONS = [
  "### Regular expressions",
  "",
  'A path of an Ingress with `use-regex: "true"`, or with a `rewrite-target` other than the path itself,',
  "or a `Prefix` path that is its own `rewrite-target` and does not end in a slash,",
  "makes all paths of its host regular expressions, whatever Ingress they belong to and whatever their",
  'type is. On a host without a `Prefix` path `/`, so does `use-regex: "true"`, or a `rewrite-target` other',
  "than `/`, of the host's oldest Ingress, whichever paths that has: ingress-nginx applies them to requests",
  "that no path takes. A path of such a host",
  "",
  "- ignores case;",
  "- matches every path that it matches the start of: `/foo` also takes `/foobar`, also where its type is",
  "  `Exact` or `Prefix`. What follows a `|` outside of parentheses may match anywhere in the path;",
  "- comes before shorter ones, whatever their age. Of the same length, the one that sorts later comes first;",
  "  of the same path in two Ingresses, the older one is used.",
  "",
  "The expression is compared with the [decoded path](#paths-in-the-profile) in the profile, and otherwise",
  "with the path as the proxy forwards it, in which escapes stay. It is written",
  "for PCRE, and must match in linear time: lookaround, back references, repetitions of more than 16 times",
  "and syntax of PCRE alone are errors with the reason `PathPatternUnsupported`. All requests that begin",
  "as such a path does, up to its first special character or the one that it repeats, get 500 (after the access rules of its Ingress),",
  "unless a path before it takes them. So none reaches a path behind it, also of another Ingress. With a",
  "`|` outside of parentheses, these are all requests. A path that has no other requests gets no route, and",
  "an error with the same reason. A path all of whose requests another one takes, as in ingress-nginx, gets",
  "no route, and the warning `PathUnreachable`. So does an `Exact` path `/`: what no other path takes comes",
  "before it, as in ingress-nginx, be it of a `Prefix` path `/` or the default backend's.",
  "",
  "What all expressions of a host may take for one request is bounded. A request that is too long for",
  "them gets 414 with the code [`too_much_matching`](codes.md#too_much_matching), and never the route of",
  "another path. Paths of 8 KiB are no problem for ordinary expressions, nor are a thousand of these on one",
  "host for paths of a few hundred characters; expressions that can match the same characters in many ways,",
  "such as `([ab]*)*` or `.*.*.*`, take more. `rewrite-target` on a path of more than some 8,000 characters",
  "gets 414 for the same reason.",
  "",
  "`rewrite-target` replaces the whole path; `$1` to `$9` are what the groups of the expression have",
  "matched. What follows a `?` is added before the query of the request, and a `?` at the end drops the",
  "query of the request. `http://` and `https://` URLs are redirected to with 302. Requests get 400 where",
  "the new path has dot segments, 414 where it has more than 32 KiB, and 500 where it does not begin with a",
  "slash. Access logs and metrics have the path of the request; `deno task explain` shows the new path.",
  "The `defaultBackend` of an Ingress with rules counts as a path `/`: all of its requests get the new path, in",
  "which groups are empty. That of an Ingress without rules is not rewritten, as in ingress-nginx.",
  "",
];

const LOGINS = [
  "### Logins and passwords",
  "",
  'With `auth-type: "basic"`, requests need a user and a password of the Secret of `auth-secret`; others get',
  "401 (gRPC: `UNAUTHENTICATED`). Backends get no `Authorization` header then. The Secret must be in the",
  "Ingress's namespace, and of type `Opaque` or of a type of your own. While it, its key or all of its users",
  "are missing, requests get 503, also for paths of `no-auth-locations`, and the Ingress has an error with the",
  "reason `SecretNotFound` or `CredentialsInvalid`.",
  "",
  "The password files that the Ingresses of a namespace name have at most 256 KiB together, those of all",
  "namespaces at most 2.5 MiB. A file beyond that is refused, and its paths return 503; files that are published",
  "stay, unless they grow.",
  "",
  "Passwords are verified with hashes of bcrypt (`$2a$`, `$2b$`, `$2y$`, cost 4 to 14), MD5 (`$apr1$`,",
  "`$1$`), SHA-crypt (`$5$`, `$6$`, up to 100,000 rounds), `{SHA}`, `{SSHA}`, `{PLAIN}` and DES. Users of",
  "other lines are not admitted; the warning `CredentialsInvalid` has the numbers of these lines. A password",
  "has at most 512 bytes, and bcrypt reads 72 of them. One thread of each proxy verifies passwords. At most 64",
  "logins wait for it, four of them of one client (an IPv4 address or an IPv6 /64); further ones get 503 with",
  "`Retry-After` (`logins_busy`). While 64 wait, a login of a client with fewer replaces the newest login of",
  "the client with the most, which gets 503. A login that succeeded is shared with all workers, and not verified",
  "again until the user's line in the Secret changes: users who are logged in do not wait behind others.",
  "",
  "`satisfy` combines networks, logins and external authentication as nginx does: with `all`, each of them",
  "must admit a request; with `any`, one is enough. A denylist rejects clients, and admits none.",
  "",
];

function rowOf(name: string, row: Row): string {
  const names = [name, ...row.aliases ?? []].map((each) => `\`${each}\``).join(", ");
  const closesInvalid = isHonoured(row) ? row.invalid === "close" : canClose(row);
  const cells = [
    names,
    sentence(row.does),
    row.value.what,
    closesInvalid ? "503" : isHonoured(row) ? "default" : "no effect",
    row.scope,
    row.risk ?? "–",
    verdictOf(row),
  ];
  return `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
}

function verdictOf(row: Row): string {
  const { verdict, beside } = row;
  const closes = canClose(row) && !isHonoured(row) ? ", **closes**" : "";
  const besides = beside === undefined
    ? ""
    : `, with ${beside.map((each) => `\`${each}\``).join(", ")}`;
  switch (verdict.kind) {
    case "honoured":
      return "honoured";
    case "differs":
      return `differs: ${sentence(verdict.difference)}`;
    case "always":
      return `always so${closes}: ${sentence(verdict.because)}`;
    case "refused":
      return `refused${closes}: ${sentence(verdict.because)}`;
    case "not-yet":
      return verdict.remedy === null
        ? `not yet${closes}${besides}`
        : `not yet${closes}${besides}: ${sentence(verdict.remedy)}`;
  }
}

function sentence(clause: string): string {
  return `${clause[0].toUpperCase()}${clause.slice(1)}.`;
}

/** Supported annotations that close their paths without the profile, each by itself. */
function protecting(): string[] {
  return [...ROWS]
    .filter(([, row]) => closesWithoutProfile(row))
    .map(([name]) => name);
}

function listed(names: readonly string[]): string {
  const quoted = names.map((name) => `\`${name}\``);
  return `${quoted.slice(0, -1).join(", ")} and ${quoted.at(-1)}`;
}
