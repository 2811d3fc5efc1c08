/** Annotations that answer requests with a redirect. */
import { asList, fieldOf } from "../../../../base/json.ts";
import { always, flag, type Group, instead, NOT_YET, row } from "./row.ts";
import { ABSOLUTE_PATH, BOOL, int, URL_TEXT } from "./value.ts";

const REDIRECT = { scope: "path", invalid: "default", protects: false, verdict: NOT_YET } as const;

export const REDIRECTS = {
  "permanent-redirect": row({
    ...REDIRECT,
    risk: "Medium",
    value: URL_TEXT,
    breaks: true,
    does: "answers with 301 to this URL",
  }),
  "permanent-redirect-code": row({
    ...REDIRECT,
    risk: "Low",
    value: int(300, 308),
    does: "replaces 301 of permanent-redirect",
  }),
  "temporal-redirect": row({
    ...REDIRECT,
    risk: "Medium",
    value: URL_TEXT,
    breaks: true,
    does: "answers with 302 to this URL",
  }),
  "temporal-redirect-code": row({
    ...REDIRECT,
    risk: "Low",
    value: int(300, 307),
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
    value: ABSOLUTE_PATH,
    does: "redirects requests for / to this path",
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
