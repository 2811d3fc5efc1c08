/** Worker fleets for tests. In: how many, and what to watch. Out: a fleet on loopback, and snapshots. */
import type { ServerCertificate } from "../../proxy/certificates/store.ts";
import { SnapshotDiffer } from "../../proxy/config/diff.ts";
import { DEFAULT_LIMITS } from "../../proxy/http/limits.ts";
import { STALL_LIMITS, type StallLimits } from "../../proxy/process/stall_watch.ts";
import { TelemetryHub } from "../../proxy/telemetry/hub.ts";
import { WorkerPool, type WorkerPoolOptions } from "../../proxy/process/worker_pool.ts";
import type { WorkerSettings } from "../../proxy/process/worker_protocol.ts";
import { createLogger, LineOutput, silentLogger } from "../../shared/log.ts";
import {
  type Snapshot,
  SNAPSHOT_FORMAT,
  type SnapshotChange,
} from "../../shared/snapshot/types.ts";

const FAULTY = new URL("./faulty_worker.ts", import.meta.url);

/** Sooner than in the product, if no sooner than a busy machine lets workers answer. */
const STALLS: StallLimits = {
  ...STALL_LIMITS,
  heartbeat: 50,
  stalled: 500,
  stuck: 2_000,
  endDelay: () => Promise.resolve(),
};

export interface FleetOptions
  extends
    Partial<Pick<WorkerPoolOptions, "hub" | "log" | "onEnd" | "onObstacle" | "onSockets">>,
    Partial<Pick<WorkerSettings, "listenRange" | "drainDelay">> {
  readonly stalls?: Partial<StallLimits>;
  /** Gets what the pool and its workers log, at level debug; without it workers log errors alone. */
  readonly onLines?: (lines: string) => void;
  /** Workers that hang go on once it is not 0. */
  readonly going?: Int32Array<SharedArrayBuffer>;
}

/** One that is given whole snapshots, as the supervisor is. */
export class Fleet extends WorkerPool {
  readonly #differ = new SnapshotDiffer();

  /** @param change See `SnapshotDiffer.diff`. */
  serve(
    snapshot: Snapshot,
    certificates: readonly ServerCertificate[],
    change: SnapshotChange | null = null,
  ): Promise<void> {
    const delta = this.#differ.diff(snapshot, certificates, change);
    return this.apply(delta, { snapshot, certificates });
  }
}

/** A fleet whose workers take orders for faults by a snapshot's epoch; see `faulty_worker.ts`. */
export function startFleet(count: number, options: FleetOptions = {}): Fleet {
  const { going = new Int32Array(new SharedArrayBuffer(4)), stalls, ...rest } = options;
  const { listenRange = null, drainDelay = 0, onLines, ...others } = rest;
  const settings = {
    limits: DEFAULT_LIMITS,
    trustedProxies: "",
    upstreamNetworks: "127.0.0.0/8",
    allowLoopbackUpstreams: true,
    balance: "round-robin",
    grpcWeb: false,
    loopMark: "pingress-test",
    http2: true,
    h2c: true,
    sslRedirect: true,
    sslRedirectPort: 0,
    listenRange,
    drainDelay,
    drainTimeout: 10_000,
    logLevel: onLines === undefined ? "error" : "debug",
    logFormat: "text",
    going,
  } as const;
  return new Fleet({
    count,
    settings,
    log: onLines === undefined
      ? silentLogger
      : createLogger({ level: "debug", format: "text", write: onLines }),
    hub: unheardHub(),
    // Workers tell of what nobody caught and live on: here it fails the test.
    write: (lines) => {
      if (lines.includes("Unhandled rejection")) throw new Error(lines);
      onLines?.(lines);
    },
    onEnd: () => {},
    onObstacle: () => {},
    retirement: { delay: 0, timeout: 10_000 },
    module: FAULTY,
    stalls: { ...STALLS, ...stalls },
    ...others,
  });
}

/** Counts for nobody. */
export function unheardHub(): TelemetryHub {
  const output = new LineOutput({ write: (bytes) => Promise.resolve(bytes.length) });
  return new TelemetryHub({ accessLog: null, output });
}

/** `pingress_worker_stalls_total`. */
export function stalls(hub: TelemetryHub): number {
  const about = { version: "", deno: "", startedAt: 0, now: 0, memory: 0, cpu: 0, limits: {} };
  const text = [...{ [Symbol.iterator]: () => hub.scrape(about) }].join("");
  return Number(/^pingress_worker_stalls_total (\d+)$/m.exec(text)![1]);
}

/** Every path of every host goes to one port of loopback. */
export function snapshotOf(port: number, epoch = "file"): Snapshot {
  return {
    format: SNAPSHOT_FORMAT,
    version: { epoch, seen: {} },
    routes: [],
    defaultAction: { kind: "forward", backends: [{ upstream: `default/web:${port}` }] },
    upstreams: [{
      id: `default/web:${port}`,
      protocol: "http",
      addresses: { kind: "endpoints", endpoints: [{ address: "127.0.0.1", port }] },
    }],
    certificates: [],
    defaultCertificate: null,
  };
}
