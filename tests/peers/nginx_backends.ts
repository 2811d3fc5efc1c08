/**
 * nginx before backends, as ingress-nginx configures it. In: Ingresses with annotations about time-outs, retries,
 * buffers and TLS, each with a host of its own and the endpoints of its Service. Out: the server blocks
 * that its template writes for them, with upstreams of nginx's own in place of the balancer in Lua.
 *
 * Written by hand after rootfs/etc/nginx/template/nginx.tmpl, internal/ingress/annotations and
 * internal/ingress/controller/config of k8s.io/ingress-nginx v0.0.0-20240708192948-52c50467d67d.
 */
import type { AnnotatedIngress } from "../support/annotated_ingresses.ts";

export interface BackendIngress extends AnnotatedIngress {
  readonly host: string;
  /** Ports on the loopback address; without any, requests get 503, as from the balancer. */
  readonly endpoints: readonly number[];
  /** What ingress-nginx writes the Secret of proxy-ssl-secret to. */
  readonly files?: SecretFiles;
}

export interface SecretFiles {
  /** With ca.crt, and with certificate and key; null where the Secret has none. */
  readonly authority: string | null;
  readonly certificate: string | null;
}

/**
 * Of `http`, for a port to listen on.
 *
 * @param protocol `http2` for clients that speak HTTP/2 without being asked.
 */
export function backendServers(
  ingresses: readonly BackendIngress[],
  port: number,
  protocol: "" | "http2" = "",
): string {
  return `  error_log /dev/null crit;
  server_names_hash_bucket_size 128;
  server_names_hash_max_size 4096;
  map $http_upgrade $connection_upgrade {
    default upgrade;
    '' '';
  }
${ingresses.map((ingress, i) => serverOf(ingress, i, `127.0.0.1:${port} ${protocol}`)).join("")}`;
}

/** As the balancer, which has no failures in mind from one request to the next. */
function upstreamOf(ports: readonly number[], name: string): string {
  const servers = ports.map((port) => `server 127.0.0.1:${port} max_fails=0;`);
  return ports.length === 0 ? "" : `  upstream ${name} { ${servers.join(" ")} keepalive 320; }
`;
}

function serverOf(ingress: BackendIngress, index: number, address: string): string {
  const { host, paths, endpoints } = ingress;
  const upstream = `upstream${index}`;
  const body = endpoints.length === 0
    ? " return 503; "
    : `\n      ${locationBody(ingress, upstream).map((line) => `${line};`).join("\n      ")}\n    `;
  const locations = paths.flatMap(([path]) =>
    path === "/"
      ? [`location / {${body}}`]
      : [`location ${path}/ {${body}}`, `location = ${path} {${body}}`]
  );
  if (!paths.some(([path]) => path === "/")) locations.push("location / { return 404; }");
  return `${upstreamOf(endpoints, upstream)}  server {
    listen ${address};
    server_name ${host};
    ${locations.join("\n    ")}
  }
`;
}

function locationBody({ annotations, files }: BackendIngress, upstream: string): string[] {
  const protocol = (annotations["backend-protocol"] ?? "HTTP").toUpperCase();
  const isGrpc = protocol.startsWith("GRPC");
  const set = isGrpc ? "grpc_set_header" : "proxy_set_header";
  const connection = annotations["connection-proxy-header"] ?? "$connection_upgrade";
  const valueOf = (name: string, usual: string) => annotations[name] ?? usual;
  const connect = valueOf("proxy-connect-timeout", "5");
  const send = valueOf("proxy-send-timeout", "60");
  const read = valueOf("proxy-read-timeout", "60");
  return [
    `client_max_body_size ${valueOf("proxy-body-size", "1m")}`,
    `client_body_buffer_size ${valueOf("client-body-buffer-size", "8k")}`,
    `${set} Host $http_host`,
    `${set} Upgrade $http_upgrade`,
    `${set} Connection ${connection}`,
    `proxy_connect_timeout ${connect}s`,
    `proxy_send_timeout ${send}s`,
    `proxy_read_timeout ${read}s`,
    `proxy_buffering ${valueOf("proxy-buffering", "off")}`,
    "proxy_buffer_size 4k",
    "proxy_buffers 4 4k",
    `proxy_request_buffering ${valueOf("proxy-request-buffering", "on")}`,
    `proxy_http_version ${valueOf("proxy-http-version", "1.1")}`,
    `proxy_next_upstream ${nextUpstream(valueOf("proxy-next-upstream", "error timeout"))}`,
    `proxy_next_upstream_timeout ${valueOf("proxy-next-upstream-timeout", "0")}`,
    `proxy_next_upstream_tries ${valueOf("proxy-next-upstream-tries", "3")}`,
    ...(isGrpc
      ? [
        `grpc_connect_timeout ${connect}s`,
        `grpc_send_timeout ${send}s`,
        `grpc_read_timeout ${read}s`,
      ]
      : []),
    ...(files === undefined ? [] : tlsOf(annotations, files)),
    `${isGrpc ? "grpc_pass" : "proxy_pass"} ${SCHEMES[protocol]}${upstream}`,
    ...(isGrpc ? [] : ["proxy_redirect off"]),
  ];
}

const SCHEMES: Readonly<Record<string, string>> = {
  HTTP: "http://",
  HTTPS: "https://",
  GRPC: "grpc://",
  GRPCS: "grpcs://",
};

/** As buildNextUpstream of template.go. */
function nextUpstream(value: string): string {
  const words = value.split(" ").filter((word) => word !== "" && word !== "non_idempotent");
  return [...words, ...(value.split(" ").includes("non_idempotent") ? ["non_idempotent"] : [])]
    .join(" ");
}

/** As proxyssl/main.go reads them, which has nothing of them without a Secret. */
function tlsOf(
  annotations: AnnotatedIngress["annotations"],
  { authority, certificate }: SecretFiles,
): string[] {
  const name = annotations["proxy-ssl-name"];
  const protocols = annotations["proxy-ssl-protocols"] ?? "TLSv1.2";
  const depth = Number(annotations["proxy-ssl-verify-depth"] ?? 0);
  return [
    ...(authority === null ? [] : [
      `proxy_ssl_trusted_certificate ${authority}`,
      "proxy_ssl_ciphers DEFAULT",
      `proxy_ssl_protocols ${protocols}`,
      `proxy_ssl_verify ${annotations["proxy-ssl-verify"] ?? "off"}`,
      `proxy_ssl_verify_depth ${depth === 0 ? 1 : depth}`,
    ]),
    ...(name === undefined ? [] : [`proxy_ssl_name ${name}`]),
    `proxy_ssl_server_name ${annotations["proxy-ssl-server-name"] ?? "off"}`,
    ...(certificate === null
      ? []
      : [`proxy_ssl_certificate ${certificate}`, `proxy_ssl_certificate_key ${certificate}`]),
  ];
}
