/**
 * Annotations of ingress-nginx that must not be ignored. In: the annotations and the spec of an
 * Ingress. Out: a refusal for each one that protects its paths, or changes what they mean, and is
 * not supported here. Paths of a refused Ingress answer 503: serving them would be weaker than what
 * the annotation asks for.
 *
 * Each is judged by its value: a list that admits everybody, `false`, `off`, `0` or nothing protects
 * nothing. cert-manager writes `0.0.0.0/0,::/0` on the Ingress of every HTTP-01 solver.
 */
import type { ReplyAction } from "../../../../shared/snapshot/types.ts";
import { asList, asObject, fieldOf, isAbsent, quote } from "../../../base/json.ts";
import type { ProtocolWish, Refusal } from "../../model/source.ts";

export const NGINX_PREFIX = "nginx.ingress.kubernetes.io/";

/** Values by the name without the prefix, trimmed; null where the value is no text. */
type Values = ReadonlyMap<string, string | null>;

interface Rule {
  readonly scope: "paths" | "host";
  readonly remedy: string;
  /** Whether the value asks for something; without it any value that is not inert does. */
  readonly counts?: (value: string, values: Values, spec: unknown) => boolean;
}

const NO_REMEDY = "Remove the annotation if the paths may be served without it";
const PATHS: Rule = { scope: "paths", remedy: NO_REMEDY };
const HOST: Rule = { scope: "host", remedy: NO_REMEDY };
const ALLOW_LIST: Rule = { ...PATHS, counts: (value) => !admitsEverybody(value) };

/** The body limit that ingress-nginx has without the annotation: a larger one only loosens it. */
const NGINX_BODY_LIMIT = 1 << 20;

const RULES: ReadonlyMap<string, Rule> = new Map<string, Rule>([
  ["allowlist-source-range", ALLOW_LIST],
  ["auth-secret", PATHS],
  ["auth-snippet", PATHS],
  ["auth-tls-error-page", HOST],
  ["auth-tls-match-cn", HOST],
  ["auth-tls-pass-certificate-to-upstream", HOST],
  ["auth-tls-secret", {
    ...HOST,
    counts: (_, values) => values.get("auth-tls-verify-client")?.toLowerCase() !== "off",
  }],
  ["auth-tls-verify-client", HOST],
  ["auth-tls-verify-depth", HOST],
  ["auth-type", PATHS],
  ["auth-url", PATHS],
  ["configuration-snippet", PATHS],
  ["custom-headers", PATHS],
  ["denylist-source-range", PATHS],
  ["enable-global-auth", PATHS],
  ["enable-modsecurity", PATHS],
  ["enable-owasp-core-rules", PATHS],
  ["force-ssl-redirect", {
    scope: "paths",
    remedy: "Name every host in spec.tls: plain HTTP to it is then redirected to HTTPS",
    counts: (_, _values, spec) => !hasTlsForEveryHost(spec),
  }],
  ["global-rate-limit", PATHS],
  ["limit-connections", PATHS],
  ["limit-rate", PATHS],
  ["limit-rpm", PATHS],
  ["limit-rps", PATHS],
  ["modsecurity-snippet", PATHS],
  ["permanent-redirect", PATHS],
  ["proxy-body-size", {
    scope: "paths",
    remedy: "Set the proxy's --body-limit, then remove the annotation",
    counts: (value) => sizeOf(value) < NGINX_BODY_LIMIT,
  }],
  ["proxy-ssl-ciphers", PATHS],
  ["proxy-ssl-name", {
    scope: "paths",
    remedy: "Annotate the Service with pingress.io/upstream-tls-name, then remove the annotation",
  }],
  ["proxy-ssl-protocols", { ...PATHS, counts: (value) => !/(^|\s)TLSv1\.2(\s|$)/.test(value) }],
  ["proxy-ssl-secret", {
    scope: "paths",
    remedy: "Annotate the Service with pingress.io/upstream-tls-ca and " +
      "pingress.io/upstream-tls-client-certificate, then remove the annotation",
  }],
  ["proxy-ssl-verify-depth", PATHS],
  ["rewrite-target", {
    scope: "paths",
    remedy: "Let the backend serve the path as clients request it, then remove the annotation",
    counts: (value, _, spec) => pathsOf(spec).some((path) => path !== value),
  }],
  ["satisfy", PATHS],
  ["server-snippet", HOST],
  ["ssl-ciphers", HOST],
  ["ssl-passthrough", HOST],
  ["stream-snippet", HOST],
  ["temporal-redirect", PATHS],
  ["use-regex", {
    scope: "paths",
    remedy: "Write paths without patterns, of type Prefix or Exact, then remove the annotation",
  }],
  ["whitelist-source-range", ALLOW_LIST],
]);

/** What asks for nothing: the parser of Go's booleans, and nginx's own words. */
const INERT: ReadonlySet<string> = new Set(["", "false", "f", "off", "0"]);

/** Names of the annotations that close paths, without the prefix. */
export const REFUSABLE: readonly string[] = [...RULES.keys(), "backend-protocol"].sort();

/** The refusals of one Ingress, in the order of their names. */
export function readRefusals(annotations: unknown, spec: unknown): readonly Refusal[] {
  const written = asObject(annotations);
  if (written === null) return [];
  const values: Values = new Map(
    Object.keys(written).filter((name) => name.startsWith(NGINX_PREFIX)).sort()
      .map((name) => [name.slice(NGINX_PREFIX.length), textOf(written[name])]),
  );
  const refusals: Refusal[] = [];
  for (const [name, value] of values) {
    const rule = RULES.get(name);
    if (rule === undefined || (value !== null && INERT.has(value.toLowerCase()))) continue;
    if (value !== null && rule.counts?.(value, values, spec) === false) continue;
    refusals.push({
      name,
      field: fieldOfAnnotation(name),
      isHostWide: rule.scope === "host",
      remedy: rule.remedy,
    });
  }
  return refusals;
}

export function fieldOfAnnotation(name: string): string {
  return `metadata.annotations[${JSON.stringify(NGINX_PREFIX + name)}]`;
}

/** Null without the annotation; nginx reads what it does not know as HTTP. */
export function readProtocolWish(annotations: unknown): ProtocolWish | null {
  const name = `${NGINX_PREFIX}backend-protocol`;
  if (asObject(annotations)?.[name] === undefined) return null;
  const value = textOf(fieldOf(annotations, name))?.toUpperCase() ?? "";
  return PROTOCOLS.get(value) ?? HTTP;
}

const HTTP: ProtocolWish = {
  protocols: ["http"],
  remedy: "Write appProtocol: http at the Service's port, or remove the annotation",
};

const PROTOCOLS: ReadonlyMap<string, ProtocolWish> = new Map<string, ProtocolWish>([
  ["AUTO_HTTP", {
    protocols: ["http", "https"],
    remedy: "Write appProtocol: http or https at the Service's port",
  }],
  ["HTTPS", { protocols: ["https"], remedy: "Write appProtocol: https at the Service's port" }],
  ["GRPC", {
    protocols: ["h2c"],
    remedy: "Write appProtocol: kubernetes.io/h2c at the Service's port",
  }],
  ["GRPCS", { protocols: ["h2"], remedy: "Write appProtocol: grpcs at the Service's port" }],
  ["FCGI", { protocols: [], remedy: "Put an HTTP server before the FastCGI backend" }],
]);

/** Whether an Ingress is a canary: another one's alternative, never a route of its own. */
export function isCanary(annotations: unknown): boolean {
  const value = textOf(fieldOf(annotations, `${NGINX_PREFIX}canary`));
  return value !== null && ["1", "t", "true"].includes(value.toLowerCase());
}

/** The answer of a closed path. The reason is for `explain`; clients see the status alone. */
export function closedAnswer(name: string, ingress: string): ReplyAction {
  return {
    kind: "reply",
    status: 503,
    reason: `annotation ${quote(NGINX_PREFIX + name)} of ${ingress} is not supported`,
    closed: true,
  };
}

/** YAML that was not quoted has booleans and numbers; the API has text alone. */
function textOf(value: unknown): string | null {
  if (isAbsent(value)) return "";
  if (typeof value === "string") return value.trim();
  return typeof value === "boolean" || typeof value === "number" ? String(value) : null;
}

/**
 * Whether a list of networks has all of IPv4 and all of IPv6. The colon is looked for by itself: two
 * repetitions around it took 48 s for 240,000 colons.
 */
function admitsEverybody(list: string): boolean {
  const networks = list.split(",").map((network) => network.trim());
  return networks.some((network) => /^[\d.]+\/0$/.test(network)) &&
    networks.some((network) => network.includes(":") && /^[\da-f:]*\/0$/i.test(network));
}

/** Bytes of nginx's notation; 0 for what cannot be read, the strictest limit. */
function sizeOf(value: string): number {
  const size = /^(\d+)([kmg]?)$/i.exec(value);
  if (size === null) return 0;
  const bytes = Number(size[1]) * 1024 ** ["", "k", "m", "g"].indexOf(size[2].toLowerCase());
  return bytes === 0 ? Infinity : bytes;
}

function pathsOf(spec: unknown): unknown[] {
  return (asList(fieldOf(spec, "rules")) ?? []).flatMap((rule) =>
    (asList(fieldOf(fieldOf(rule, "http"), "paths")) ?? []).map((path) => fieldOf(path, "path"))
  );
}

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
