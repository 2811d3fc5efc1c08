/**
 * nginx with external authentication, as ingress-nginx configures it. In: Ingresses with auth-url and what
 * adds to it, each with a host of its own. Out: the server blocks that its template writes for them, as
 * far as no module of its own is needed: without caches, keep-alive and `set_escape_uri`.
 *
 * Written by hand after rootfs/etc/nginx/template/nginx.tmpl and internal/ingress/annotations/authreq of
 * k8s.io/ingress-nginx v0.0.0-20240708192948-52c50467d67d.
 */
import type { AnnotatedIngress } from "../support/annotated_ingresses.ts";

export interface AuthIngress extends AnnotatedIngress {
  readonly host: string;
}

/** The host of every auth-url, which is the backend's. */
export const AUTH_HOST = "web.default.svc";

/** Of `http`, for a port to listen on and that of the backend. */
export function authServers(
  ingresses: readonly AuthIngress[],
  port: number,
  backendPort: number,
): string {
  return `  error_log /dev/null crit;
  server_names_hash_bucket_size 128;
  port_in_redirect off;
  client_max_body_size 1m;
  upstream backend {
    server 127.0.0.1:${backendPort};
  }
${ingresses.map((ingress) => serverOf(ingress, port, backendPort)).join("")}`;
}

function serverOf({ host, annotations, paths }: AuthIngress, port: number, backendPort: number) {
  const locations = paths.flatMap(([path]) => {
    const body = locationBody(annotations);
    return path === "/"
      ? [`location / {${body}}`]
      : [`location ${path}/ {${body}}`, `location = ${path} {${body}}`];
  });
  const signin = annotations["auth-signin"];
  return `  server {
    listen 127.0.0.1:${port};
    server_name ${host};
    location = /_external-auth {
      internal;
      ${directives(subrequest(annotations, backendPort))}
    }
    ${
    signin === undefined ? "" : `location @signin {
      internal;
      add_header Set-Cookie $auth_cookie;
      return 302 ${signin};
    }`
  }
    ${locations.join("\n    ")}
    ${paths.some(([path]) => path === "/") ? "" : "location / { return 404; }"}
  }
`;
}

function subrequest(annotations: AuthIngress["annotations"], backendPort: number): string[] {
  const method = annotations["auth-method"];
  const redirect = annotations["auth-request-redirect"] ?? "$request_uri";
  return [
    "proxy_pass_request_body off",
    'proxy_set_header Content-Length ""',
    'proxy_set_header X-Forwarded-Proto ""',
    ...(method === undefined ? [] : [
      `proxy_method ${method}`,
      "proxy_set_header X-Original-URI $request_uri",
      "proxy_set_header X-Scheme $scheme",
    ]),
    `proxy_set_header Host ${AUTH_HOST}`,
    "proxy_set_header X-Original-URL $scheme://$http_host$request_uri",
    "proxy_set_header X-Original-Method $request_method",
    'proxy_set_header X-Sent-From "nginx-ingress-controller"',
    "proxy_set_header X-Real-IP $remote_addr",
    "proxy_set_header X-Forwarded-For $remote_addr",
    `proxy_set_header X-Auth-Request-Redirect ${redirect}`,
    "proxy_http_version 1.1",
    `set $target ${annotations["auth-url"].replace(AUTH_HOST, `127.0.0.1:${backendPort}`)}`,
    "proxy_pass $target",
  ];
}

function locationBody(annotations: AuthIngress["annotations"]): string {
  const isAlways = annotations["auth-always-set-cookie"] === "true";
  const headers = (annotations["auth-response-headers"] ?? "").split(",")
    .map((name) => name.trim()).filter((name) => name !== "");
  const allow = annotations["allowlist-source-range"];
  return ` ${
    directives([
      ...(allow === undefined ? [] : [`allow ${allow}`, "deny all"]),
      "auth_request /_external-auth",
      "auth_request_set $auth_cookie $upstream_http_set_cookie",
      `add_header Set-Cookie $auth_cookie${isAlways ? " always" : ""}`,
      ...headers.flatMap((name, i) => [
        `auth_request_set $authHeader${i} $upstream_http_${
          name.toLowerCase().replaceAll("-", "_")
        }`,
        `proxy_set_header ${name} $authHeader${i}`,
      ]),
      ...(annotations["auth-signin"] === undefined ? [] : ["error_page 401 = @signin"]),
      "proxy_http_version 1.1",
      "proxy_set_header Host $http_host",
      "proxy_pass http://backend",
    ])
  } `;
}

function directives(lines: readonly string[]): string {
  return lines.map((line) => `${line};`).join("\n      ");
}
