/**
 * nginx as ingress-nginx configures it. In: Ingresses with annotations, each with a host of its own.
 * Out: the server blocks that its template writes for them, as far as no Lua is needed.
 *
 * Written by hand after rootfs/etc/nginx/template/nginx.tmpl and internal/ingress/annotations of
 * k8s.io/ingress-nginx v0.0.0-20240708192948-52c50467d67d; temporal-redirect-code came later.
 */
import type { AnnotatedIngress } from "../support/annotated_ingresses.ts";

export interface HostedIngress extends AnnotatedIngress {
  readonly host: string;
  /** Whether a certificate names the host. */
  readonly isSecure?: boolean;
  /** The file that ingress-nginx writes the Secret of auth-secret to. */
  readonly users?: string;
  /** Port of its own endpoint, in place of the backend that all share; null where there is none. */
  readonly endpoint?: number | null;
}

/** Of HTTPS, as clients know it. */
export const HTTPS_PORT = 443;

/**
 * Of `http`, for a port to listen on and that of the backend.
 *
 * @param data Of the ConfigMap.
 * @param log The access log; empty for none.
 */
export function ingressServers(
  ingresses: readonly HostedIngress[],
  port: number,
  backendPort: number,
  data: Readonly<Record<string, string>> = {},
  log = "",
): string {
  const all = [...(log === "" ? [] : [`access_log ${log} combined;`]), blockedRequests(data)];
  const servers = ingresses.map((ingress) => serverOf(ingress, port, all.join(" ")));
  return `  error_log /dev/null crit;
  server_names_hash_bucket_size 128;
  port_in_redirect off;
  map $request_uri $cut_uri {
    ~^(?<start>.*)/$ $start;
    default $request_uri;
  }
  upstream backend {
    server 127.0.0.1:${backendPort};
  }
${blockedClients(data)}
${servers.join("")}`;
}

function listOf(text: string | undefined): string[] {
  return text === undefined ? [] : text.split(",").map((part) => part.trim());
}

/** "Global filters" of the template. */
function blockedClients(data: Readonly<Record<string, string>>): string {
  const map = (key: string, source: string, name: string) =>
    key in data
      ? [
        `map ${source} ${name} { default 0; ${
          listOf(data[key]).map((text) => `${text} 1;`).join(" ")
        } }`,
      ]
      : [];
  return [
    ...listOf(data["block-cidrs"]).map((network) => `deny ${network};`),
    ...map("block-user-agents", "$http_user_agent", "$block_ua"),
    ...map("block-referers", "$http_referer", "$block_ref"),
  ].map((line) => `  ${line}`).join("\n");
}

/** Of each server. */
function blockedRequests(data: Readonly<Record<string, string>>): string {
  return [["block-user-agents", "$block_ua"], ["block-referers", "$block_ref"]]
    .filter(([key]) => key in data)
    .map(([, name]) => `if (${name}) { return 403; }`).join(" ");
}

function serverOf(ingress: HostedIngress, port: number, all: string): string {
  const { host, annotations, paths } = ingress;
  const aliases = (annotations["server-alias"] ?? "").split(",").map((name) => name.trim());
  const locations = paths.flatMap(([path, type]) => {
    const body = locationBody(ingress);
    if (type === "Exact") return [`location = ${path} {${body}}`];
    if (path === "/") return [`location / {${body}}`];
    // A Prefix takes whole segments: updateServerLocations in internal/ingress/controller. So does
    // ImplementationSpecific: SetDefaultNGINXPathType in internal/k8s.
    const below = path.endsWith("/") ? path : `${path}/`;
    return [`location ${below} {${body}}`, `location = ${path} {${body}}`];
  });
  // What no path takes is the default backend's.
  if (!paths.some(([path, type]) => path === "/" && type !== "Exact")) {
    locations.push("location / { return 404; }");
  }
  const appRoot = annotations["app-root"];
  const www = host.startsWith("www.") ? host.slice(4) : `www.${host}`;
  // As `set_by_lua_block $redirect_to` does with a port of 443.
  const redirect = annotations["from-to-www-redirect"] === "true"
    ? `  server {
    listen 127.0.0.1:${port};
    server_name ${www};
    ${all}
    return 308 $scheme://${host}$cut_uri;
  }
`
    : "";
  return `${redirect}  server {
    listen 127.0.0.1:${port};
    server_name ${host} ${aliases.join(" ")};
    set $namespace default;
    ${all}
    ${appRoot === undefined ? "" : `if ($uri = /) { return 302 $scheme://$http_host${appRoot}; }`}
    ${locations.join("\n    ")}
  }
`;
}

function locationBody(ingress: HostedIngress): string {
  const { annotations } = ingress;
  const directives = [
    ...(annotations["enable-access-log"] === "false" ? ["access_log off"] : []),
    ...(annotations["relative-redirects"] === "true" ? ["absolute_redirect off"] : []),
    ...networks(annotations["denylist-source-range"]).map((network) => `deny ${network}`),
    ...allowed(networks(annotations["allowlist-source-range"])),
    "proxy_http_version 1.1",
    `proxy_set_header Host ${JSON.stringify(annotations["upstream-vhost"] ?? "$http_host")}`,
    ...returned(annotations),
    ...toHttps(ingress),
    ...authenticated(ingress),
    ...satisfied(annotations),
    ...passed(ingress),
  ];
  return ` ${directives.join("; ")}; `;
}

function passed({ endpoint }: HostedIngress): string[] {
  if (endpoint === undefined) return ["proxy_pass http://backend"];
  // As rewrite() in rootfs/etc/nginx/lua/balancer.lua does, which nginx calls after `return`.
  if (endpoint === null) return ["return 503"];
  return [`proxy_pass http://127.0.0.1:${endpoint}`];
}

export function authenticated({ annotations, users }: HostedIngress): string[] {
  if (annotations["auth-type"] !== "basic") return [];
  return [
    `auth_basic ${JSON.stringify(annotations["auth-realm"] ?? "")}`,
    `auth_basic_user_file ${users}`,
    'proxy_set_header Authorization ""',
  ];
}

export function satisfied({ satisfy }: AnnotatedIngress["annotations"]): string[] {
  return satisfy === undefined ? [] : [`satisfy ${satisfy}`];
}

export function networks(list: string | undefined): string[] {
  return list === undefined ? [] : list.split(",").map((network) => network.trim());
}

export function allowed(list: readonly string[]): string[] {
  return list.length === 0 ? [] : [...list.map((network) => `allow ${network}`), "deny all"];
}

/** As redirect.go reads them: a code out of range is that without the annotation. */
export function returned(annotations: AnnotatedIngress["annotations"]): string[] {
  const temporal = annotations["temporal-redirect"];
  if (temporal !== undefined) {
    return [`return ${codeOf(annotations["temporal-redirect-code"], 307, 302)} ${temporal}`];
  }
  const permanent = annotations["permanent-redirect"];
  if (permanent === undefined) return [];
  return [`return ${codeOf(annotations["permanent-redirect-code"], 308, 301)} ${permanent}`];
}

function codeOf(text: string | undefined, highest: number, otherwise: number): number {
  const code = Number(text ?? 0);
  return code >= 300 && code <= highest ? code : otherwise;
}

/**
 * As rewrite() in rootfs/etc/nginx/lua/lua_ingress.lua does for plain HTTP, which nginx calls after
 * `return`. $host is Host in lower case and without its port, as is the name that is matched.
 */
export function toHttps({ annotations, isSecure }: HostedIngress): string[] {
  const isOn = (name: string) => annotations[name] === "true";
  const redirects = isOn("force-ssl-redirect") ||
    (isSecure === true && (annotations["ssl-redirect"] ?? "true") === "true");
  if (!redirects) return [];
  const port = isOn("use-port-in-redirects") ? `:${HTTPS_PORT}` : "";
  const uri = isOn("preserve-trailing-slash") ? "$request_uri" : "$cut_uri";
  return [`return 308 https://$host${port}${uri}`];
}
