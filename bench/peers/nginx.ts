/** nginx as Debian ships it, configured as ingress-nginx does where that is fast. */
import { join } from "node:path";
import { formatAddress } from "../../shared/address.ts";
import { Child } from "../child.ts";
import { nginxConf } from "../nginx_conf.ts";
import { type Peer, type Setup } from "../peer.ts";
import { TLS_CIPHER, TLS_GROUP, TLS_VERSION, type TlsFiles } from "../tls.ts";

export const NGINX: Peer = {
  name: "nginx",
  version: ["nginx", "-v"],
  remedy: "nginx is not installed (remedy: apt-get install nginx-light)",
  async start({ listen, backend, folder, workers, tls }: Setup): Promise<Child> {
    const file = join(folder, "nginx.conf");
    const flags = `backlog=4096${workers > 1 ? " reuseport" : ""}${tls === null ? "" : " ssl"}`;
    await Deno.writeTextFile(
      file,
      nginxConf(
        folder,
        workers,
        `  keepalive_requests 10000000;
  client_max_body_size 0;
  client_body_buffer_size 64k;
  map $http_upgrade $connection_upgrade {
    default upgrade;
    "" "";
  }
  upstream backend {
    server ${formatAddress(backend)};
    keepalive 320;
    keepalive_requests 10000000;
  }
  server {
    listen ${formatAddress(listen)} ${flags};
    ${tls === null ? "" : secured(tls)}
    location / {
      proxy_pass http://backend;
      proxy_http_version 1.1;
      proxy_request_buffering off;
      proxy_max_temp_file_size 0;
      proxy_buffer_size 16k;
      proxy_buffers 8 64k;
      proxy_busy_buffers_size 128k;
      proxy_set_header Upgrade $http_upgrade;
      proxy_set_header Connection $connection_upgrade;
      proxy_set_header Host $http_host;
      proxy_set_header X-Forwarded-For $remote_addr;
      proxy_set_header X-Forwarded-Proto $scheme;
      proxy_set_header X-Forwarded-Host $http_host;
      proxy_set_header X-Forwarded-Port $server_port;
      proxy_set_header X-Real-IP $remote_addr;
      proxy_set_header X-Request-Id $request_id;
    }
  }
`,
      ),
    );
    return Child.start(["nginx", "-p", folder, "-c", file, "-e", "stderr"]);
  },
};

function secured({ chain, key }: TlsFiles): string {
  return `ssl_certificate ${chain};
    ssl_certificate_key ${key};
    ssl_protocols ${TLS_VERSION};
    ssl_conf_command Ciphersuites ${TLS_CIPHER};
    ssl_ecdh_curve ${TLS_GROUP};`;
}
