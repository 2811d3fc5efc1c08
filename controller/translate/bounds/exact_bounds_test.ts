/** Every bound of certificates, authorities and keys, with exactly as much, one byte less and one more. */
import assert from "node:assert/strict";
import { Redacted } from "../../../shared/redacted.ts";
import { PUBLISHED_SHARE, snapshotBudget } from "../../../shared/snapshot/memory.ts";
import type { Certificate, Route, Snapshot, Upstream } from "../../../shared/snapshot/types.ts";
import { ProblemList } from "../../base/problems.ts";
import { ClusterAdmission } from "./cluster_bound.ts";
import {
  type ClusterBounds,
  EMPTY_SNAPSHOT,
  NO_PARTS,
  plus,
  type Resource,
  RESOURCES,
  Scale,
  type Size,
} from "./cluster_sizes.ts";
import { CommonAuthorities } from "./common_authorities.ts";
import { Demands } from "./demand.ts";
import { outgrown } from "./held_certificates.ts";
import { PublishedUpstreamTls } from "./held_upstream_tls.ts";
import { NamespaceAdmission } from "./namespace_bounds.ts";
import { publishedParts } from "./namespace_parts.ts";
import { renewalStep } from "./pair_sizes.ts";
import { PublishedModels } from "./published_sources.ts";
import { UpstreamTlsBound } from "./upstream_tls_bound.ts";
import { upstreamTlsParts } from "./upstream_tls_sizes.ts";

const STEP = 32 * 1024;
const UNBOUNDED: ClusterBounds = {
  memory: null,
  publishedBytes: Infinity,
  keyBytes: Infinity,
  lineBytes: Infinity,
};

function text(characters: number, begin = ""): string {
  return begin.padEnd(characters, "x");
}

function upstream(id: string, ca: string | null, clientCertificate?: string): Upstream {
  return {
    id,
    protocol: "https",
    addresses: { kind: "endpoints", endpoints: [{ address: "10.0.0.1", port: 443 }] },
    tls: {
      serverName: "a.test",
      ...(ca === null ? {} : { ca: { kind: "pem", pem: ca } }),
      ...(clientCertificate === undefined ? {} : { clientCertificate }),
    },
  };
}

function certificate(id: string, chain: number, key: number, name = id): Certificate {
  return {
    ...{ id, hosts: [] },
    chain: { kind: "pem", pem: text(chain) },
    key: { kind: "secret", pem: new Redacted(text(key)) },
    origin: { kind: "Secret", namespace: "a", name, field: "data" },
  };
}

/** A certificate of a thousand characters. */
const [BEGIN, END] = ["-----BEGIN CERTIFICATE-----\n", "-----END CERTIFICATE-----\n"];
const BLOCK = `${text(1_000 - END.length - 1, BEGIN)}\n${END}`;

/** How many of the upstreams of one namespace have what they ask for. */
function accepted(before: readonly Upstream[], after: readonly Upstream[], more: Certs = [[], []]) {
  const [shown, asked] = more;
  const published = { ...EMPTY_SNAPSHOT, upstreams: before, certificates: shown };
  const held = new PublishedUpstreamTls(published, new CommonAuthorities())
    .withoutGrowth(after, asked);
  return held.filter((each) => each.held.length === 0).length;
}

type Certs = readonly [before: readonly Certificate[], after: readonly Certificate[]];

function range<T>(count: number, make: (i: number) => T): T[] {
  return Array.from({ length: count }, (_, i) => make(i));
}

const GROWTH: readonly (readonly [name: string, grown: (by: number) => number, of: number])[] = [
  [
    "one CA",
    (by) =>
      accepted([upstream("a/s:1", BLOCK)], [upstream("a/s:1", BLOCK + text(STEP - 1_000 + by))]),
    1,
  ],
  [
    "one CA of many upstreams, on the stream",
    (by) => {
      const all = (pem: string) => range(4, (i) => upstream(`a/s${i}:1`, pem));
      return accepted(all(BLOCK), all(BLOCK + text(STEP / 4 - 1_000 + by)));
    },
    4,
  ],
  [
    "other CAs of the same size, in ConfigMaps",
    (by) => {
      const length = 1_024 + by;
      const all = (begin: (i: number) => string) =>
        range(32, (i) => upstream(`a/s${String(i).padStart(2, "0")}:1`, text(length, begin(i))));
      return accepted(all(() => "shared"), all((i) => `own ${i} `));
    },
    32,
  ],
  [
    "a client certificate",
    (by) =>
      accepted([upstream("a/s:1", null, "old")], [upstream("a/s:1", null, "new")], [
        [certificate("old", 1_000, 200)],
        [certificate("new", STEP - 200 + by, 200)],
      ]),
    1,
  ],
  [
    "a key in place of a chain",
    (by) =>
      accepted([upstream("a/s:1", null, "old")], [upstream("a/s:1", null, "new")], [
        [certificate("old", STEP + 5_000, 200)],
        [certificate("new", 10, STEP + by)],
      ]),
    1,
  ],
  [
    "a chain in place of a key",
    (by) =>
      accepted([upstream("a/s:1", null, "old")], [upstream("a/s:1", null, "new")], [
        [certificate("old", 10, STEP + 5_000)],
        [certificate("new", STEP + by, 10)],
      ]),
    1,
  ],
];

for (const [name, grown, of] of GROWTH) {
  Deno.test(`in a full namespace, TLS to backends grows to a step and not past it: ${name}`, () => {
    assert.equal(grown(-1), of, "one less");
    assert.equal(grown(0), of, "exactly");
    assert.ok(grown(1) < of, "one more");
  });
}

const RENEWALS: readonly (readonly [
  name: string,
  before: readonly [chain: number, key: number],
  after: (by: number) => readonly [chain: number, key: number],
])[] = [
  ["a longer chain", [1_000, 200], (by) => [STEP - 200 + by, 200]],
  ["a longer key", [1_000, 200], (by) => [1_000, STEP - 1_000 + by]],
  ["a key in place of a chain", [STEP + 5_000, 200], (by) => [10, STEP + by]],
  ["a chain in place of a key", [10, STEP + 5_000], (by) => [STEP + by, 10]],
];

for (const [name, before, after] of RENEWALS) {
  Deno.test(`in a full namespace, a certificate grows to a step and not past it: ${name}`, () => {
    const held = (by: number) =>
      outgrown([certificate("1", ...before, "web")], [certificate("2", ...after(by), "web")], 1)
        .size;
    assert.deepEqual([-1, 0, 1].map(held), [0, 0, 1]);
  });
}

Deno.test("the step of renewals is a sixteenth, or a part of 256 KiB, in powers of two", () => {
  const cases: readonly (readonly [size: number, namespaces: number, step: number])[] = [
    [0, 0, STEP],
    [1_000, 1, STEP],
    [1_000, 8, STEP],
    [1_000, 9, STEP / 2],
    [1_000, 16, STEP / 2],
    [1_000, 17, STEP / 4],
    [32 * STEP - 1, 1, STEP],
    [32 * STEP, 1, 2 * STEP],
    [32 * STEP + 1, 1, 2 * STEP],
    [1, 1_000_000, 1],
  ];
  for (const [size, namespaces, step] of cases) {
    assert.equal(renewalStep(size, namespaces), step, `${size} of ${namespaces}`);
  }
});

/** Of four namespaces alike, each with five upstreams that have so many characters of authorities. */
function withAuthorities(characters: number): Snapshot {
  const namespaces = ["a", "b", "c", "d"];
  return {
    ...EMPTY_SNAPSHOT,
    upstreams: namespaces.flatMap((namespace) =>
      range(
        5,
        (i) => upstream(`${namespace}/s${i}:1`, text(characters, `${namespace} ${i}`), namespace),
      )
    ),
    certificates: namespaces.map((id) => certificate(id, 3_000, 3_000)),
  };
}

function bounded(
  snapshot: Snapshot,
  bounds: ClusterBounds,
  published: Snapshot | null = null,
): Snapshot {
  return new UpstreamTlsBound().apply(snapshot, published, bounds, new ProblemList());
}

/** With just enough of one thing for `size`, and `by` more. */
function boundsOf(resource: Resource, size: Size, by: number, share = 1): ClusterBounds {
  const most = resource === "memory" ? size.memory : Math.ceil(size[resource]);
  switch (resource) {
    case "published":
      return { ...UNBOUNDED, publishedBytes: (most + by) / share };
    case "keys":
      return { ...UNBOUNDED, keyBytes: (most + by) / share };
    case "line":
      return { ...UNBOUNDED, lineBytes: (most + by) / share };
    case "memory": {
      const budget = (limit: number) => snapshotBudget({ limit, workers: 1 }, PUBLISHED_SHARE);
      let limit = 1;
      for (let step = 2 ** 40; step >= 1; step /= 2) {
        if (budget(limit + step) * share < most) limit += step;
      }
      return { ...UNBOUNDED, memory: { limit: limit + 1 + by, workers: 1 } };
    }
  }
}

/** Of TLS to backends, and of all the rest. */
function sizesOf(snapshot: Snapshot): readonly [tls: Size, rest: Size] {
  const scale = new Scale(snapshot, UNBOUNDED);
  return [scale.tls, plus(scale.endpoints, scale.totalOf(publishedParts(snapshot)), 1)];
}

/** Whether all upstreams are published as they are. */
function isWhole(
  snapshot: Snapshot,
  bounds: ClusterBounds,
  published: Snapshot | null = null,
): boolean {
  const { upstreams } = bounded(snapshot, bounds, published);
  return upstreams.every((each, i) => each === snapshot.upstreams[i]);
}

/** Takes more than there is of anything in these tests. */
const LARGE_ROUTE = {
  id: "r",
  host: "a.test",
  match: { path: { type: "Exact", value: text(30_000_000, "/") } },
  action: { kind: "reply", status: 404, reason: "" },
  origin: { kind: "Ingress", namespace: "a", name: "web", field: "spec" },
} as unknown as Route;

for (const resource of RESOURCES) {
  const isBoundedAt = (snapshot: Snapshot, size: Size, share = 1) =>
    assert.deepEqual(
      [-1, 0, 1].map((by) => isWhole(snapshot, boundsOf(resource, size, by, share))),
      [false, true, true],
    );

  Deno.test(`TLS to backends takes exactly the rest of ${resource}, and no byte more`, () => {
    const snapshot = withAuthorities(400_000);
    const [tls, rest] = sizesOf(snapshot);
    isBoundedAt(snapshot, plus(tls, rest, 1));
  });

  Deno.test(`TLS to backends of one namespace takes half of ${resource}, and no byte more`, () => {
    const all = withAuthorities(400_000);
    const snapshot = { ...all, upstreams: all.upstreams.filter(({ id }) => id.startsWith("a/")) };
    isBoundedAt(snapshot, sizesOf(snapshot)[0], 1 / 2);
  });

  Deno.test(`TLS to backends has a thirty-second of ${resource}, whatever the rest takes`, () => {
    const snapshot = withAuthorities(20_000);
    const certificates = [
      ...snapshot.certificates,
      { ...certificate("large", 10, 1_000_000), hosts: ["a.test"] },
    ];
    isBoundedAt({ ...snapshot, routes: [LARGE_ROUTE], certificates }, sizesOf(snapshot)[0], 1 / 32);
  });

  Deno.test(`certificates of listeners take all of ${resource}, and no byte more`, () => {
    const parts = { ...NO_PARTS, certificates: 10, chains: 5_000_000, keys: 2_000_000 };
    const size = new Scale(null, UNBOUNDED).sizeOf(parts);
    const demands = new Demands();
    const admission = new ClusterAdmission(
      new NamespaceAdmission(demands, new PublishedModels()),
      demands,
    );
    const full = (by: number) =>
      admission.gatewayRoom([], [], null, boundsOf(resource, size, by))
        .fullFor(new Map([["a", parts]])).namespaces.size;
    assert.deepEqual([-1, 0, 1].map(full), [1, 0, 0]);
  });
}

Deno.test("published upstreams that come to take more stay up to the capacity, and no further", () => {
  const ca = text(14_000);
  const all = (endpoints: number): Snapshot => ({
    ...EMPTY_SNAPSHOT,
    upstreams: range(40, (i) => ({
      ...upstream(`a/s${String(i).padStart(2, "0")}:1`, ca),
      addresses: {
        kind: "endpoints",
        endpoints: range(endpoints, (j) => ({ address: `10.0.${i}.${j}`, port: 443 })),
      },
    })),
  });
  const [near, far] = [all(1), all(200)];
  const [tls, rest] = sizesOf(far);
  const limit = Math.ceil(plus(tls, rest, 1).published / 1.15);
  const fits = (by: number) => isWhole(far, { ...UNBOUNDED, publishedBytes: limit + by }, near);
  assert.deepEqual([-1, 0, 1].map(fits), [false, true, true]);
});

Deno.test("authorities of up to 15,000 characters count once where they are near each other", () => {
  const counted = (length: number, between = 0) => {
    const plain = range(between, (i) => ({ ...upstream(`a/p${i}:1`, null), tls: undefined }));
    const upstreams = [upstream("a/a:1", text(length)), ...plain, upstream("a/b:1", text(length))];
    const [{ random, text: all }] = upstreamTlsParts({ upstreams, certificates: [] }).values();
    assert.equal(all, 2 * length);
    return random / length;
  };
  assert.deepEqual([14_999, 15_000, 15_001].map((length) => counted(length)), [1, 1, 2]);
  // Each upstream with an endpoint is some 300 characters; 15,000 are left, less the second one's own.
  assert.deepEqual([48, 49, 50].map((between) => counted(15_000, between)), [1, 1, 2]);
});
