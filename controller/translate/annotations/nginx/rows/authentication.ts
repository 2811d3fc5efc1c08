/** Annotations about basic authentication, and about external authentication by a subrequest. */
import {
  AUTH_URL,
  CACHE_TIMES,
  COPIED_HEADERS,
  readsUri,
  REQUEST_TEXT,
  SIGNIN_URL,
} from "./auth_url.ts";
import { always, differs, type Group, HONOURED, NOT_YET, row } from "./row.ts";
import { BOOL, int, LINE, objectName, oneOf, SECONDS, text, type ValueType } from "./value.ts";

const BASIC = { scope: "path", invalid: "close", protects: true, verdict: HONOURED } as const;
const BESIDE_TYPE = { ...BASIC, beside: ["auth-type"] } as const;
const EXTERNAL = { scope: "path", invalid: "close", protects: true } as const;
const BESIDE_URL = { ...EXTERNAL, beside: ["auth-url"] } as const;

export const OF_CLIENT =
  "$uri, $args and variables like them are those of the client's request, and " +
  "not of the subrequest, which has no query there";

/** nginx before 1.23.0 passes on the first; later ones join all by commas, which browsers read as one. */
export const ALL_COOKIES =
  "all cookies of a response to a subrequest reach the client, not only the first";

/** nginx itself, as the server of auth-url, refuses a Host without them. */
export const WITH_BRACKETS = "an IPv6 address keeps its brackets in Host";

/** One of some words, of which none turns it off: any other closes the paths in ingress-nginx. */
function word<const T extends string>(words: readonly T[]): ValueType<T> {
  return { ...oneOf(words), hasOff: false };
}

export const BASIC_AUTHENTICATION = {
  "auth-type": row({
    ...BASIC,
    risk: "Low",
    value: word(["basic"]),
    verdict: differs(
      '"digest" is not supported, so its paths answer 503; a value must be the whole word',
    ),
    isSame: () => true,
    does: "requires a user and password of auth-secret",
  }),
  "auth-secret": row({
    ...BASIC,
    risk: "Medium",
    value: objectName("Secret"),
    verdict: differs(
      "without auth-type, the paths answer 503 in place of being open; the files of a " +
        "namespace have at most 256 KiB together, and those of all namespaces 2.5 MiB",
    ),
    isSame: () => true,
    does: "names the Secret with users and passwords",
  }),
  "auth-secret-type": row({
    ...BESIDE_TYPE,
    risk: "Low",
    value: word(["auth-file", "auth-map"]),
    does: "says whether the Secret has one htpasswd file in the key auth, or a key for each user",
  }),
  "auth-realm": row({
    ...BESIDE_TYPE,
    verdict: differs('"off" is a realm, and does not turn the login off as it does in nginx'),
    isSame: (realm) => realm !== "off",
    risk: "Medium",
    value: text(/^[-\w.~/: ]+$/, "letters, digits, blanks and -._~/:"),
    does: "sets the realm that browsers show",
  }),
} satisfies Group;

export const EXTERNAL_AUTHENTICATION = {
  "auth-url": row({
    ...EXTERNAL,
    verdict: differs(
      "a host of other namespaces is refused unless they share it, a name outside of the cluster needs " +
        "--allow-external-name, and the certificate of such a host is verified; a host that an " +
        "Ingress serves is served inside of the proxy; a client's headers with names of " +
        "auth-response-headers are dropped in every spelling; its path is canonical, and / where it has none; " +
        `${WITH_BRACKETS}; a response to a subrequest is dropped but for its headers; ${ALL_COOKIES}; ${OF_CLIENT}`,
    ),
    risk: "High",
    value: AUTH_URL,
    does: "sends a subrequest to this URL first; 2xx admits the request, 401 and 403 reject it",
  }),
  "auth-method": row({
    ...BESIDE_URL,
    verdict: HONOURED,
    risk: "Low",
    value: word(
      ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"],
    ),
    does: "sets the method of the subrequest",
  }),
  "auth-signin": row({
    ...BESIDE_URL,
    verdict: differs(
      "no part of a request but its host can choose the host of the URL; for an absolute path, the port " +
        "of the request is kept",
    ),
    risk: "High",
    value: SIGNIN_URL,
    does: "redirects requests without credentials to this URL in place of 401",
  }),
  "auth-signin-redirect-param": row({
    ...BESIDE_URL,
    verdict: HONOURED,
    risk: "Medium",
    value: text(/^[-\w.~]+$/, "name of a query parameter"),
    does: "names the parameter of auth-signin that holds the URL to return to",
  }),
  "auth-request-redirect": row({
    ...BESIDE_URL,
    verdict: differs(OF_CLIENT),
    isSame: (parts) => !readsUri(parts),
    risk: "Medium",
    value: REQUEST_TEXT,
    does: "sets X-Auth-Request-Redirect of the subrequest",
  }),
  "auth-response-headers": row({
    ...BESIDE_URL,
    verdict: differs(
      "names of headers that the proxy sets for every backend, such as X-Request-ID, X-Real-IP and " +
        "X-Forwarded-For, are not valid",
    ),
    isSame: () => true,
    risk: "Medium",
    value: COPIED_HEADERS,
    does: "copies these headers of the subrequest's response into the request for the backend",
  }),
  "auth-proxy-set-headers": row({
    ...BESIDE_URL,
    verdict: NOT_YET,
    risk: "Medium",
    value: objectName("ConfigMap"),
    closedRemedy: "Send what the headers say in the query of auth-url, and remove the annotation",
    does: "names the ConfigMap with headers of the subrequest",
    // Whoever authenticates may decide by them.
    protectsBeside: ["auth-url"],
  }),
  "auth-always-set-cookie": row({
    ...BESIDE_URL,
    verdict: HONOURED,
    risk: "Low",
    value: BOOL,
    does: "passes Set-Cookie of the subrequest's response on, whatever the status",
  }),
  "auth-cache-key": row({
    ...BESIDE_URL,
    verdict: differs(
      "each worker of a proxy has a cache of its own, which the path of a Prefix and those below share; " +
        "without a credential in the key there is none; requests without one, and responses with Vary or " +
        `that say so, are not cached; ${OF_CLIENT}`,
    ),
    risk: "Medium",
    value: REQUEST_TEXT,
    does: "caches responses of the subrequest by this key",
  }),
  "auth-cache-duration": row({
    ...BESIDE_URL,
    verdict: differs(
      "errors of the server are never cached, and Cache-Control, Expires and X-Accel-Expires can only " +
        "shorten a time",
    ),
    risk: "Medium",
    value: CACHE_TIMES,
    does: "says how long responses of the subrequest are cached, by status",
  }),
  "auth-keepalive": row({
    ...BESIDE_URL,
    verdict: always("connections to the server are kept, as those to backends are"),
    risk: "Low",
    value: int(0),
    does: "keeps so many connections to the authentication server open",
  }),
  "auth-keepalive-requests": row({
    ...BESIDE_URL,
    verdict: always("connections to the server are kept, as those to backends are"),
    risk: "Low",
    value: int(1),
    does: "limits the requests of such a connection",
  }),
  "auth-keepalive-share-vars": row({
    ...BESIDE_URL,
    verdict: always("a subrequest shares nothing with its request"),
    risk: "Low",
    value: BOOL,
    does: "shares variables of nginx with the subrequest",
  }),
  "auth-keepalive-timeout": row({
    ...BESIDE_URL,
    verdict: always("connections to the server are kept, as those to backends are"),
    risk: "Low",
    value: SECONDS,
    does: "closes such a connection after so long without a request",
  }),
} satisfies Group;

const CERTIFICATE = { scope: "host", invalid: "close", protects: true, verdict: NOT_YET } as const;

export const CLIENT_CERTIFICATES = {
  "auth-tls-secret": row({
    ...CERTIFICATE,
    risk: "Medium",
    value: objectName("Secret", { needsNamespace: true }),
    does: "requires a client certificate of the CAs in this Secret",
    // Any other text, OFF too, leaves it at "on" in ingress-nginx.
    isHarmless: (_, { textOf }) => textOf("auth-tls-verify-client") === "off",
  }),
  "auth-tls-verify-client": row({
    ...CERTIFICATE,
    risk: "Medium",
    value: oneOf(["on", "off", "optional", "optional_no_ca"]),
    does: "says whether client certificates are required and verified",
  }),
  "auth-tls-verify-depth": row({
    ...CERTIFICATE,
    risk: "Low",
    value: int(0),
    does: "limits the length of the chain of a client certificate",
  }),
  "auth-tls-match-cn": row({
    ...CERTIFICATE,
    risk: "High",
    value: text(/^CN=[^\p{Cc}]+$/u, "CN= and a regular expression"),
    does: "rejects client certificates whose subject does not match with 403",
  }),
  "auth-tls-error-page": row({
    ...CERTIFICATE,
    risk: "High",
    value: LINE,
    does: "redirects clients without an accepted certificate to this URL",
  }),
  "auth-tls-pass-certificate-to-upstream": row({
    ...CERTIFICATE,
    risk: "Low",
    value: BOOL,
    does: "passes the client certificate to the backend in a header",
  }),
} satisfies Group;
