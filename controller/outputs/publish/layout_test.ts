import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { sha256Of } from "../../../shared/snapshot/published_set.ts";
import type { Snapshot } from "../../../shared/snapshot/types.ts";
import { parseSnapshot } from "../../../shared/snapshot/parse.ts";
import { largeSnapshot } from "../../../tests/support/published_scene.ts";
import { type LayoutOptions, layPublishedSet, PART_BYTES, WHOLE_BYTES } from "./layout.ts";

function lay(snapshot: Snapshot, options?: LayoutOptions) {
  const layout = layPublishedSet(snapshot, options);
  assert.ok(layout.ok, layout.ok ? "" : layout.problem.message);
  return layout;
}

/** More than one part, since certificates do not compress. */
const LARGE = largeSnapshot({ routes: 200, certificates: 1000 });

Deno.test("a small configuration is plain JSON in pingress-config-v2, with its keys in pingress-keys", () => {
  const { configMaps, secrets, warnings } = lay(largeSnapshot({ routes: 20, certificates: 3 }));
  assert.deepEqual(configMaps.map(({ name }) => name), ["pingress-config-v2"]);
  assert.deepEqual(secrets.map(({ name }) => name), ["pingress-keys"]);
  const text = configMaps[0].data["proxy-v2.json"];
  const { snapshot, set, problems } = parseSnapshot(text);
  assert.deepEqual(problems, []);
  assert.equal(snapshot?.routes.length, 20);
  assert.deepEqual(set?.parts, []);
  assert.deepEqual(set?.keys, Object.keys(secrets[0].data).sort());
  assert.ok(!text.includes("PRIVATE KEY"));
  assert.deepEqual(warnings, []);
});

Deno.test("a configuration without certificates needs no Secret", () => {
  assert.deepEqual(lay(largeSnapshot({ routes: 1 })).secrets, []);
});

Deno.test("a large configuration is an index in pingress-config-v2, and parts", () => {
  const { configMaps, sizes } = lay(LARGE);
  assert.deepEqual(
    configMaps.map(({ name }) => name),
    ["pingress-config-v2", "pingress-config-v2-1", "pingress-config-v2-2"],
  );
  const index = JSON.parse(configMaps[0].data["proxy-v2.json"]);
  assert.deepEqual(Object.keys(index), ["format", "version", "set"]);
  assert.deepEqual(index.version, LARGE.version);
  assert.deepEqual(
    index.set.parts,
    configMaps.slice(1).map(({ binaryData }, i) => ({
      path: `proxy-v2-${i + 1}.json`,
      sha256: sha256Of(Buffer.from(binaryData["proxy-v2.json"], "base64")),
    })),
  );
  assert.equal(index.set.keys.length, 1000);
  assert.ok(sizes.every(({ bytes }) => bytes <= 1024 * 1024));
  assert.ok(
    sizes.filter(({ kind }) => kind === "ConfigMap").every(({ bytes }) => bytes <= PART_BYTES),
  );
});

Deno.test("reported sizes are those of the objects", () => {
  const { configMaps, secrets, sizes } = lay(largeSnapshot({ routes: 20, certificates: 3 }));
  assert.deepEqual(sizes, [
    {
      kind: "ConfigMap",
      name: "pingress-config-v2",
      bytes: Buffer.byteLength(configMaps[0].data["proxy-v2.json"]),
    },
    {
      kind: "Secret",
      name: "pingress-keys",
      bytes: Object.values(secrets[0].data)
        .reduce((sum, value) => sum + Buffer.byteLength(value, "base64"), 0),
    },
  ]);
});

Deno.test("the same snapshot gives the same bytes", () => {
  const again = largeSnapshot({ routes: 200, certificates: 1000 });
  assert.equal(JSON.stringify(lay(again)), JSON.stringify(lay(LARGE)));
});

Deno.test("plain JSON is used up to its limit, to the byte", () => {
  const withReason = (length: number): Snapshot => ({
    ...largeSnapshot(),
    defaultAction: { kind: "reply", status: 503, reason: "ü".padEnd(length, "x") },
  });
  const base = Buffer.byteLength(lay(withReason(1)).configMaps[0].data["proxy-v2.json"]) - 1;
  assert.equal(lay(withReason(WHOLE_BYTES - base)).configMaps.length, 1);
  assert.equal(lay(withReason(WHOLE_BYTES - base + 1)).configMaps.length, 2);
});

Deno.test("10,000 routes fit into one part, and 1,000 certificates into two", () => {
  assert.equal(lay(largeSnapshot({ routes: 10_000 })).configMaps.length, 2);
  const both = lay(largeSnapshot({ routes: 10_000, certificates: 1000 }));
  assert.ok(both.configMaps.length <= 4);
  assert.ok(both.secrets.length <= 4);
});

Deno.test("parts are put into the requested objects", () => {
  const { configMaps } = lay(LARGE, { slots: [6, 3, 1] });
  assert.deepEqual(
    configMaps.map(({ name }) => name),
    ["pingress-config-v2", "pingress-config-v2-6", "pingress-config-v2-3"],
  );
  const { parts } = JSON.parse(configMaps[0].data["proxy-v2.json"]).set;
  assert.deepEqual(parts.map(({ path }: { path: string }) => path), [
    "proxy-v2-6.json",
    "proxy-v2-3.json",
  ]);
});

Deno.test("a configuration that does not fit is a problem with the excess and a remedy", () => {
  const layout = layPublishedSet(largeSnapshot({ certificates: 6000, keyBytes: 100 }));
  assert.ok(!layout.ok);
  assert.equal(layout.problem.reason, "ConfigurationTooLarge");
  assert.match(
    layout.problem.message,
    /^the configuration takes \d+ KiB compressed \(\d+ KiB as JSON\), more than the 6300 KiB that 7 /,
  );
  assert.match(layout.problem.message, /the last published configuration stays active$/);
  assert.notEqual(layout.problem.remedy, "");

  const keys = layPublishedSet(largeSnapshot({ certificates: 600, keyBytes: 40_000 }));
  assert.ok(!keys.ok);
  assert.equal(keys.problem.reason, "KeysTooLarge");
  assert.match(keys.problem.message, /^600 private keys do not fit into 16 Secrets: .* KiB/);
});

Deno.test("a configuration that almost fills its objects is a warning", () => {
  const { warnings } = lay(largeSnapshot({ certificates: 4400, keyBytes: 100 }));
  assert.deepEqual(warnings.map(({ reason, severity }) => `${severity} ${reason}`), [
    "warning ConfigurationNearlyTooLarge",
  ]);
  assert.match(warnings[0].message, /takes (8[5-9]|9\d) %/);
});

Deno.test("no problem contains a key", () => {
  const layout = layPublishedSet(largeSnapshot({ certificates: 600, keyBytes: 40_000 }));
  assert.ok(!JSON.stringify(layout).includes("PRIVATE"));
});
