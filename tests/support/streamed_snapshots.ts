/**
 * Configurations for tests of the stream between controller and proxy. In: random choices, or parts.
 * Out: snapshots with certificates, and what a proxy makes of the lines that carry them.
 */
import { compareHosts } from "../../shared/host/host_order.ts";
import type {
  Certificate,
  Route,
  Snapshot,
  SnapshotVersion,
  Upstream,
} from "../../shared/snapshot/types.ts";
import { SNAPSHOT_FORMAT } from "../../shared/snapshot/types.ts";
import { serialiseSnapshot } from "../../shared/snapshot/serialise.ts";
import { Redacted } from "../../shared/redacted.ts";
import { readUpdate } from "../../shared/stream/messages.ts";
import type { ReceivedContent } from "../../shared/stream/received.ts";
import type { Random } from "../fuzz/random.ts";
import { randomConfigurations } from "./random_snapshot.ts";

const ORIGIN = { kind: "Secret", namespace: "a", name: "tls", field: "data" };

export const VERSION: SnapshotVersion = { epoch: "cluster", seen: { Ingress: "7" } };

/** `count` snapshots as a controller makes them, each from the one before by a few changes. */
export function* randomSnapshots(random: Random, count: number): Generator<Snapshot> {
  for (const { snapshot, certificates } of randomConfigurations(random, count)) {
    yield {
      ...snapshot,
      routes: snapshot.routes.toSorted((a, b) => compareHosts(a.host, b.host)),
      certificates: certificates.map(({ id, hosts, chain, key }): Certificate => ({
        id,
        hosts,
        chain: { kind: "pem", pem: chain },
        key: { kind: "secret", pem: key },
        origin: ORIGIN,
      })),
    };
  }
}

/** Everything that a snapshot says, keys included: equal texts are equal snapshots. */
export function textOf(snapshot: Snapshot): string {
  return serialiseSnapshot(snapshot, { revealKeys: true });
}

export function route(host: string, path: string, upstream = "a/web:80"): Route {
  return {
    id: `${host} Prefix ${path}`,
    host,
    match: { path: { type: "Prefix", value: path } },
    action: { kind: "forward", backends: [{ upstream }] },
    origin: { kind: "Ingress", namespace: "a", name: "web", field: "spec.rules[0]" },
  };
}

export function upstream(id: string, ...addresses: string[]): Upstream {
  const endpoints = addresses.map((address) => ({ address, port: 8080 }));
  return { id, protocol: "http", addresses: { kind: "endpoints", endpoints } };
}

export function certificate(id: string, key: string): Certificate {
  return {
    id,
    hosts: ["a.test"],
    chain: { kind: "pem", pem: `chain of ${id}` },
    key: { kind: "secret", pem: new Redacted(key) },
    origin: ORIGIN,
  };
}

/** A snapshot with some parts of its own. */
export function snapshotWith(parts: Partial<Snapshot>): Snapshot {
  return {
    format: SNAPSHOT_FORMAT,
    version: VERSION,
    routes: [],
    defaultAction: null,
    upstreams: [],
    certificates: [],
    defaultCertificate: null,
    ...parts,
  };
}

/** What becomes of one line with a configuration. */
export function takeLine(received: ReceivedContent, line: string) {
  const read = readUpdate(line.trimEnd());
  if (!read.ok) throw new Error(read.reason);
  const { message } = read;
  if (message.kind !== "snapshot" && message.kind !== "delta") throw new Error(message.kind);
  return received.take(message);
}

/** The snapshot that one line leads to. */
export function snapshotFrom(received: ReceivedContent, line: string): Snapshot {
  const taken = takeLine(received, line);
  if (!taken.ok) throw new Error(`${taken.kind}: ${taken.reason}`);
  return taken.snapshot;
}
