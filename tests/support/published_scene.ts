/**
 * Configurations as large as wished, and objects of Kubernetes as the API server would have them.
 * In: numbers of routes and certificates. Out: a snapshot; and of a layout, live objects.
 */
import type { PublishedLayout } from "../../controller/outputs/publish/layout.ts";
import type { LiveConfigMap, LiveSecret } from "../../controller/outputs/publish/objects.ts";
import { Redacted } from "../../shared/redacted.ts";
import type { Certificate, Route, Snapshot, Upstream } from "../../shared/snapshot/types.ts";
import { Random } from "../fuzz/random.ts";

export interface SceneSize {
  readonly routes?: number;
  readonly certificates?: number;
  /** Bytes of each private key's PEM, about; 1,700 are those of RSA with 2,048 bits. */
  readonly keyBytes?: number;
  /** Bytes of each chain's PEM, about; 1,600 are those of one certificate. */
  readonly chainBytes?: number;
  /** Of the endpoints; another one is another list of addresses. */
  readonly seed?: number;
  /** `seen` of the version. */
  readonly seen?: string;
}

/** The same size gives the same snapshot. Chains and keys have the size of real ones, no more. */
export function largeSnapshot(size: SceneSize = {}): Snapshot {
  const { routes = 0, certificates = 0, keyBytes = 1700, chainBytes = 1600 } = size;
  const { seed = 1, seen = "1" } = size;
  const random = new Random(seed);
  const count = Math.ceil(routes / 5);
  return {
    format: 2,
    version: { epoch: "cluster", seen: { Ingress: seen } },
    routes: Array.from({ length: routes }, (_, i) => toRoute(i, count)).sort(byId),
    defaultAction: null,
    upstreams: Array.from({ length: count }, (_, i) => toUpstream(i, random)).sort(byId),
    certificates: Array.from(
      { length: certificates },
      (_, i) => toCertificate(i, keyBytes, chainBytes),
    ),
    defaultCertificate: null,
  };
}

/** As the API server would show what has been laid out. */
export function toLive(layout: PublishedLayout): {
  configMaps: LiveConfigMap[];
  secrets: LiveSecret[];
} {
  if (!layout.ok) throw new TypeError(layout.problem.message);
  return {
    configMaps: layout.configMaps.map(({ name, data, binaryData }) => ({
      metadata: { name },
      data,
      binaryData,
    })),
    secrets: layout.secrets.map(({ name, data }) => ({ metadata: { name }, data })),
  };
}

/** Files by name, as a projected volume of what has been laid out shows them. */
export function toFiles(layout: PublishedLayout): Record<string, Uint8Array> {
  return filesOf(toLive(layout));
}

/** The same of live objects, of any format. */
export function filesOf(
  { configMaps, secrets }: {
    readonly configMaps: readonly LiveConfigMap[];
    readonly secrets: readonly LiveSecret[];
  },
): Record<string, Uint8Array> {
  const files: Record<string, Uint8Array> = {};
  for (const { metadata, data, binaryData } of configMaps) {
    const file = `proxy${metadata!.name!.slice("pingress-config".length)}.json`;
    for (const text of Object.values(data ?? {})) files[file] = new TextEncoder().encode(text);
    for (const bytes of Object.values(binaryData ?? {})) files[file] = Uint8Array.fromBase64(bytes);
  }
  for (const { data } of secrets) {
    for (const [hash, key] of Object.entries(data ?? {})) files[hash] = Uint8Array.fromBase64(key);
  }
  return files;
}

function toRoute(i: number, upstreams: number): Route {
  const namespace = `team-${i % 50}`;
  const host = `app-${i}.example.com`;
  return {
    id: `${host} Prefix /`,
    host,
    match: { path: { type: "Prefix", value: "/" } },
    action: { kind: "forward", backends: [{ upstream: `team/service-${i % upstreams}:80` }] },
    origin: { kind: "Ingress", namespace, name: `app-${i}`, field: "spec.rules[0].http.paths[0]" },
  };
}

function toUpstream(i: number, random: Random): Upstream {
  const octets = Array.from({ length: 10 }, () => random.below(65_000));
  const endpoints = [...new Set(octets)].map((one) => `10.0.${one >> 8}.${one & 255}`).sort()
    .map((address) => ({ address, port: 8080 }));
  return {
    id: `team/service-${i}:80`,
    protocol: "http",
    addresses: { kind: "endpoints", endpoints },
  };
}

function toCertificate(i: number, keyBytes: number, chainBytes: number): Certificate {
  return {
    id: String(i).padStart(64, "0"),
    hosts: [`app-${i}.example.com`],
    chain: { kind: "pem", pem: pem("CERTIFICATE", 2 * i, chainBytes) },
    key: { kind: "secret", pem: new Redacted(pem("PRIVATE KEY", 2 * i + 1, keyBytes)) },
    origin: { kind: "Secret", namespace: "team", name: `tls-${i}`, field: "data" },
  };
}

/** Text that does not compress, as DER in base64 does not. */
function pem(label: string, seed: number, bytes: number): string {
  const random = new Random(seed);
  const der = new Uint8Array(Math.floor(bytes * 3 / 4));
  for (let i = 0; i < der.length; i++) der[i] = random.below(256);
  return `-----BEGIN ${label}-----\n${der.toBase64()}\n-----END ${label}-----\n`;
}

function byId(a: { readonly id: string }, b: { readonly id: string }): number {
  return a.id < b.id ? -1 : 1;
}
