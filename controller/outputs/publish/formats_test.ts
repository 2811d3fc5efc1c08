/** Format 1 beside format 2, as an upgrade and a rollback leave them. */
import assert from "node:assert/strict";
import type { Snapshot } from "../../../shared/snapshot/types.ts";
import { format1Set } from "../../../tests/support/format1_set.ts";
import { largeSnapshot, toLive } from "../../../tests/support/published_scene.ts";
import { digestOf } from "./content.ts";
import { PublishedFormats } from "./formats.ts";
import { layPublishedSet } from "./layout.ts";
import { planPublish } from "./plan.ts";
import { Retention } from "./retention.ts";

const at = (seen: string, routes = 3, certificates = 2): Snapshot =>
  largeSnapshot({ routes, certificates, seen });

const NOTHING = { configMaps: [], secrets: [] };

for (const [layout, routes, certificates] of [["one file", 3, 2], ["parts", 300, 800]] as const) {
  Deno.test(`the previous version's configuration is read until this version has published: ${layout}`, () => {
    const before = at("1", routes, certificates);
    const earlier = format1Set(before);
    const formats = new PublishedFormats();
    const live = { configMaps: [], secrets: earlier.secrets };
    const published = formats.read(live, earlier.configMaps, null);
    assert.equal(published.problem, null);
    assert.deepEqual(published.snapshot?.routes, before.routes);
    assert.equal(published.snapshot?.certificates.length, certificates);
    // Else nothing would be written in the format of today.
    assert.equal(published.digest, null);
    assert.deepEqual(published.slots, []);

    const current = toLive(layPublishedSet(before));
    assert.equal(formats.read(current, earlier.configMaps, published).digest, digestOf(before));
  });
}

const CASES: readonly [says: string, format1: string, format2: string, read: string][] = [
  ["this version has published since", "1", "2", "2"],
  ["nothing has changed since the upgrade", "2", "2", "2"],
  ["the version before has published after a rollback", "3", "2", "3"],
];

for (const [says, format1, format2, read] of CASES) {
  Deno.test(`of two formats the newer configuration is read: ${says}`, () => {
    const earlier = format1Set(at(format1));
    const live = toLive(layPublishedSet(at(format2)));
    const published = new PublishedFormats().read(live, earlier.configMaps, null);
    assert.equal(published.version?.seen.Ingress, read);
    assert.equal(published.digest === null, read === format1 && read !== format2);
  });
}

Deno.test("a damaged configuration is not replaced by an older one in format 1", () => {
  const formats = new PublishedFormats();
  const earlier = format1Set(at("1"));
  const live = toLive(layPublishedSet(at("2")));
  const known = formats.read(live, earlier.configMaps, null);
  const damaged = formats.read({ ...live, configMaps: [] }, earlier.configMaps, known);
  assert.equal(damaged.snapshot, null);
  assert.equal(damaged.problem, "there is no ConfigMap pingress-config-v2");
});

Deno.test("an invalid snapshot in pingress-config counts as none", () => {
  for (const text of ['{"rules": []}', "{", "", '{"format": 1}', '{"format": 1, "set": 5}']) {
    const first = { metadata: { name: "pingress-config" }, data: { "proxy.json": text } };
    const published = new PublishedFormats().read(NOTHING, [first], null);
    assert.equal(published.snapshot, null, text);
    assert.equal(published.problem, "there is no ConfigMap pingress-config-v2");
  }
});

Deno.test("keys that format 1 references stay as long as it does, other superseded keys for a while", () => {
  const earlier = format1Set(at("1", 3, 4));
  const next = at("2", 3, 1);
  const formats = new PublishedFormats();
  let now = 0;
  const retention = new Retention(100, () => now);
  const keysAfter = (configMaps: typeof earlier.configMaps): number => {
    const live = { configMaps: [], secrets: earlier.secrets };
    const published = formats.read(live, configMaps, null);
    const plan = planPublish(next, published, live, retention, formats.earlierKeys(configMaps));
    assert.ok(plan.ok);
    return plan.secrets.reduce((sum, { data }) => sum + Object.keys(data).length, 0);
  };
  assert.equal(keysAfter(earlier.configMaps), 4);
  now = 1000;
  assert.equal(keysAfter(earlier.configMaps), 4);
  assert.equal(keysAfter([]), 4);
  now = 1100;
  assert.equal(keysAfter([]), 1);
});
