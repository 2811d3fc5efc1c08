import assert from "node:assert/strict";
import { Redacted } from "../../shared/redacted.ts";
import type { Certificate, Route, Snapshot, Upstream } from "../../shared/snapshot/types.ts";
import { largeLoss } from "./mass_deletion_guard.ts";

const origin = { kind: "Ingress", namespace: "default", name: "web", field: "" };

function snapshot(routes: number, ready: number, certificates: number, upstreams = 20): Snapshot {
  return {
    format: 2,
    version: { epoch: "a", seen: {} },
    routes: list(routes, (i): Route => ({
      id: `h${i} Prefix /`,
      host: `h${i}`,
      match: { path: { type: "Prefix", value: "/" } },
      action: { kind: "forward", backends: [{ upstream: "default/web:80" }] },
      origin,
    })),
    defaultAction: null,
    upstreams: list(upstreams, (i): Upstream => ({
      id: `default/s${i}:80`,
      protocol: "http",
      addresses: {
        kind: "endpoints",
        endpoints: i < ready ? [{ address: "10.0.0.1", port: 80 }] : [],
      },
    })),
    certificates: list(certificates, (i): Certificate => ({
      id: `c${i}`,
      hosts: [`h${i}`],
      chain: { kind: "pem", pem: "" },
      key: { kind: "secret", pem: new Redacted("") },
      origin,
    })),
    defaultCertificate: null,
  };
}

function list<T>(length: number, make: (index: number) => T): T[] {
  return Array.from({ length }, (_, index) => make(index));
}

const CASES: readonly [string, Snapshot, Snapshot, string | null][] = [
  ["no lost route is no loss", snapshot(30, 20, 5), snapshot(31, 20, 5), null],
  ["one of thirty is a change", snapshot(30, 20, 5), snapshot(29, 20, 5), null],
  [
    "the only one is a loss",
    snapshot(1, 1, 0, 1),
    snapshot(0, 1, 0, 1),
    "1 of 1 routes to backends",
  ],
  [
    "more than half is a loss",
    snapshot(30, 20, 5),
    snapshot(14, 20, 5),
    "16 of 30 routes to backends",
  ],
  ["half of a few is a change", snapshot(4, 20, 5), snapshot(1, 20, 5), null],
  [
    "endpoints that are gone everywhere are a loss",
    snapshot(30, 20, 5),
    snapshot(30, 0, 5),
    "20 of 20 backends with endpoints",
  ],
  [
    "backends that nobody names any more are none",
    snapshot(30, 20, 5),
    snapshot(30, 0, 5, 0),
    null,
  ],
  ["certificates count too", snapshot(30, 20, 5), snapshot(30, 20, 0), "5 of 5 certificates"],
];

for (const [name, before, after, expected] of CASES) {
  Deno.test(name, () => assert.equal(largeLoss(before, after), expected));
}
