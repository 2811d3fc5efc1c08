/** Our own proxy, started as users start it. */
import { join } from "node:path";
import { formatAddress } from "../../shared/address.ts";
import { type Snapshot, SNAPSHOT_FORMAT } from "../../shared/snapshot.ts";
import { Child, freePort } from "../child.ts";
import { type Peer, type Setup } from "../peer.ts";

const ROOT = new URL("../..", import.meta.url).pathname;

export const PINGRESS: Peer = {
  name: "pingress",
  version: [Deno.execPath(), "--version"],
  remedy: "deno is not where it was",
  async start({ listen, backend, folder }: Setup): Promise<Child> {
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
      certificates: [],
      defaultCertificate: null,
    };
    await Deno.writeTextFile(file, JSON.stringify(snapshot));
    const admin = formatAddress({ hostname: "127.0.0.1", port: freePort() });
    return Child.start([
      ...[Deno.execPath(), "task", "--quiet", "proxy", "--config", file],
      "--allow-loopback-upstreams",
      ...["--listen-http", formatAddress(listen), "--admin", admin],
      // The load's connections are gone when it is stopped; there is nothing to wait for.
      ...["--drain-delay=0", "--drain-timeout=1s"],
      // As the peers are set up.
      "--access-log=false",
    ], ROOT);
  },
};
