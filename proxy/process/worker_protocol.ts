/**
 * What the supervisor and a worker say to each other. In and out: plain data that can be posted.
 * Keys of certificates, and users, cross as text, since a class does not survive the crossing; both ends keep
 * them wrapped.
 */
import type { Address } from "../../shared/net/address.ts";
import type { LogFormat, LogLevel } from "../../shared/log.ts";
import { Redacted } from "../../shared/redacted.ts";
import type { CertificateDelta } from "../certificates/store.ts";
import type { ServerCertificate } from "../certificates/store.ts";
import type { DrainOptions, ServerSettings } from "../server.ts";
import type { SnapshotDelta } from "../config/diff.ts";
import type { PartDelta } from "../config/part_diff.ts";
import type { SocketStates } from "../listen/socket_states.ts";
import type { PasswordCheck, PasswordVerdict } from "../filters/passwords/messages.ts";
import type { HubMessage, TelemetryMessage, TelemetrySetup } from "../telemetry/telemetry.ts";

/** What a worker must know before it serves. */
export interface WorkerSettings extends ServerSettings {
  /** As `CidrList.parse` takes it. */
  readonly trustedProxies: string;
  /** Likewise; "" for no bound. */
  readonly upstreamNetworks: string;
  /** Listeners of this process that are not the worker's own: the admin port. */
  readonly protected: readonly Address[];
  readonly logLevel: LogLevel;
  readonly logFormat: LogFormat;
}

/** Where to listen, or where it listens. */
export interface Listening {
  readonly http: readonly Address[];
  readonly https: readonly Address[];
}

/** What all workers share, and which of them this one is. */
export interface PostedCells {
  /** See `ConnectionCounts`. */
  readonly counts: Int32Array<SharedArrayBuffer>;
  /** See `BodyCounts`. */
  readonly bodies: Int32Array<SharedArrayBuffer>;
  /** See `SelfProbes`. */
  readonly calls: Int32Array<SharedArrayBuffer>;
  readonly worker: number;
}

export type ToWorker =
  /** All other messages, both ways, go by this port: of a worker that the first thread has started. */
  | { kind: "link"; port: MessagePort }
  /** First of all, once. The configuration is in force before anything listens. */
  | {
    kind: "start";
    settings: WorkerSettings;
    listen: Listening;
    /** Of this worker on each port. */
    listeners: number;
    delta: PostedDelta;
    /** As in a message of its own. */
    zone: string | null;
    telemetry: TelemetrySetup;
    cells: PostedCells;
  }
  /** `sequence`: to tell that it has been applied. */
  | { kind: "delta"; delta: PostedDelta; sequence: number }
  /** As `DataPlane.setZone` has it. */
  | { kind: "zone"; zone: string | null }
  /** Of the check with this id; null where it could not be made. */
  | { kind: "password"; id: number; verdict: PasswordVerdict | null }
  | { kind: "telemetry"; message: HubMessage }
  | { kind: "ping" }
  /** From now on it has so many listeners on each port. */
  | { kind: "listeners"; count: number }
  /** Only the first counts. */
  | { kind: "drain"; options: DrainOptions };

export type FromWorker =
  /** Its code is loaded, and it needs the rights of who has started it no more. */
  | { kind: "up" }
  | { kind: "listening"; listening: Listening }
  /** It cannot listen, for this reason, and will end. */
  | { kind: "refused"; message: string }
  | { kind: "pong" }
  /** The delta with this sequence, and all before it, are in force, with their sockets. */
  | { kind: "applied"; sequence: number }
  /** To be verified; a verdict with this id follows. */
  | { kind: "password"; id: number; check: PasswordCheck }
  /** As `ProxyServerOptions.onSockets` tells it; before what else depends on it. */
  | { kind: "sockets"; states: SocketStates }
  /** As `ProxyServerOptions.onObstacle` tells it. */
  | { kind: "obstacle"; name: string; reason: string | null }
  /** Lines for standard output, whole. */
  | { kind: "lines"; text: string }
  | { kind: "telemetry"; message: TelemetryMessage }
  | { kind: "drained" };

/** A delta whose certificates and credentials carry their secrets as text. */
export type PostedDelta = Omit<SnapshotDelta, "certificates" | "credentials"> & {
  readonly credentials: PartDelta<{ readonly id: string; readonly users: string | null }>;
  readonly certificates: Omit<CertificateDelta, "changed"> & {
    readonly changed: readonly PostedCertificate[];
  };
};

interface PostedCertificate {
  readonly id: string;
  readonly hosts: readonly string[];
  readonly plain?: readonly string[];
  readonly chain: string;
  readonly key: string;
}

export function packDelta(delta: SnapshotDelta): PostedDelta {
  const { certificates, credentials } = delta;
  const changed = certificates.changed.map(packCertificate);
  const users = credentials.changed.map(({ id, users }) => {
    return { id, users: users === null ? null : users.reveal() };
  });
  // What there was before stays here.
  const hosts = delta.hosts.map(({ host, routes }) => ({ host, routes }));
  return {
    ...delta,
    hosts,
    certificates: { ...certificates, changed },
    credentials: { ...credentials, changed: users },
  };
}

export function unpackDelta(delta: PostedDelta): SnapshotDelta {
  const { certificates, credentials } = delta;
  const changed = certificates.changed.map(unpackCertificate);
  const users = credentials.changed.map(({ id, users }) => {
    return { id, users: users === null ? null : new Redacted(users) };
  });
  return {
    ...delta,
    certificates: { ...certificates, changed },
    credentials: { ...credentials, changed: users },
  };
}

function packCertificate({ id, hosts, plain, chain, key }: ServerCertificate): PostedCertificate {
  return { id, hosts, ...(plain === undefined ? {} : { plain }), chain, key: key.reveal() };
}

function unpackCertificate({ id, hosts, plain, chain, key }: PostedCertificate): ServerCertificate {
  return { id, hosts, ...(plain === undefined ? {} : { plain }), chain, key: new Redacted(key) };
}
