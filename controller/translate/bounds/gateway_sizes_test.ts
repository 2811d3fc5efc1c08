/** What routes count for, beside what they take once they are published. */
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { gzipSync } from "node:zlib";
import { snapshotMemory } from "../../../shared/snapshot/memory.ts";
import { serialiseSnapshot } from "../../../shared/snapshot/serialise.ts";
import { randomNumbers } from "../../../tests/support/rich_cluster.ts";
import {
  acceptedOf,
  gateway,
  ingress,
  route,
  Scene,
} from "../../../tests/support/shared_address_scene.ts";
import type { BoundedTranslation } from "../gateway/gateway_translation.ts";
import { DEFAULT_NAMESPACE_BOUNDS } from "./namespace_bounds.ts";
import { DEFAULT_CLUSTER_BOUNDS, plus, Scale } from "./cluster_sizes.ts";
import { publishedGatewayParts } from "./gateway_tally.ts";
import { publishedParts } from "./namespace_parts.ts";

const WORKERS = 4;

/** Limits leave 15 % for what estimates leave out. */
const MARGIN = 1.15;

const next = randomNumbers(1);

/** Text that cannot be compressed. */
function randomText(length: number, from = 97, count = 26): string {
  const characters = Array.from({ length }, () => from + Math.floor(next() * count));
  return String.fromCharCode(...characters);
}

const pathsOf = (count: number, path = (i: number) => `/${i}`, type = "PathPrefix") =>
  [...Array(count).keys()].map((i) => ({ path: { type, value: path(i) } }));

const headersOf = (count: number, value: () => string) => [{
  headers: [...Array(count).keys()].map((i) => ({ name: `x-${i}`, value: value() })),
}];

/** As long as the API lets a reference be. */
const longReference = () => ({
  ...{ group: randomText(253), kind: randomText(63) },
  ...{ namespace: randomText(63), name: randomText(253), port: 80 },
});

interface Row {
  /** Of the HTTPRoutes, with their number at the end. */
  readonly name?: string;
  readonly rule: (i: number) => unknown;
}

/** Each of some rules. */
const ROWS: Readonly<Record<string, Row>> = {
  "one backend": {
    rule: () => ({ matches: pathsOf(64), backendRefs: [{ name: "web", port: 80 }] }),
  },
  "HTTPRoutes with long names": { name: randomText(250), rule: () => ({ matches: pathsOf(64) }) },
  "one backend with a long name that does not exist": {
    rule: () => ({ matches: pathsOf(8), backendRefs: [longReference()] }),
  },
  "many backends with long names that do not exist": {
    rule: () => ({
      matches: pathsOf(8),
      backendRefs: Array.from({ length: 16 }, longReference),
    }),
  },
  "random values of headers": {
    rule: () => ({ matches: headersOf(16, () => randomText(1_000)) }),
  },
  "values of headers that are not ASCII": {
    rule: () => ({ matches: headersOf(16, () => randomText(1_000, 0x4e00, 20_000)) }),
  },
  "values of headers that JSON escapes": {
    rule: () => ({ matches: headersOf(16, () => "\u0001".repeat(1_000)) }),
  },
  "many conditions": { rule: () => ({ matches: Array(64).fill(headersOf(16, () => "1")).flat() }) },
  "random paths": { rule: () => ({ matches: pathsOf(16, () => `/${randomText(500)}`) }) },
  "regular expressions": {
    rule: () => ({ matches: pathsOf(16, () => `/${randomText(300)}.*`, "RegularExpression") }),
  },
  "regular expressions that are refused": {
    rule: () => ({ matches: pathsOf(16, () => `/${randomText(300)}(`, "RegularExpression") }),
  },
  "filters that are refused": {
    rule: () => ({ matches: pathsOf(64), filters: [{ type: randomText(300) }] }),
  },
  "redirects of prefixes": {
    rule: () => ({
      matches: pathsOf(16),
      filters: [{
        type: "RequestRedirect",
        requestRedirect: {
          path: { type: "ReplacePrefixMatch", replacePrefixMatch: `/${randomText(500)}` },
        },
      }],
    }),
  },
};

const GATEWAYS = [gateway("infra", "web", 0, null)];

/** HTTPRoutes with rules of a row. */
function routesOf({ name = "r", rule }: Row, count: number, namespace = "evil") {
  return Array.from({ length: count }, (_, i) => {
    const made = route(namespace, `${name}${i}`, i, [`r${i}.${namespace}.test`], ["infra/web"]);
    const rules = Array.from({ length: 16 }, (_, i) => rule(i));
    return { ...made, spec: { ...made.spec, rules } } as unknown as typeof made;
  });
}

for (const [name, row] of Object.entries(ROWS)) {
  Deno.test(`an HTTPRoute counts for no less than it takes: ${name}`, () => {
    const unbounded = { ...DEFAULT_NAMESPACE_BOUNDS, routes: Infinity, hostBytes: Infinity };
    const { snapshot, gateway: translated } = new Scene({ namespaceBounds: unbounded }).apply({
      gateways: GATEWAYS,
      httpRoutes: routesOf(row, 4),
    });
    const memory = { limit: 1 << 30, workers: WORKERS };
    const scale = new Scale(snapshot, { ...DEFAULT_CLUSTER_BOUNDS, memory });
    const text = serialiseSnapshot(snapshot, { revealKeys: true });
    const taken = {
      memory: snapshotMemory(snapshot, WORKERS),
      published: gzipSync(text, { level: 4 }).length,
      line: Buffer.byteLength(text),
    };
    const { wanted } = translated as unknown as BoundedTranslation;
    for (const parts of [wanted, publishedGatewayParts(snapshot)]) {
      const counted = plus(scale.totalOf(parts), scale.totalOf(publishedParts(snapshot)), 1);
      for (const [resource, bytes] of Object.entries(taken)) {
        const estimate = counted[resource as keyof typeof taken];
        assert.ok(bytes <= MARGIN * estimate, `${resource}: ${bytes}, counted for ${estimate}`);
      }
    }
    // What has not changed adds nothing to a full cluster.
    const full = new Scene({
      ...{ namespaceBounds: unbounded },
      clusterBounds: { ...DEFAULT_CLUSTER_BOUNDS, lineBytes: 1_000 },
    });
    full.published = snapshot;
    const again = full.apply({ gateways: GATEWAYS, httpRoutes: routesOf(row, 4) });
    assert.match(acceptedOf(again, `evil/${row.name ?? "r"}0`), /^(?!.*Limit)/);
  });
}

Deno.test("an Ingress with a long name counts for no less than it takes", () => {
  const made = ingress("evil", randomText(253), 0, "evil.test");
  const [{ http: { paths: [path] } }] = made.spec.rules;
  const paths = [...Array(500).keys()].map((i) => ({ ...path, path: `/${i}` }));
  const { snapshot } = new Scene().apply({
    ingresses: [{
      ...made,
      spec: { ...made.spec, rules: [{ host: "evil.test", http: { paths } }] },
    }],
  });
  const memory = { limit: 1 << 30, workers: WORKERS };
  const scale = new Scale(snapshot, { ...DEFAULT_CLUSTER_BOUNDS, memory });
  const counted = scale.totalOf(publishedParts(snapshot));
  const text = serialiseSnapshot(snapshot, { revealKeys: true });
  assert.ok(snapshotMemory(snapshot, WORKERS) <= MARGIN * counted.memory);
  assert.ok(Buffer.byteLength(text) <= MARGIN * counted.line);
});
