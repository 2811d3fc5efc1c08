/** HAProxy as Debian ships it. */
import { join } from "node:path";
import { formatAddress } from "../../shared/address.ts";
import { Child } from "../child.ts";
import { type Peer, type Setup } from "../peer.ts";
import { TLS_CIPHER, TLS_GROUP } from "../tls.ts";

export const HAPROXY: Peer = {
  name: "haproxy",
  version: ["haproxy", "-v"],
  remedy: "haproxy is not installed (remedy: apt-get install haproxy)",
  async start({ listen, backend, folder, workers, tls }: Setup): Promise<Child> {
    const file = join(folder, "haproxy.cfg");
    const secured = tls === null
      ? ""
      : ` ssl crt ${tls.pair} ssl-min-ver TLSv1.3 ciphersuites ${TLS_CIPHER} curves ${TLS_GROUP}`;
    await Deno.writeTextFile(
      file,
      `global
  nbthread ${workers}
  maxconn 4096
defaults
  mode http
  timeout connect 3s
  timeout client 60s
  timeout server 60s
  timeout tunnel 1h
  http-reuse always
frontend in
  bind ${formatAddress(listen)}${secured}
  http-request set-header X-Forwarded-For %[src]
  http-request set-header X-Forwarded-Proto ${tls === null ? "http" : "https"}
  http-request set-header X-Forwarded-Host %[req.hdr(host)]
  http-request set-header X-Forwarded-Port %[dst_port]
  http-request set-header X-Real-IP %[src]
  http-request set-header X-Request-Id %[uuid()]
  default_backend out
backend out
  server one ${formatAddress(backend)}
`,
    );
    return Child.start(["haproxy", "-db", "-f", file]);
  },
};
