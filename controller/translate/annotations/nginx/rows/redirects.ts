/** Annotations that answer requests with a redirect. */
import { differs, type Group, HONOURED, NOT_YET, row } from "./row.ts";
import { BOOL, REDIRECT_PATH, REDIRECT_TARGET, REDIRECT_URL, redirectCode } from "./value.ts";

const REDIRECT = { scope: "path", invalid: "default", protects: false, verdict: NOT_YET } as const;

/** Clients who are to be redirected must not get a response of the backend. */
const TARGET = { ...REDIRECT, invalid: "close" } as const;

/** Statuses that ingress-nginx accepts, of responses of nginx without a Location. */
function withoutLocation(code: string): string | null {
  return /^30[0456]$/.test(code) ? "ingress-nginx responds with that status and no Location" : null;
}

/** Of the redirect to HTTPS. */
const OF_PATHS = "requests that no path takes are redirected as those of hosts without annotations";

export const REDIRECTS = {
  "permanent-redirect": row({
    ...TARGET,
    risk: "Medium",
    value: REDIRECT_TARGET,
    verdict: differs(
      "for an absolute path, Location has the host and port as the client has sent them",
    ),
    isSame: (target) => !target.startsWith("/"),
    does: "responds with 301 and this URL",
  }),
  "permanent-redirect-code": row({
    ...REDIRECT,
    risk: "Low",
    value: redirectCode([301, 302, 303, 307, 308]),
    verdict: HONOURED,
    does: "replaces 301 of permanent-redirect",
    effectThere: withoutLocation,
  }),
  "temporal-redirect": row({
    ...TARGET,
    risk: "Medium",
    value: REDIRECT_URL,
    verdict: HONOURED,
    does: "responds with 302 and this URL",
  }),
  "temporal-redirect-code": row({
    ...REDIRECT,
    risk: "Low",
    value: redirectCode([301, 302, 303, 307]),
    verdict: HONOURED,
    does: "replaces 302 of temporal-redirect",
    effectThere: withoutLocation,
  }),
  "from-to-www-redirect": row({
    ...REDIRECT,
    risk: "Low",
    scope: "host",
    value: BOOL,
    verdict: differs(
      "Location has the port of the request, and HTTPS to the other name needs a TLS entry that lists it, or one without hosts",
    ),
    does: "redirects the host with www. to the one without, or the other way round",
  }),
  "app-root": row({
    ...TARGET,
    risk: "Medium",
    scope: "host",
    value: REDIRECT_PATH,
    verdict: differs("requests for / are redirected where a path of the same Ingress takes them"),
    does: "redirects requests for / to this path with 302",
  }),
  "ssl-redirect": row({
    ...REDIRECT,
    risk: "Low",
    value: BOOL,
    protects: true,
    invalid: "close",
    verdict: differs(
      `${OF_PATHS}, TLS entries whose Secrets are missing or broken cause it only for the Ingress ` +
        "that has both them and the annotation, and requests below /.well-known/acme-challenge/ are exempt",
    ),
    // It is the default.
    protectsBeside: [],
    does:
      "redirects plain HTTP to HTTPS where the Ingress has TLS entries or the host a certificate; the default",
  }),
  "force-ssl-redirect": row({
    ...REDIRECT,
    risk: "Medium",
    value: BOOL,
    protects: true,
    invalid: "close",
    verdict: differs(OF_PATHS),
    does: "redirects plain HTTP to HTTPS, also where the host has no certificate",
  }),
  "preserve-trailing-slash": row({
    ...REDIRECT,
    risk: "Medium",
    value: BOOL,
    verdict: HONOURED,
    does:
      "keeps a slash at the end of the URL in the redirect to HTTPS; in the profile nginx it is left out otherwise",
  }),
  "relative-redirects": row({
    ...REDIRECT,
    risk: "Low",
    value: BOOL,
    verdict: HONOURED,
    does:
      "leaves scheme and host out of Location where permanent-redirect is a path and, in the profile nginx, where /path is redirected to /path/",
  }),
  "use-port-in-redirects": row({
    ...REDIRECT,
    risk: "Low",
    value: BOOL,
    verdict: differs(
      "the port is the public one (the proxy's --ssl-redirect-port), and one other than 443 is there without the annotation, too",
    ),
    does: "adds the port to Location in the redirect to HTTPS",
  }),
} satisfies Group;
