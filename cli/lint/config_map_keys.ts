/**
 * Keys of ingress-nginx's ConfigMap. In: the data of one. Out: for each key whether requests that
 * ingress-nginx refuses would be forwarded without it. Pingress does not read this ConfigMap yet.
 *
 * https://kubernetes.github.io/ingress-nginx/user-guide/nginx-configuration/configmap/
 */
import type { Verdict } from "./finding.ts";

export interface KeyFinding {
  readonly verdict: Verdict;
  readonly effect: string;
  readonly remedy: string;
}

const PER_INGRESS = "Write it as an annotation of each Ingress, then remove the key";

const NO_REPLACEMENT = "There is no replacement yet; protect the backends by other means";

/** Those that refuse requests, or decide which clients are believed. */
const PROTECTING: ReadonlyMap<string, readonly [effect: string, remedy: string]> = new Map([
  ["whitelist-source-range", ["admits these networks only, for all hosts", PER_INGRESS]],
  ["denylist-source-range", ["refuses these networks, for all hosts", PER_INGRESS]],
  ["block-cidrs", ["refuses these networks, for all hosts", PER_INGRESS]],
  ["block-user-agents", ["refuses clients by User-Agent", NO_REPLACEMENT]],
  ["block-referers", ["refuses requests by Referer", NO_REPLACEMENT]],
  ["global-auth-url", ["authenticates the requests of all hosts", NO_REPLACEMENT]],
  ["global-auth-snippet", ["adds directives to the authentication of all hosts", NO_REPLACEMENT]],
  ["enable-modsecurity", ["checks requests by ModSecurity", NO_REPLACEMENT]],
  ["enable-owasp-modsecurity-crs", ["adds the OWASP core rule set", NO_REPLACEMENT]],
  ["modsecurity-snippet", ["adds rules of ModSecurity", NO_REPLACEMENT]],
  ["main-snippet", ["adds directives to nginx.conf", NO_REPLACEMENT]],
  ["http-snippet", ["adds directives for HTTP", NO_REPLACEMENT]],
  ["server-snippet", ["adds directives to all hosts", NO_REPLACEMENT]],
  ["location-snippet", ["adds directives to all paths", NO_REPLACEMENT]],
  ["stream-snippet", ["adds directives for TCP and UDP", NO_REPLACEMENT]],
  ["force-ssl-redirect", ["redirects plain HTTP to HTTPS, for all hosts", PER_INGRESS]],
  ["use-proxy-protocol", [
    "reads the addresses of clients from the PROXY protocol",
    "Turn the PROXY protocol off at the load balancer, or keep the addresses of clients " +
    "by externalTrafficPolicy: Local",
  ]],
]);

const OTHERS: ReadonlyMap<string, readonly [effect: string, remedy: string]> = new Map([
  ["no-auth-locations", ["exempts paths from global-auth-url", "Remove it with global-auth-url"]],
  ["use-forwarded-headers", [
    "trusts X-Forwarded-* of clients",
    "Give the proxy --trusted-proxies with the networks of the load balancer",
  ]],
  ["proxy-real-ip-cidr", [
    "are the networks whose X-Forwarded-For is trusted",
    "Give them to the proxy by --trusted-proxies",
  ]],
  ["proxy-body-size", ["is the longest request body", PER_INGRESS]],
  ["proxy-connect-timeout", ["is the time for connections to backends", PER_INGRESS]],
  ["proxy-read-timeout", ["is the time between two reads from a backend", PER_INGRESS]],
  ["proxy-send-timeout", ["is the time between two writes to a backend", PER_INGRESS]],
]);

/** Snippet and risk settings only refuse Ingresses, and snippets are always refused here. */
const STRICTER_HERE: ReadonlySet<string> = new Set([
  "allow-snippet-annotations",
  "annotations-risk-level",
]);

const OFF: ReadonlySet<string> = new Set(["", "false"]);

export function judgeKey(key: string, value: unknown): KeyFinding {
  const isOff = OFF.has(String(value ?? "").trim().toLowerCase());
  const protecting = PROTECTING.get(key);
  if (protecting !== undefined) {
    const [effect, remedy] = protecting;
    return { verdict: isOff ? "SAME" : "OPENS", effect, remedy };
  }
  const [effect, remedy] = OTHERS.get(key) ??
    ["is a setting for all hosts", "Check whether a flag of the proxy has its effect"];
  return { verdict: isOff || STRICTER_HERE.has(key) ? "SAME" : "DIFFERS", effect, remedy };
}
