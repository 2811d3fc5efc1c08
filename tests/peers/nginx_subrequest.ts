/**
 * What ingress-nginx writes for external authentication. In: auth-url and what adds to it, of an Ingress or of
 * the ConfigMap. Out: the internal locations of the subrequest and of auth-signin, and directives of the
 * location that needs them.
 *
 * Written by hand after rootfs/etc/nginx/template/nginx.tmpl, internal/ingress/annotations/authreq and
 * internal/ingress/controller/template of k8s.io/ingress-nginx v0.0.0-20240708192948-52c50467d67d, without
 * auth-keepalive, which needs Lua.
 */

/** By names without a prefix. */
export type Annotations = Readonly<Record<string, string>>;

/** Of the backend, in auth-url. */
export const AUTH_HOST = "web.default.svc";

/** As DefaultCacheDuration of authreq. */
const DEFAULT_DURATION = "200 202 401 5m";

/**
 * $escaped_request_uri of these targets, as `set_escape_uri` makes it: that module is not Debian's. All but
 * letters, digits and -._~ is escaped.
 */
export function signinVariables(targets: readonly string[]): string {
  const escaped = (target: string) =>
    encodeURIComponent(target).replace(
      /[!'()*]/g,
      (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
    );
  const lines = targets.map((target) =>
    `    "~^${target.replace(/[^\w/]/g, "\\$&")}$" "${escaped(target)}";`
  );
  return `  map $request_uri $escaped_request_uri {
    default not-known;
${lines.join("\n")}
  }`;
}

export function subrequestLocation(
  external: Annotations,
  { host, id, backendPort }: { host: string; id: string; backendPort: number },
): string {
  const url = external["auth-url"];
  const [authority] = /(?<=^http:\/\/)[^/?]+/.exec(url)!;
  const method = external["auth-method"];
  const key = external["auth-cache-key"];
  const redirect = external["auth-request-redirect"] ?? "$request_uri";
  const times = (external["auth-cache-duration"] ?? DEFAULT_DURATION).split(",");
  const directives = [
    "internal",
    // Lua replaces the key by its hash.
    ...(key === undefined ? [] : [
      `set $tmp_cache_key '${host}/_external-auth-${id}${key}'`,
      "proxy_cache auth_cache",
      ...times.map((time) => `proxy_cache_valid ${time.trim()}`),
      'proxy_cache_key "$tmp_cache_key"',
      "proxy_buffering on",
    ]),
    "proxy_pass_request_body off",
    'proxy_set_header Content-Length ""',
    'proxy_set_header X-Forwarded-Proto ""',
    ...(method === undefined ? [] : [
      `proxy_method ${method}`,
      "proxy_set_header X-Original-URI $request_uri",
      "proxy_set_header X-Scheme $pass_access_scheme",
    ]),
    // url.Hostname() of Go is without the port.
    `proxy_set_header Host ${authority.replace(/:\d+$/, "")}`,
    "proxy_set_header X-Original-URL $scheme://$http_host$request_uri",
    "proxy_set_header X-Original-Method $request_method",
    'proxy_set_header X-Sent-From "nginx-ingress-controller"',
    "proxy_set_header X-Real-IP $remote_addr",
    "proxy_set_header X-Forwarded-For $remote_addr",
    `proxy_set_header X-Auth-Request-Redirect ${redirect}`,
    "proxy_http_version 1.1",
    `set $target ${url.replace(authority, `127.0.0.1:${backendPort}`)}`,
    "proxy_pass $target",
  ];
  return `location = /_external-auth-${id} { ${directives.join("; ")}; }`;
}

/** "" without one. */
export function signinLocation(external: Annotations, id: string): string {
  const url = external["auth-signin"];
  if (url === undefined) return "";
  const location = signinUrl(url, external["auth-signin-redirect-param"] ?? "rd");
  return `location @signin-${id} { internal; add_header Set-Cookie $auth_cookie; return 302 ${location}; }`;
}

/** As buildAuthSignURL. */
function signinUrl(url: string, parameter: string): string {
  const question = url.indexOf("?");
  const query = new URLSearchParams(question === -1 ? "" : url.slice(question + 1));
  if ((query.get(parameter) ?? "") !== "") return url;
  const mark = query.size === 0 ? "?" : "&";
  return `${url}${mark}${parameter}=$pass_access_scheme://$http_host$escaped_request_uri`;
}

/** Of the location that requires it. */
export function authRequest(external: Annotations, id: string): string[] {
  const isAlways = external["auth-always-set-cookie"] === "true";
  const headers = (external["auth-response-headers"] ?? "").split(",")
    .map((name) => name.trim()).filter((name) => name !== "");
  return [
    `auth_request /_external-auth-${id}`,
    "auth_request_set $auth_cookie $upstream_http_set_cookie",
    `add_header Set-Cookie $auth_cookie${isAlways ? " always" : ""}`,
    ...headers.flatMap((name, i) => [
      `auth_request_set $authHeader${i} $upstream_http_${name.toLowerCase().replaceAll("-", "_")}`,
      `proxy_set_header '${name}' $authHeader${i}`,
    ]),
    ...(external["auth-signin"] === undefined ? [] : [`error_page 401 = @signin-${id}`]),
  ];
}
