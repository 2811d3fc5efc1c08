import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { gzipSync } from "node:zlib";
import { sha256Of } from "../../../shared/snapshot/published_set.ts";
import type { Snapshot } from "../../../shared/snapshot/types.ts";
import { serialiseIndex, serialiseSnapshot } from "../../../shared/snapshot/serialise.ts";
import { Random } from "../../../tests/fuzz/random.ts";
import { largeSnapshot, toLive } from "../../../tests/support/published_scene.ts";
import { randomConfigurations } from "../../../tests/support/random_snapshot.ts";
import { config } from "../../../tests/support/source_scene.ts";
import { digestOf } from "./content.ts";
import { layPublishedSet } from "./layout.ts";
import type { LiveConfigMap, LiveSecret } from "./objects.ts";
import { PublishedReader, readPublishedSet } from "./published.ts";

const SMALL = largeSnapshot({ routes: 20, certificates: 3 });
const LARGE = largeSnapshot({ routes: 200, certificates: 1000 });

function revealed(snapshot: Snapshot | null): string {
  assert.ok(snapshot !== null);
  return serialiseSnapshot(snapshot, { revealKeys: true });
}

function publish(snapshot: Snapshot): { configMaps: LiveConfigMap[]; secrets: LiveSecret[] } {
  return toLive(layPublishedSet(snapshot));
}

Deno.test("a published configuration is read back unchanged, including keys", () => {
  const sizes = [{}, { routes: 3000 }, { routes: 10_000, certificates: 1000 }];
  for (const snapshot of [SMALL, LARGE, ...sizes.map(largeSnapshot)]) {
    const { configMaps, secrets } = publish(snapshot);
    const published = readPublishedSet(configMaps.reverse(), secrets.reverse());
    assert.equal(published.problem, null);
    assert.equal(revealed(published.snapshot), revealed(snapshot));
    assert.deepEqual(published.version, snapshot.version);
    assert.equal(published.digest, digestOf(snapshot));
  }
});

Deno.test("random successive configurations are read back unchanged", () => {
  const { certificates } = SMALL;
  const random = new Random(7);
  const reader = new PublishedReader();
  for (const configured of randomConfigurations(random, 300)) {
    const snapshot = {
      ...configured.snapshot,
      certificates: certificates.filter(() => random.oneIn(2)),
      defaultCertificate: null,
    };
    const { configMaps, secrets } = publish(snapshot);
    const published = reader.read(configMaps, secrets);
    assert.equal(published.problem, null);
    assert.equal(revealed(published.snapshot), revealed(snapshot));
  }
});

Deno.test("keys that were read back are redacted when printed", () => {
  const { configMaps, secrets } = publish(SMALL);
  const published = readPublishedSet(configMaps, secrets);
  assert.ok(!Deno.inspect(published, { depth: 9 }).includes("PRIVATE"));
  assert.ok(!JSON.stringify(published).includes("PRIVATE"));
});

Deno.test("parts are found by the index", () => {
  const { configMaps, secrets } = toLive(layPublishedSet(LARGE, { slots: [5, 2] }));
  const published = readPublishedSet(configMaps, secrets);
  assert.equal(revealed(published.snapshot), revealed(LARGE));
  assert.deepEqual(published.slots, [5, 2]);
});

Deno.test("objects of others are ignored", () => {
  const { configMaps, secrets } = publish(SMALL);
  const stranger = { metadata: { name: "kube-root-ca.crt" }, data: { "proxy-v2.json": "{" } };
  const published = readPublishedSet([stranger, ...configMaps], [stranger, ...secrets]);
  assert.equal(published.problem, null);
});

Deno.test("missing or manually changed data is reported, and never used", () => {
  const small = publish(SMALL);
  const large = publish(LARGE);
  const text = small.configMaps[0].data!["proxy-v2.json"];
  const withFirst = (text: string) => [{
    metadata: { name: "pingress-config-v2" },
    data: { "proxy-v2.json": text },
  }];
  const withPart = (bytes: Uint8Array) =>
    large.configMaps.map((one, i) =>
      i !== 1
        ? one
        : { ...one, binaryData: { "proxy-v2.json": Buffer.from(bytes).toString("base64") } }
    );
  const gzip = gzipSync("{}");
  const indexOf = (sha256: string) =>
    serialiseIndex(SMALL, {
      sha256,
      parts: [{ path: "proxy-v2-1.json", sha256: sha256Of(gzip) }],
      keys: [],
    });
  const part = {
    metadata: { name: "pingress-config-v2-1" },
    binaryData: { "proxy-v2.json": gzip.toString("base64") },
  };
  const cases: [LiveConfigMap[], string | RegExp][] = [
    [[], "there is no ConfigMap pingress-config-v2"],
    [withFirst(config("old.test")), "ConfigMap pingress-config-v2 is another program's"],
    [
      withFirst(serialiseSnapshot(SMALL, { revealKeys: true })),
      "ConfigMap pingress-config-v2 is another program's",
    ],
    [
      withFirst(text.slice(0, 100)),
      /^ConfigMap pingress-config-v2 cannot be read: \$: the file is /,
    ],
    [
      withFirst(text.replace('"format":2', '"format":3')),
      /^ConfigMap pingress-config-v2 cannot be read: \$\.format: format 3 is newer than 2/,
    ],
    [
      withFirst(text.replace('"type":"Prefix"', '"type":"prefix"')),
      /^what is published cannot be read: \$\.routes/,
    ],
    [large.configMaps.slice(0, 2), "there is no ConfigMap pingress-config-v2-2"],
    [
      withPart(new Uint8Array(10)),
      "ConfigMap pingress-config-v2-1 is not the part that ConfigMap pingress-config-v2 names",
    ],
    [
      [...withFirst(indexOf("0".repeat(64))), part],
      "what is published cannot be read: $: the parts make up another text",
    ],
    [
      [...withFirst(indexOf(sha256Of("{}"))), part],
      /^what is published cannot be read: \$: it is neither a snapshot/,
    ],
    [
      [...withFirst(indexOf(sha256Of("{}")).replace("proxy-v2-1", "proxy-v2-8")), part],
      "ConfigMap pingress-config-v2 names a part that no ConfigMap has",
    ],
  ];
  for (const [configMaps, problem] of cases) {
    const published = readPublishedSet(configMaps, [...small.secrets, ...large.secrets]);
    assert.equal(published.snapshot, null);
    assert.equal(published.digest, null);
    if (typeof problem === "string") assert.equal(published.problem, problem);
    else assert.match(published.problem!, problem);
  }
});

Deno.test("a missing or different key loses only its own certificate", () => {
  const { configMaps, secrets } = publish(SMALL);
  const [hash, ...rest] = Object.keys(secrets[0].data!).sort();
  const other = secrets[0].data![rest[0]];
  const { [hash]: _, ...without } = secrets[0].data!;
  for (const data of [without, { ...without, [hash]: other }]) {
    const published = readPublishedSet(configMaps, [{ ...secrets[0], data }]);
    assert.equal(published.problem, "Secrets lack 1 of 3 private keys");
    assert.equal(published.snapshot?.certificates.length, 2);
    assert.equal(published.snapshot?.routes.length, 20);
    assert.equal(published.digest, null);
  }
  assert.equal(readPublishedSet(configMaps, []).problem, "Secrets lack 3 of 3 private keys");
});

Deno.test("a key in a Secret of another name is ignored", () => {
  const { configMaps, secrets } = publish(SMALL);
  const moved = { ...secrets[0], metadata: { name: "pingress-keys-16" } };
  assert.equal(readPublishedSet(configMaps, [moved]).problem, "Secrets lack 3 of 3 private keys");
});

Deno.test("the expected content equals the parsed one", () => {
  for (const snapshot of [SMALL, LARGE]) {
    const layout = layPublishedSet(snapshot);
    assert.ok(layout.ok && layout.text !== undefined);
    const { configMaps, secrets } = toLive(layout);
    const reader = new PublishedReader();
    reader.expect(layout.text, digestOf(snapshot));
    assert.deepEqual(reader.read(configMaps, secrets), readPublishedSet(configMaps, secrets));
    // Whatever is expected, only what stands there counts.
    const other = toLive(layPublishedSet(largeSnapshot({ routes: 2 })));
    assert.equal(reader.read(other.configMaps, other.secrets).snapshot?.routes.length, 2);
  }
});

Deno.test("reading again finds every change in spite of the cache", () => {
  const reader = new PublishedReader();
  const states = [SMALL, LARGE, SMALL, LARGE, largeSnapshot({ routes: 3000, seed: 2 })];
  for (const snapshot of states) {
    const { configMaps, secrets } = publish(snapshot);
    assert.equal(revealed(reader.read(configMaps, secrets).snapshot), revealed(snapshot));
    assert.equal(reader.read(configMaps, secrets).digest, digestOf(snapshot));
    assert.equal(reader.read(configMaps.slice(1), secrets).snapshot, null);
    assert.equal(reader.read(configMaps, secrets.slice(1)).digest === null, secrets.length > 0);
  }
});

Deno.test("while a new configuration is written, the previous one is not parsed again", () => {
  const before = largeSnapshot({ routes: 3000 });
  const { configMaps, secrets } = publish(before);
  const layout = layPublishedSet(largeSnapshot({ routes: 3001 }), { slots: [2, 3] });
  assert.ok(layout.ok && layout.text?.set === null);
  const reader = new PublishedReader();
  const first = reader.read(configMaps, secrets);
  reader.expect(layout.text, "of the next one");
  const parts = toLive(layout).configMaps.slice(1);
  const again = reader.read([...configMaps, ...parts], secrets);
  assert.equal(again.digest, digestOf(before));
  assert.equal(again.snapshot?.routes, first.snapshot?.routes);
});
