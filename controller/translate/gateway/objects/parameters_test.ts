/** ConfigMaps with parameters of classes and Gateways. */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import {
  type AddressKind,
  addressKind,
  type AddressParameters,
  type ConfigMapLookup,
  PARAMETER_KEYS,
  readParameters,
  type ServiceDefaults,
  serviceSettings,
} from "./parameters.ts";

const FIELD = "spec.infrastructure.parametersRef";
const REF = { group: "", kind: "ConfigMap", name: "gateway" };

type Data = Readonly<Record<string, unknown>> | undefined;

function withData(data: Data): ConfigMapLookup {
  return {
    find: (namespace, name) =>
      data !== undefined && namespace === "shop" && name === "gateway"
        ? { kind: "found", data }
        : { kind: "missing" },
  };
}

function read(data: Data, ref: unknown = REF) {
  return readParameters(ref, FIELD, "shop", withData(data));
}

const VALUES: readonly [data: Readonly<Record<string, string>>, expected: AddressParameters][] = [
  [{}, {}],
  [{ address: "own" }, { address: "own" }],
  [{ address: "shared" }, { address: "shared" }],
  [{ serviceType: "NodePort\n" }, { serviceType: "NodePort" }],
  [{ loadBalancerClass: "example.com/internal" }, { loadBalancerClass: "example.com/internal" }],
  [{ externalTrafficPolicy: "Cluster" }, { externalTrafficPolicy: "Cluster" }],
  [{ ipFamilyPolicy: "SingleStack" }, { ipFamilyPolicy: "SingleStack" }],
  [{ allowedSourceRanges: "192.0.2.0/24,\n2001:db8::/32" }, {
    allowedSourceRanges: ["192.0.2.0/24", "2001:db8::/32"],
  }],
  [{
    annotations: '# comment\nexample.com/type: nlb\n\nexample.com/tags: "a: b"\nempty:\n',
  }, { annotations: { "example.com/type": "nlb", "example.com/tags": "a: b", empty: "" } }],
];

for (const [data, expected] of VALUES) {
  Deno.test(`parameters are read: ${JSON.stringify(data)}`, () => {
    const reading = read(data);
    deepEqual(reading.ok && reading.value, expected);
  });
}

Deno.test("no reference is no parameters", () => {
  deepEqual(read({}, undefined), { ok: true, value: {} });
  deepEqual(read({}, null), { ok: true, value: {} });
});

const WRONG: readonly [what: string, data: Data, ref: unknown, says: RegExp][] = [
  ["another kind", {}, { ...REF, kind: "Secret" }, /parametersRef does not name a ConfigMap/],
  ["another group", {}, { ...REF, group: "example.com" }, /does not name a ConfigMap/],
  ["no name", {}, { group: "", kind: "ConfigMap" }, /does not name a ConfigMap/],
  ["text", {}, "gateway", /does not name a ConfigMap/],
  ["another namespace", {}, { ...REF, namespace: "other" }, /Write one of namespace shop/],
  ["a missing ConfigMap", undefined, REF, /ConfigMap shop\/gateway, which .* does not exist/],
  ["an unknown key", { sorviceType: "NodePort" }, REF, /unknown key "sorviceType".*serviceType/],
  ["a key of objects", { constructor: "x" }, REF, /unknown key "constructor"/],
  ["another type", { serviceType: "ExternalName" }, REF, /Write ClusterIP, LoadBalancer or NodeP/],
  ["an address of another kind", { address: "node" }, REF, /key address .* Write own or shared/],
  ["a value that is no text", { serviceType: 1 }, REF, /key serviceType .* Write text/],
  ["a class with a space", { loadBalancerClass: "a b" }, REF, /key loadBalancerClass/],
  ["another policy", { externalTrafficPolicy: "local" }, REF, /Write Cluster or Local/],
  ["another family policy", { ipFamilyPolicy: "" }, REF, /key ipFamilyPolicy/],
  ["an annotation without a colon", { annotations: "a" }, REF, /key annotations/],
  ["an annotation with a bad name", { annotations: "a b: c" }, REF, /key annotations/],
  ["an annotation with a bad string", { annotations: 'a: "c' }, REF, /key annotations/],
  ["a range that is none", { allowedSourceRanges: "192.0.2.0/33" }, REF, /key allowedSourceRanges/],
  ["an address that is no range", { allowedSourceRanges: "192.0.2.1" }, REF, /192\.0\.2\.0\/24/],
  ["no range", { allowedSourceRanges: " " }, REF, /key allowedSourceRanges/],
];

for (const [what, data, ref, says] of WRONG) {
  Deno.test(`parameters are refused: ${what}`, () => {
    const reading = read(data, ref);
    equal(reading.ok, false);
    if (reading.ok) return;
    const { type, status, reason, message } = reading.condition;
    deepEqual([type, status, reason], ["Accepted", "False", "InvalidParameters"]);
    match(message, says);
    match(message, /\.$/);
  });
}

const DEFAULTS: ServiceDefaults = {
  type: "LoadBalancer",
  loadBalancerClass: "default",
  annotations: { a: "flag", b: "flag", c: "flag" },
};

Deno.test("a Gateway's parameters win over its class's, and these over flags", () => {
  const settings = serviceSettings(
    {
      loadBalancerClass: "of-class",
      ipFamilyPolicy: "SingleStack",
      annotations: { b: "class", c: "class" },
    },
    { ipFamilyPolicy: "RequireDualStack", annotations: { c: "gateway" } },
    DEFAULTS,
  );
  deepEqual(settings.ok && settings.value, {
    type: "LoadBalancer",
    loadBalancerClass: "of-class",
    externalTrafficPolicy: "Local",
    ipFamilyPolicy: "RequireDualStack",
    annotations: { a: "flag", b: "class", c: "gateway" },
    allowedSourceRanges: [],
  });
});

Deno.test("a Service that is no load balancer has no class of one", () => {
  const settings = serviceSettings({}, { serviceType: "ClusterIP" }, DEFAULTS);
  equal(settings.ok && settings.value.loadBalancerClass, null);
});

Deno.test("limits of sources that would have no effect are refused", () => {
  const settings = serviceSettings(
    { serviceType: "ClusterIP" },
    { allowedSourceRanges: ["192.0.2.0/24"] },
    DEFAULTS,
  );
  match(settings.ok ? "" : settings.condition.message, /no effect on a Service of type ClusterIP/);
});

Deno.test("a Gateway cannot replace the limit of sources that its class sets", () => {
  const settings = serviceSettings(
    { allowedSourceRanges: ["192.0.2.0/24"] },
    { allowedSourceRanges: ["0.0.0.0/0"] },
    DEFAULTS,
  );
  match(settings.ok ? "" : settings.condition.message, /set by the parameters of the GatewayClass/);
});

const KINDS: readonly [
  what: string,
  ofClass: AddressParameters,
  ofGateway: AddressParameters,
  byDefault: AddressKind,
  expected: AddressKind,
][] = [
  ["without parameters", {}, {}, "shared", "shared"],
  ["of its class", { address: "shared" }, {}, "own", "shared"],
  ["of its own before its class", { address: "shared" }, { address: "own" }, "own", "own"],
  ["by what a Service is like", {}, { serviceType: "NodePort" }, "shared", "own"],
  ["by what Services of its class are like", { annotations: { a: "b" } }, {}, "shared", "own"],
  [
    "whatever Services are like",
    { serviceType: "NodePort" },
    { address: "shared" },
    "own",
    "shared",
  ],
];

for (const [what, ofClass, ofGateway, byDefault, expected] of KINDS) {
  Deno.test(`a Gateway has an address ${what}: ${expected}`, () => {
    const kind = addressKind(ofClass, ofGateway, byDefault);
    equal(kind.ok && kind.value, expected);
  });
}

Deno.test("limits of sources that a shared address cannot have are refused", () => {
  const ranges = { allowedSourceRanges: ["192.0.2.0/24"] };
  for (
    const kind of [
      addressKind(ranges, { address: "shared" }, "own"),
      addressKind({ address: "shared" }, ranges, "own"),
    ]
  ) {
    match(
      kind.ok ? "" : kind.condition.message,
      /no effect on an address that is shared.*address own/,
    );
  }
  deepEqual(addressKind({}, ranges, "shared"), { ok: true, value: "own" });
});

const PAGE = new URL("../../../../docs/gateway-addresses.md", import.meta.url);

Deno.test("docs/gateway-addresses.md has all keys, each with values that are read", () => {
  const [, section] = Deno.readTextFileSync(PAGE).split("\n## Parameters\n");
  const [table] = section.split("\n```yaml");
  const rows = [...table.matchAll(/^\| `(\w+)` +\| ([^|]+) \|/gm)];
  deepEqual(rows.map(([, key]) => key), PARAMETER_KEYS);
  for (const [, key, values] of rows) {
    const written = [...values.matchAll(/`([^`]+)`/g)].map(([, value]) => value);
    ok(written.length > 0, key);
    for (const value of written) equal(read({ [key]: value }).ok, true, `${key}: ${value}`);
  }
  // Words of the API that are missing there.
  for (const key of ["serviceType", "externalTrafficPolicy", "ipFamilyPolicy"]) {
    const reading = read({ [key]: "" });
    const listed = reading.ok ? "" : reading.condition.message.split("Write ")[1];
    for (const [value] of listed.matchAll(/\w+(?=,| or|\.)/g)) {
      ok(rows.some(([row]) => row.includes(`\`${key}\``) && row.includes(value)), value);
    }
  }
});
