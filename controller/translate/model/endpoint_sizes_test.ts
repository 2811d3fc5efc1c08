import assert from "node:assert/strict";
import { gzipSync } from "node:zlib";
import type { Endpoint, Upstream } from "../../../shared/snapshot/types.ts";
import { upstreamText } from "../../../shared/snapshot/serialise.ts";
import { PublishedEndpoints } from "./endpoint_sizes.ts";

const LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

/** The longest name of a zone, of so many different letters. */
function zoneName(letters: number): string {
  const bytes = crypto.getRandomValues(new Uint8Array(63));
  return Array.from(bytes, (byte) => LETTERS[byte % letters]).join("");
}

function range<T>(count: number, make: (i: number) => T): T[] {
  return Array.from({ length: count }, (_, i) => make(i));
}

function upstream(id: string, endpoints: readonly Endpoint[]): Upstream {
  const sorted = endpoints.toSorted((a, b) => a.address < b.address ? -1 : 1);
  return { id, protocol: "http", addresses: { kind: "endpoints", endpoints: sorted } };
}

const inNetwork = (i: number) => `10.${i >> 16}.${(i >> 8) & 255}.${i & 255}`;
const randomBytes = (count: number) => crypto.getRandomValues(new Uint8Array(count));
const randomIpv4 = () => randomBytes(4).join(".");
const randomIpv6 = () => randomBytes(16).toHex().replace(/.{4}(?=.)/g, "$&:");
const randomPort = () => 1 + Math.floor(Math.random() * 65_535);

/** What they are published as, and how small gzip makes that, less what an upstream counts itself. */
function assertCounted(name: string, upstreams: readonly Upstream[], most: number): void {
  const text = upstreams.map(upstreamText).join();
  const packed = gzipSync(text, { level: 4 }).length;
  const beside = upstreams.map((each) => upstreamText({ ...each, addresses: NO_ADDRESSES }).length)
    .reduce((sum, length) => sum + length + 1, 0);
  const { packed: counted, line } = new PublishedEndpoints().of(upstreams);
  const beyond = 40 * upstreams.length;
  assert.ok(packed <= counted + beyond, `${name}: ${packed} bytes, counted as ${counted}`);
  assert.ok(text.length - beside <= line, `${name}: ${text.length} in a line, counted as ${line}`);
  assert.ok(counted <= most * packed, `${name}: ${packed} bytes, counted as ${counted}`);
}

const NO_ADDRESSES = { kind: "endpoints", endpoints: [] } as const;
const ZONES = ["eu-central-1a", "eu-central-1b", "eu-central-1c"];
const zoned = (i: number) => ({ zone: ZONES[i % 3], hints: [ZONES[i % 3]] });

const ADDRESSES: readonly (readonly [name: string, endpoint: (i: number) => Endpoint])[] = [
  ["one network", (i) => ({ address: inNetwork(i), port: 8080 })],
  ["one network in zones", (i) => ({ address: inNetwork(i), port: 8080, ...zoned(i) })],
  ["random IPv4", () => ({ address: randomIpv4(), port: randomPort() })],
  ["random IPv4 in zones", (i) => ({ address: randomIpv4(), port: randomPort(), ...zoned(i) })],
  ["random IPv6", () => ({ address: randomIpv6(), port: randomPort() })],
  ["random IPv6 in zones", (i) => ({ address: randomIpv6(), port: randomPort(), ...zoned(i) })],
];

for (const [name, endpoint] of ADDRESSES) {
  Deno.test(`endpoints count no less than they take: ${name}`, () => {
    assertCounted(name, [upstream("a/web:80", range(5_000, endpoint))], 20);
    assertCounted(name, range(500, (i) => upstream(`a/s${i}:80`, range(3, endpoint))), 20);
  });
}

Deno.test("names of zones count no less than they take, however many there are, of however many letters", () => {
  for (const different of [1, 3, 10, 30, 100, 300, 1_000, 20_000]) {
    for (const letters of [2, 4, 12, LETTERS.length]) {
      for (const hinted of [0, 1, 8]) {
        const names = range(different, () => zoneName(letters));
        const named = (i: number): Endpoint => ({
          address: inNetwork(i),
          port: 8080,
          zone: names[i % different],
          ...(hinted === 0 ? {} : {
            hints: [...new Set(range(hinted, (j) => names[(i * 7 + j * 13) % different]))],
          }),
        });
        const name = `${different} names of ${letters} letters, ${hinted} hints`;
        assertCounted(name, [upstream("a/web:80", range(2_000, named))], 60);
      }
    }
  }
});

Deno.test("names of zones of many small Services count no less than they take", () => {
  for (const namespaces of [1, 10, 1_000]) {
    const upstreams = range(2_000, (i) =>
      upstream(`n${i % namespaces}/s${i}:80`, [
        { address: inNetwork(i), port: 8080, zone: zoneName(62), hints: [zoneName(62)] },
      ])).sort((a, b) => a.id < b.id ? -1 : 1);
    assertCounted(`${namespaces} namespaces`, upstreams, 2);
  }
});
