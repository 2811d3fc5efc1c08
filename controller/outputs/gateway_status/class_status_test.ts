import { deepEqual, equal } from "node:assert/strict";
import {
  type Condition,
  falseCondition,
  trueCondition,
} from "../../translate/gateway/objects/condition.ts";
import { classChange } from "./class_status.ts";
import { SUPPORTED_FEATURES } from "./features.ts";

const NOW = Date.parse("2026-02-02T00:00:00Z");

function model(condition: Condition = trueCondition("Accepted")) {
  return { name: "pingress", generation: 3, conditions: [condition] };
}

const wanted = { model: model(), bundleVersion: null, showsFeatures: true };

/** Type, status, reason, generation. */
function shown(change: ReturnType<typeof classChange>) {
  return (change?.fields.conditions as Record<string, unknown>[]).map(
    ({ type, status, reason, observedGeneration }) => [type, status, reason, observedGeneration],
  );
}

const VERSIONS = [
  [null, "Unknown", "Pending"],
  ["v1.6.3", "True", "SupportedVersion"],
  ["v1.0.0", "True", "SupportedVersion"],
  ["v1.6.0-rc.1", "True", "SupportedVersion"],
  ["v1.7.0", "False", "UnsupportedVersion"],
  ["v0.8.1", "False", "UnsupportedVersion"],
  ["main", "False", "UnsupportedVersion"],
] as const;

for (const [bundleVersion, status, reason] of VERSIONS) {
  Deno.test(`with CRDs of bundle ${bundleVersion}, SupportedVersion is ${status}`, () => {
    deepEqual(shown(classChange(undefined, { ...wanted, bundleVersion }, NOW)), [
      ["Accepted", "True", "Accepted", 3],
      ["SupportedVersion", status, reason, 3],
    ]);
  });
}

Deno.test("a class shows its features in the order of their names, each once", () => {
  const features = classChange(undefined, wanted, NOW)?.fields.supportedFeatures;
  deepEqual(features, SUPPORTED_FEATURES.map((name) => ({ name })));
  deepEqual(SUPPORTED_FEATURES, [...new Set(SUPPORTED_FEATURES)].sort());
});

Deno.test("a class that is not accepted, or whose CRD has no such field, shows no features", () => {
  const refused = model(falseCondition("Accepted", "InvalidParameters", ""));
  for (const other of [{ ...wanted, model: refused }, { ...wanted, showsFeatures: false }]) {
    deepEqual(Object.keys(classChange(undefined, other, NOW)!.fields), ["conditions"]);
  }
});

Deno.test("an equal status of a class is not written", () => {
  const standing = classChange(undefined, wanted, NOW)!.fields;
  equal(classChange(standing, wanted, NOW + 60_000), null);
  // Of another order of fields, and with one of a newer bundle.
  const reversed = Object.fromEntries(Object.entries({ ...standing, newer: [1] }).reverse());
  equal(classChange(reversed, wanted, NOW), null);
});
