/** Sizes of authorities in many upstreams, against what they take once they are published. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { gzipSync } from "node:zlib";
import type { Upstream } from "../../../shared/snapshot/types.ts";
import { DEFAULT_CLUSTER_BOUNDS, EMPTY_SNAPSHOT, Scale } from "./cluster_sizes.ts";

/** Text as random as PEM is. */
function authority(bytes: number): string {
  return randomBytes(bytes).toString("base64").slice(0, bytes).replace(/.{64}/g, "$&\n");
}

function upstream(i: number, pem: string, endpoints = 1): Upstream {
  return {
    id: `shop/s${String(i).padStart(5, "0")}:443`,
    protocol: "https",
    addresses: {
      kind: "endpoints",
      endpoints: Array.from({ length: endpoints }, (_, j) => ({
        address: `10.${i % 250}.${j >> 8}.${j & 255}`,
        port: 8443,
        zone: "eu-central-1a",
        hints: ["eu-central-1a"],
      })),
    },
    tls: { serverName: `s${i}.shop.svc`, ca: { kind: "pem", pem } },
  };
}

const COMMON = authority(1_500);
const FIVE = Array.from({ length: 5 }, () => authority(8_000));
const NEAR = authority(14_000);

const CASES: readonly (readonly [name: string, upstreams: readonly Upstream[], most: number])[] = [
  ["one usual CA in 2,000 Services", range(2_000, (i) => upstream(i, COMMON)), 10_000],
  ["another usual CA in each", range(500, (i) => upstream(i, authority(1_500))), 750_000],
  ["one large CA in each", range(20, (i) => upstream(i, FIVE.join(""))), 800_000],
  ["five CAs that take turns", range(100, (i) => upstream(i, FIVE[i % 5])), 800_000],
  ["one CA between many endpoints", range(60, (i) => upstream(i, NEAR, 400)), 900_000],
];

function range<T>(length: number, make: (i: number) => T): readonly T[] {
  return Array.from({ length }, (_, i) => make(i));
}

for (const [name, upstreams, most] of CASES) {
  Deno.test(`TLS to backends counts for about what it takes, and no less: ${name}`, () => {
    const without = upstreams.map(({ tls: _, ...rest }) => rest);
    const [all, plain] = [upstreams, without].map((list) => JSON.stringify(list));
    const { tls } = new Scale({ ...EMPTY_SNAPSHOT, upstreams }, DEFAULT_CLUSTER_BOUNDS);
    // What every upstream has counts as an upstream. JSON escapes line ends, for which bounds leave room.
    const isEnough = (size: number, takes: number) => size >= 0.95 * takes;
    const packed = gzipSync(all).length - gzipSync(plain).length;
    assert.ok(isEnough(tls.published + upstreams.length * 40, packed), "published");
    assert.ok(tls.published <= most, `${tls.published} are too many`);
    assert.ok(isEnough(tls.line + upstreams.length * 120, all.length - plain.length), "line");
  });
}
