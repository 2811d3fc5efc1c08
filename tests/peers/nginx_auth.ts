/**
 * nginx as ingress-nginx configures hosts with authentication, redirects, rewrites and regular expressions. In:
 * Ingresses, each with a host of its own, and keys of the ConfigMap. Out: the server blocks that its template
 * writes for them, as far as no module of its own is needed.
 *
 * Written by hand after rootfs/etc/nginx/template/nginx.tmpl and internal/ingress/controller/template of
 * k8s.io/ingress-nginx v0.0.0-20240708192948-52c50467d67d.
 */
import {
  allowed,
  authenticated,
  type HostedIngress,
  networks,
  returned,
  satisfied,
  toHttps,
} from "./nginx_ingress.ts";
import { locationBlocks, needsRewrite, type PlacedLocation } from "./nginx_regex.ts";
import {
  type Annotations,
  authRequest,
  signinLocation,
  signinVariables,
  subrequestLocation,
} from "./nginx_subrequest.ts";

/** A host of one server. */
export interface AuthIngress extends HostedIngress {
  /** Of the ConfigMap, for this Ingress alone. */
  readonly data?: Annotations;
}

/** What else the servers need to know. */
export interface AuthSetting {
  readonly port: number;
  readonly backendPort: number;
  /** All targets that are requested. */
  readonly targets: readonly string[];
}

/** Of `http`. */
export function authServers(ingresses: readonly AuthIngress[], setting: AuthSetting): string {
  return `  error_log /dev/null crit;
  server_names_hash_bucket_size 128;
  port_in_redirect off;
  client_max_body_size 1m;
  proxy_cache_path auth-cache levels=1:2 keys_zone=auth_cache:1m use_temp_path=off;
  map $request_uri $cut_uri {
    ~^(?<start>.*)/$ $start;
    default $request_uri;
  }
${signinVariables(setting.targets)}
  upstream backend {
    server 127.0.0.1:${setting.backendPort};
  }
${ingresses.map((ingress) => serverOf(ingress, setting)).join("")}`;
}

/** What no path takes is the default backend's. */
const NO_PATH: PlacedLocation = { path: "/", type: "Prefix", target: "", usesRegex: false };

function serverOf(ingress: AuthIngress, { port, backendPort }: AuthSetting): string {
  const { host, annotations, paths } = ingress;
  const target = annotations["rewrite-target"] ?? "";
  const usesRegex = annotations["use-regex"] === "true";
  const locations = paths.map(([path, written]): PlacedLocation => {
    const type = written === "ImplementationSpecific" ? "Prefix" : written;
    return { path, type, target, usesRegex };
  });
  const hasRoot = locations.some(({ path, type }) => path === "/" && type === "Prefix");
  const internal: string[] = [];
  const blocks = locationBlocks(hasRoot ? locations : [...locations, NO_PATH], (location) => {
    if (location === NO_PATH) return " return 404; ";
    const { path, type } = location;
    const external = externalOf(ingress);
    const id = `${path.replace(/[^\w]/g, (char) => `_${char.charCodeAt(0)}_`)}-${type}`;
    if (external !== null) {
      internal.push(subrequestLocation(external, { host, id, backendPort }));
      internal.push(signinLocation(external, id));
    }
    const isOpen = listOf(ingress.data?.["no-auth-locations"] ?? "/.well-known/acme-challenge")
      .some((start) => path.startsWith(start));
    return bodyOf(
      ingress,
      location,
      isOpen ? [] : [
        ...(external === null ? [] : authRequest(external, id)),
        ...authenticated(ingress),
      ],
    );
  });
  const appRoot = annotations["app-root"];
  return `${wwwServer(ingress, port)}  server {
    listen 127.0.0.1:${port};
    server_name ${host};
    set $pass_access_scheme $scheme;
    ${appRoot === undefined ? "" : `if ($uri = /) { return 302 $scheme://$http_host${appRoot}; }`}
    ${[...new Set(internal), ...blocks].join("\n    ")}
  }
`;
}

function listOf(text: string): string[] {
  return text.split(",").map((part) => part.trim()).filter((part) => part !== "");
}

/** By names without `global-`; null where nobody is asked. */
function externalOf({ annotations, data = {} }: AuthIngress): Annotations | null {
  if (annotations["auth-url"] !== undefined) return annotations;
  if (data["global-auth-url"] === undefined) return null;
  if (annotations["enable-global-auth"] === "false") return null;
  return Object.fromEntries(
    Object.entries(data).map(([key, value]) => [key.replace(/^global-/, ""), value]),
  );
}

function wwwServer({ host, annotations }: AuthIngress, port: number): string {
  if (annotations["from-to-www-redirect"] !== "true") return "";
  return `  server {
    listen 127.0.0.1:${port};
    server_name ${host.startsWith("www.") ? host.slice(4) : `www.${host}`};
    return 308 $scheme://${host}$cut_uri;
  }
`;
}

function bodyOf(
  ingress: AuthIngress,
  location: PlacedLocation,
  authentication: readonly string[],
): string {
  const { annotations } = ingress;
  const rewrite = needsRewrite(location)
    ? [`rewrite "(?i)${location.path}" ${location.target} break`]
    : [];
  // Lua redirects to HTTPS after all directives that rewrite, of which those to URLs respond themselves.
  const isUrl = /^https?:/.test(location.target);
  const rewrites = isUrl ? [...rewrite, ...toHttps(ingress)] : [...toHttps(ingress), ...rewrite];
  const directives = [
    ...networks(annotations["denylist-source-range"]).map((network) => `deny ${network}`),
    ...allowed(networks(annotations["allowlist-source-range"])),
    ...authentication,
    ...satisfied(annotations),
    "proxy_http_version 1.1",
    "proxy_set_header Host $http_host",
    ...returned(annotations),
    ...rewrites,
    "proxy_pass http://backend",
  ];
  return ` ${directives.join("; ")}; `;
}
