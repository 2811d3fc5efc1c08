/** Annotations that answer requests with a redirect. */
import { asList, fieldOf } from "../../../../base/json.ts";
import { always, differs, flag, type Group, HONOURED, instead, NOT_YET, row } from "./row.ts";
import { BOOL, REDIRECT_PATH, REDIRECT_URL, redirectCode } from "./value.ts";

const REDIRECT = { scope: "path", invalid: "default", protects: false, verdict: NOT_YET } as const;

/** The redirect to HTTPS may concern what must not be sent in plain text, so it comes first here. */
const AFTER_HTTPS = "plain HTTP to a host with a certificate is redirected to HTTPS first";

export const REDIRECTS = {
  "permanent-redirect": row({
    ...REDIRECT,
    risk: "Medium",
    value: REDIRECT_URL,
    verdict: differs(AFTER_HTTPS),
    does: "responds with 301 and this URL",
  }),
  "permanent-redirect-code": row({
    ...REDIRECT,
    risk: "Low",
    value: redirectCode([301, 302, 303, 307, 308]),
    verdict: HONOURED,
    does: "replaces 301 of permanent-redirect",
  }),
  "temporal-redirect": row({
    ...REDIRECT,
    risk: "Medium",
    value: REDIRECT_URL,
    verdict: differs(AFTER_HTTPS),
    does: "responds with 302 and this URL",
  }),
  "temporal-redirect-code": row({
    ...REDIRECT,
    risk: "Low",
    value: redirectCode([301, 302, 303, 307]),
    verdict: HONOURED,
    does: "replaces 302 of temporal-redirect",
  }),
  "from-to-www-redirect": row({
    ...REDIRECT,
    risk: "Low",
    scope: "host",
    value: BOOL,
    does: "redirects the host with www. to the one without, or the other way round",
  }),
  "app-root": row({
    ...REDIRECT,
    risk: "Medium",
    scope: "host",
    value: REDIRECT_PATH,
    verdict: differs(
      `requests for / are redirected where a path of the same Ingress takes them; ${AFTER_HTTPS}`,
    ),
    does: "redirects requests for / to this path with 302",
  }),
  "ssl-redirect": row({
    ...REDIRECT,
    risk: "Low",
    value: BOOL,
    protects: true,
    invalid: "close",
    verdict: flag(
      "Plain HTTP to hosts with a certificate is sent to HTTPS unless the proxy's --ssl-redirect is false",
    ),
    does: "redirects plain HTTP to HTTPS where the host has a certificate; the default",
    // Such hosts are redirected already; without a certificate it has no effect in ingress-nginx.
    isCovered: true,
  }),
  "force-ssl-redirect": row({
    ...REDIRECT,
    risk: "Medium",
    value: BOOL,
    protects: true,
    invalid: "close",
    verdict: instead(
      "Give the host a certificate by spec.tls: plain HTTP to it is then sent to HTTPS (the proxy's --ssl-redirect, on by default)",
    ),
    closedRemedy: "Name every host in spec.tls: plain HTTP to it is then redirected to HTTPS",
    does: "redirects plain HTTP to HTTPS, also where the host has no certificate",
    isHarmless: (isOn, { spec }) => !isOn || hasTlsForEveryHost(spec),
  }),
  "preserve-trailing-slash": row({
    ...REDIRECT,
    risk: "Medium",
    value: BOOL,
    verdict: always("a last slash is neither taken off nor added"),
    does: "keeps a slash at the end of the path in the redirect to HTTPS",
  }),
  "relative-redirects": row({
    ...REDIRECT,
    risk: "Low",
    value: BOOL,
    verdict: always(
      "each redirect has the URL that its annotation says, or scheme and host of the request",
    ),
    does: "leaves scheme and host out of Location in redirects of the proxy itself",
  }),
  "use-port-in-redirects": row({
    ...REDIRECT,
    risk: "Low",
    value: BOOL,
    verdict: flag("The proxy's --ssl-redirect-port stands in for it"),
    does: "adds the port to Location in redirects of the proxy itself",
  }),
} satisfies Group;

/** A set of the names: rules and names may be 10,000 each, and took seconds to be compared all. */
function hasTlsForEveryHost(spec: unknown): boolean {
  const names = new Set(
    (asList(fieldOf(spec, "tls")) ?? []).flatMap((entry) => asList(fieldOf(entry, "hosts")) ?? []),
  );
  const rules = asList(fieldOf(spec, "rules")) ?? [];
  return rules.length > 0 && rules.every((rule) => {
    const host = fieldOf(rule, "host");
    return typeof host === "string" && (names.has(host) ||
      names.has(`*${host.slice(Math.max(0, host.indexOf(".")))}`));
  });
}
