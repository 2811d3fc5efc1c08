/**
 * Broken values of annotations of ingress-nginx that protect. No value may stop the translation, and a
 * path may be forwarded only where every value is known to ask for nothing.
 */
import assert from "node:assert/strict";
import { isIP } from "node:net";
import { NGINX_PREFIX, ROWS } from "../../controller/translate/annotations/nginx/table.ts";
import { translate, type TranslateOptions } from "../../controller/translate/translator.ts";
import type { Action, FilterSpec, Policy } from "../../shared/snapshot/types.ts";
import { Random } from "./random.ts";
import { TRANSLATE_OPTIONS } from "../support/translate_options.ts";

type External = NonNullable<Extract<FilterSpec, { kind: "access" }>["external"]>;

const VALUES = 10_000;
/** In one translation. */
const BATCH = 500;

const OPTIONS: TranslateOptions = {
  ...TRANSLATE_OPTIONS,
  controllerNames: [],
  // In other classes, valid values that protect close their paths, too, and nothing would be shown.
  nginxClasses: ["pingress"],
};

/** What each of them needs beside it; the paths are closed by that one. */
const MAIN: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "auth-realm": { "auth-type": "basic", "auth-secret": "users" },
  "auth-secret": { "auth-type": "basic" },
  "auth-secret-type": { "auth-type": "basic", "auth-secret": "users" },
  "auth-type": { "auth-secret": "users" },
  "limit-allowlist": { "limit-rps": "5" },
  "limit-burst-multiplier": { "limit-rpm": "5" },
  "limit-rate-after": { "limit-rate": "5" },
  "modsecurity-transaction-id": { "enable-modsecurity": "true" },
};
const AUTH_URL: Readonly<Record<string, string>> = { "auth-url": "https://auth.example.com/" };

const PROTECTING = [...ROWS].filter(([, { protects }]) => protects)
  .flatMap(([name, { aliases = [] }]) => [name, ...aliases]);

/** Valid values of all types, which are cut, joined and changed. */
const SEEDS: readonly string[] = [
  ...["true", "false", "on", "off", "0", "5", "10.0.0.0/8", "0.0.0.0/0,::/0", "64k", "1g", "any"],
  ...["https://auth.example.com/x?y=$host", "default/users", "users", "X-User,X-Mail", "basic"],
  ...["TLSv1.2 TLSv1.3", "ECDHE-RSA-AES128-GCM-SHA256", "CN=^a$", "deny all;", "GRPC", "404,503"],
  ...["${", "$1", "\u0000", "\r\n", "\u202e", "'\"", "\\", "{}", "%2f..", "é", "\u{1f600}", "-1"],
  ...["null", "undefined", "__proto__", "1e9", "999999999999999999999", " ", "\t", ";", "#"],
];

Deno.test("no random value of what protects stops the translation, or forwards unprotected", () => {
  const random = new Random(18);
  let forwarded = 0;
  for (let done = 0; done < VALUES; done += BATCH) {
    const chosen = Array.from({ length: BATCH }, () => annotations(random));
    const { snapshot } = translate(clusterOf(chosen), null, OPTIONS, () => 0);
    assert.equal(snapshot.routes.length, BATCH);
    const sets = new Map(snapshot.filterSets?.map(({ id, filters }) => [id, filters]));
    const policies = new Map(snapshot.policies?.map((policy) => [policy.id, policy]));
    for (const { host, action, filterSet, policy } of snapshot.routes) {
      if (action.kind === "reply") {
        assert.equal(action.status, 503);
        continue;
      }
      forwarded++;
      const values = chosen[Number(host.split(".")[0])];
      const [access] = filterSet === undefined ? [] : sets.get(filterSet)!;
      const external = access?.kind === "access" ? access.external : undefined;
      for (const [name, value] of Object.entries(values)) {
        assert.ok(
          asksForNothing(name, value) || isEnforced(name, value, access) ||
            isSet(name, value, policies.get(policy ?? ""), action) ||
            (name === "auth-url" && isAsked(value, external)),
          `${name}: ${JSON.stringify(value)}`,
        );
      }
    }
  }
  // Else nothing was shown: some values do ask for nothing.
  assert.ok(forwarded > 10 && forwarded < VALUES / 4, `${forwarded}`);
});

/** What only adds to another annotation, whose value is looked at by itself. */
const ADDING =
  /^(auth-(realm|secret-type|method|signin.*|request-redirect|response-headers|proxy-set-headers|always-set-cookie|cache-.*|keepalive.*)|limit-(allowlist|whitelist|burst-multiplier|rate-after)|modsecurity-transaction-id)$/;

/** Kept apart from the table: what a reader of ingress-nginx's documentation would say. */
function asksForNothing(name: string, value: unknown): boolean {
  if (ADDING.test(name)) return true;
  const text = String(value ?? "").trim();
  if (text === "" && !Array.isArray(value)) return !name.endsWith("-source-range");
  // Neither Go nor nginx reads a switch, a number or a word with its line end.
  if (/^\s*\n|\n\s*$/.test(String(value)) && !/source-range$|^backend-protocol$/.test(name)) {
    return false;
  }
  switch (name) {
    case "allowlist-source-range":
    case "whitelist-source-range":
      return text === "0.0.0.0/0,::/0";
    case "proxy-body-size":
    case "proxy-ssl-server-name":
    case "proxy-ssl-verify":
      return /^(false|off|f|0)$/i.test(text);
    case "backend-protocol":
      return text.toUpperCase() === "HTTP";
    case "auth-tls-verify-client":
    case "enable-global-auth":
    case "enable-modsecurity":
    case "enable-owasp-core-rules":
    case "force-ssl-redirect":
    case "global-rate-limit":
    case "limit-connections":
    case "limit-rate":
    case "limit-rpm":
    case "limit-rps":
    case "proxy-ssl-verify-depth":
    case "auth-tls-verify-depth":
    case "auth-tls-pass-certificate-to-upstream":
    case "ssl-passthrough":
    case "ssl-redirect":
      return /^(false|f|off|0)$/i.test(text);
    case "satisfy":
      return /^(false|f|off|0)$/i.test(text) || text === "any" || text === "all";
    default:
      return false;
  }
}

/** Whether a filter of the route asks for a login, or does what a list of networks asks for. */
function isEnforced(name: string, value: unknown, filter: FilterSpec | undefined): boolean {
  if (filter?.kind !== "access") return false;
  if (name === "auth-type") return String(value).trim() === "basic" && filter.basic !== undefined;
  if (name === "auth-secret") {
    const secret = String(value).trim().replace(/^default\//, "");
    return filter.basic?.credentials.split(" ")[0] === `default/${secret}`;
  }
  if (!name.endsWith("-source-range")) return false;
  const parts = String(value).trim().split(",").map((part) => part.trim());
  const networks = name.startsWith("deny") ? filter.deny : filter.allow;
  const isList = parts.every((part) => isIP(part.split("/")[0]) !== 0);
  return isList && networks !== undefined && networks.length === new Set(networks).size &&
    networks.length <= parts.length;
}

/** Whether requests of the route are authenticated at this URL. */
function isAsked(value: unknown, external: External | undefined): boolean {
  const [, scheme, authority, rest] = /^(https?):\/\/([^/?]+)(.*)$/i.exec(String(value).trim()) ??
    [];
  if (external === undefined || scheme === undefined) return false;
  const written = (parts: External["target"]) =>
    parts.map((part) => part.kind === "text" ? part.text : `$${part.name}`).join("");
  return scheme.toLowerCase() === external.scheme &&
    written(external.authority) === plain(authority) &&
    written(external.target) === plain(rest.startsWith("/") ? rest : `/${rest}`);
}

/** Without braces, and of the namespace its name. */
function plain(text: string): string {
  return text.replace(/\$\{(\w+)\}/g, "$$$1").replace("$namespace", "default");
}

/** Whether the route's policy and upstream are as a value says. */
function isSet(name: string, value: unknown, policy: Policy | undefined, action: Action): boolean {
  const text = String(value).trim();
  switch (name) {
    case "proxy-body-size": {
      const size = /^(\d+)([kmg]?)$/i.exec(text);
      const unit = { "": 1, k: 1024, m: 2 ** 20, g: 2 ** 30 }[size?.[2].toLowerCase() ?? ""]!;
      return size !== null && policy?.bodyLimit === Number(size[1]) * unit;
    }
    case "force-ssl-redirect":
      return /^(1|t|true)$/i.test(text) && policy?.httpsRedirect?.when === "always";
    case "ssl-redirect":
      return /^(1|t|true)$/i.test(text) &&
        /^(always|certificate)$/.test(policy?.httpsRedirect?.when ?? "");
    case "backend-protocol": {
      const protocol = { GRPC: "h2c", GRPCS: "h2", HTTPS: "https" }[text.toUpperCase()];
      return protocol !== undefined && action.kind === "forward" &&
        action.backends[0].upstream.split("+")[1] === protocol;
    }
    case "proxy-ssl-server-name":
    case "proxy-ssl-verify":
      return text === "on";
    case "proxy-ssl-verify-depth":
      return /^\+?\d+$/.test(text);
    case "proxy-ssl-protocols":
      return /^((SSLv[23]|TLSv1(\.[123])?)( |$) *)+$/.test(text) && /TLSv1\.[23]/.test(text);
    case "proxy-ssl-name":
      return /^[a-z\d]([-a-z\d.]*[a-z\d])?$/i.test(text) && !/\.[.-]|-\./.test(text);
    // Without TLS to the backend it has no effect.
    case "proxy-ssl-secret":
      return /^[a-z\d.-]+\/[a-z\d.-]+$/.test(text);
    default:
      return false;
  }
}

/** One or two that protect, each with what it needs. */
function annotations(random: Random): Readonly<Record<string, unknown>> {
  const names = Array.from({ length: random.between(1, 2) }, () => random.pick(PROTECTING));
  return Object.assign(
    {},
    ...names.map((name) => ({
      ...(MAIN[name] ?? (ROWS.get(name)?.beside !== undefined ? AUTH_URL : {})),
      ...(name === "limit-whitelist" ? MAIN["limit-allowlist"] : {}),
      [name]: brokenValue(random),
    })),
  );
}

function brokenValue(random: Random): unknown {
  if (random.oneIn(50)) return random.pick([null, 0, 5, true, false, {}, [], ["true"]]);
  const text = Array.from({ length: random.between(1, 3) }, () => random.pick(SEEDS)).join(
    random.pick(["", "", ",", " ", "\n"]),
  );
  if (random.oneIn(3)) return text;
  const at = random.below(text.length + 1);
  const other = random.oneIn(2) ? random.pick(SEEDS) : String.fromCharCode(random.below(0x3000));
  return text.slice(0, at) + other + text.slice(at + random.below(3));
}

function clusterOf(chosen: readonly Readonly<Record<string, unknown>>[]) {
  const service = { name: "web", port: { number: 80 } };
  const ingresses = chosen.map((values, i) => ({
    metadata: {
      name: `web-${i}`,
      namespace: "default",
      annotations: Object.fromEntries(
        Object.entries(values).map(([name, value]) => [NGINX_PREFIX + name, value]),
      ),
    },
    spec: {
      ingressClassName: "pingress",
      rules: [{
        host: `${i}.example.com`,
        http: { paths: [{ path: "/", pathType: "Prefix", backend: { service } }] },
      }],
    },
  }));
  return {
    ingresses,
    ingressClasses: [],
    services: [{
      metadata: { name: "web", namespace: "default" },
      spec: { ports: [{ port: 80, targetPort: 8080 }] },
    }],
    endpointSlices: [{
      metadata: {
        name: "web-1",
        namespace: "default",
        labels: { "kubernetes.io/service-name": "web" },
      },
      addressType: "IPv4",
      endpoints: [{ addresses: ["10.0.0.1"] }],
      ports: [{ port: 8080 }],
    }],
    secrets: [],
  } as Parameters<typeof translate>[0];
}
