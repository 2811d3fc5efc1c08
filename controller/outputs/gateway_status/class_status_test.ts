import { deepEqual, equal, match } from "node:assert/strict";
import type { Crd } from "../../kube/types.ts";
import {
  type Condition,
  falseCondition,
  trueCondition,
} from "../../translate/gateway/objects/condition.ts";
import { classChange } from "./class_status.ts";
import { SUPPORTED_FEATURES } from "./features.ts";

const NOW = Date.parse("2026-02-02T00:00:00Z");

function model(condition: Condition = trueCondition("Accepted")) {
  return { name: "pingress", generation: 3, conditions: [condition], address: "own" as const };
}

const wanted = { model: model(), crds: null, showsFeatures: true };

/** Type, status, reason, generation. */
function shown(change: ReturnType<typeof classChange>) {
  return (change?.fields.conditions as Record<string, unknown>[]).map(
    ({ type, status, reason, observedGeneration }) => [type, status, reason, observedGeneration],
  );
}

/** CRDs by their bundles; null for one without the annotation. */
function crdsOf(...versions: readonly (string | null)[]): readonly Crd[] {
  return versions.map((bundleVersion, i) => ({
    ...{ name: `crd-${i}`, bundleVersion, isTerminating: false },
  }));
}

const TERMINATING = { ...crdsOf("v1.6.3")[0], name: "gone", isTerminating: true };

const VERSIONS: readonly (readonly [string, readonly Crd[] | null, string, string, RegExp])[] = [
  ["CRDs that may not be read", null, "Unknown", "Pending", /does not read CRDs/],
  ["no CRD", [], "Unknown", "Pending", /does not read CRDs/],
  ["bundle v1.6.3", crdsOf("v1.6.3", "v1.6.3"), "True", "SupportedVersion", /^$/],
  ["bundle v1.0.0", crdsOf("v1.0.0"), "True", "SupportedVersion", /^$/],
  ["a release candidate", crdsOf("v1.6.0-rc.1"), "True", "SupportedVersion", /^$/],
  [
    "a newer bundle",
    crdsOf("v1.7.0"),
    "False",
    "UnsupportedVersion",
    /crd-0 is of bundle "v1.7.0"/,
  ],
  ["an older bundle", crdsOf("v0.8.1"), "False", "UnsupportedVersion", /"v0.8.1"/],
  ["a bundle of a branch", crdsOf("main"), "False", "UnsupportedVersion", /"main"/],
  ["CRDs of two bundles", crdsOf("v1.6.3", "v1.8.0"), "False", "UnsupportedVersion", /crd-1 is of/],
  ["two supported bundles", crdsOf("v1.5.0", "v1.6.3"), "True", "SupportedVersion", /^$/],
  ["a missing annotation", crdsOf("v1.6.3", null), "Unknown", "Pending", /crd-1 has no annotation/],
  ["a newer bundle, and none", crdsOf(null, "v1.7.0"), "False", "UnsupportedVersion", /crd-1 is/],
  [
    "a CRD that is being deleted",
    [...crdsOf("v1.7.0"), TERMINATING],
    "Unknown",
    "Pending",
    /gone is/,
  ],
];

for (const [what, crds, status, reason, message] of VERSIONS) {
  Deno.test(`with ${what}, SupportedVersion is ${status}`, () => {
    const change = classChange(undefined, { ...wanted, crds }, NOW);
    deepEqual(shown(change), [
      ["Accepted", "True", "Accepted", 3],
      ["SupportedVersion", status, reason, 3],
    ]);
    match((change?.fields.conditions as { message: string }[])[1].message, message);
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

Deno.test("a class whose Gateways share an address has no features of Services and other ports", () => {
  const namesOf = (address: "own" | "shared") => {
    const change = classChange({}, { ...wanted, model: { ...model(), address } }, 0);
    const features = change!.fields.supportedFeatures as readonly { readonly name: string }[];
    return features.map(({ name }) => name);
  };
  const shared = namesOf("shared");
  deepEqual(namesOf("own").filter((name) => !shared.includes(name)), [
    "GatewayInfrastructure",
    "GatewayPort8080",
    "GatewayStaticAddresses",
  ]);
});
