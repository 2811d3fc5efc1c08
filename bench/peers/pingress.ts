/** Our own proxy, started as images start it: version, cipher and group are what clients ask for. */
import { join } from "node:path";
import { formatAddress } from "../../shared/address.ts";
import { type Certificate, type Snapshot, SNAPSHOT_FORMAT } from "../../shared/snapshot.ts";
import { Child, freePort } from "../child.ts";
import { type Peer, type Setup } from "../peer.ts";
import { TLS_NAME, type TlsFiles } from "../tls.ts";

const ROOT = new URL("../..", import.meta.url).pathname;

export const PINGRESS: Peer = {
  name: "pingress",
  version: [Deno.execPath(), "--version"],
  remedy: "deno is not where it was",
  async start({ listen, backend, folder, workers, tls }: Setup): Promise<Child> {
    const file = join(folder, "snapshot.json");
    const snapshot: Snapshot = {
      format: SNAPSHOT_FORMAT,
      version: { epoch: "file", seen: {} },
      routes: [{
        id: "* Prefix /",
        host: "*",
        path: { type: "Prefix", value: "/" },
        action: { kind: "forward", upstream: "default/backend:80" },
        origin: { kind: "Ingress", namespace: "default", name: "bench", field: "" },
      }],
      defaultAction: null,
      upstreams: [{
        id: "default/backend:80",
        protocol: "http",
        addresses: {
          kind: "endpoints",
          endpoints: [{ address: backend.hostname, port: backend.port }],
        },
      }],
      certificates: tls === null ? [] : [await certificate(tls, folder)],
      defaultCertificate: null,
    };
    await Deno.writeTextFile(file, JSON.stringify(snapshot));
    // With HTTPS measured, plain HTTP still needs a place other than the default's.
    const http = tls === null ? formatAddress(listen) : unused();
    return Child.start([
      ...[Deno.execPath(), "run", "--quiet", "-P=proxy", "proxy/main.ts", "--config", file],
      ...["--workers", String(workers), "--allow-loopback-upstreams"],
      ...["--listen-http", http, "--admin", unused()],
      ...(tls === null ? [] : ["--listen-https", formatAddress(listen)]),
      // The load's connections are gone when it is stopped; there is nothing to wait for.
      ...["--drain-delay=0", "--drain-timeout=1s"],
      // As the peers are set up.
      "--access-log=false",
    ], ROOT);
  },
};

/** The pair as files beside the configuration: nothing else may be read. */
async function certificate({ chain, key }: TlsFiles, folder: string): Promise<Certificate> {
  await Deno.copyFile(chain, join(folder, "tls.crt"));
  await Deno.copyFile(key, join(folder, "tls.key"));
  return {
    id: "tls.crt",
    hosts: [TLS_NAME],
    chain: { kind: "file", path: "tls.crt" },
    key: { kind: "file", path: "tls.key" },
    origin: { kind: "Secret", namespace: "default", name: "bench", field: "" },
  };
}

function unused(): string {
  return formatAddress({ hostname: "127.0.0.1", port: freePort() });
}
