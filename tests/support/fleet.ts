/** Worker fleets for tests. In: how many. Out: a fleet on loopback, and snapshots for it. */
import { DEFAULT_LIMITS } from "../../proxy/limits.ts";
import { TelemetryHub } from "../../proxy/telemetry/hub.ts";
import { WorkerFleet } from "../../proxy/worker_fleet.ts";
import { LineOutput, silentLogger } from "../../shared/log.ts";
import { type Snapshot, SNAPSHOT_FORMAT } from "../../shared/snapshot.ts";

const FAULTY = new URL("./faulty_worker.ts", import.meta.url);

/** A fleet whose workers take orders for faults by a snapshot's epoch; see `faulty_worker.ts`. */
export function startFleet(
  count: number,
  onStuck: (reason: string) => void = () => {},
  hub: TelemetryHub = unheardHub(),
  onObstacle: (name: string, reason: string | null) => void = () => {},
) {
  return new WorkerFleet({
    count,
    settings: {
      limits: DEFAULT_LIMITS,
      trustedProxies: "",
      upstreamNetworks: "127.0.0.0/8",
      allowLoopbackUpstreams: true,
      balance: "round-robin",
      grpcWeb: false,
      http2: true,
      h2c: true,
      sslRedirect: true,
      sslRedirectPort: 0,
      logLevel: "error",
      logFormat: "text",
    },
    log: silentLogger,
    hub,
    // Workers tell of what nobody caught and live on: here it fails the test.
    write: (lines) => {
      if (lines.includes("Unhandled rejection")) throw new Error(lines);
    },
    onStuck,
    onObstacle,
    module: FAULTY,
    heartbeat: 50,
    patience: 1_000,
  });
}

/** Counts for nobody. */
function unheardHub(): TelemetryHub {
  const output = new LineOutput({ write: (bytes) => Promise.resolve(bytes.length) });
  return new TelemetryHub({ accessLog: null, output });
}

/** Every path of every host goes to one port of loopback. */
export function snapshotOf(port: number, epoch = "file"): Snapshot {
  return {
    format: SNAPSHOT_FORMAT,
    version: { epoch, seen: {} },
    routes: [],
    defaultAction: { kind: "forward", upstream: `default/web:${port}` },
    upstreams: [{
      id: `default/web:${port}`,
      protocol: "http",
      addresses: { kind: "endpoints", endpoints: [{ address: "127.0.0.1", port }] },
    }],
    certificates: [],
    defaultCertificate: null,
  };
}
