/** The chart without Helm; tests/neighbours has what Helm makes of it. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { Compile } from "typebox/schema";
import { parse } from "yaml";
import { CONTROLLER_OPTIONS } from "../../controller/cli/options.ts";
import { proxyArgs } from "../../controller/outputs/workload/proxy_args.ts";
import { PROXY_OPTIONS } from "../../proxy/cli/options.ts";
import { flagName, type OptionSpec, type OptionSpecs } from "../../shared/options.ts";
import { CHART, chartFiles } from "./chart_files.ts";
import {
  CONTROLLER_ELSEWHERE,
  CONTROLLER_FLAGS,
  type Elsewhere,
  PATTERNS,
  PROXY_ELSEWHERE,
  PROXY_FLAGS,
} from "./flag_values.ts";
import { flagSamples } from "./flag_samples.ts";
import { type JsonSchema, type Value, valuesOf } from "./value.ts";
import { VALUES } from "./values.ts";

const ROOT = join(import.meta.dirname!, "../..");
const read = (path: string) => Deno.readTextFileSync(join(ROOT, path));
const SCHEMA = JSON.parse(read(`${CHART}/values.schema.json`));
const VALIDATOR = Compile(SCHEMA);
// deno-lint-ignore no-explicit-any
const PARSED: Readonly<Record<string, any>> = parse(read(`${CHART}/values.yaml`));
const LEAVES: ReadonlyMap<string, Value> = new Map(valuesOf(VALUES));

const PROGRAMS: readonly {
  readonly name: string;
  readonly specs: OptionSpecs;
  readonly values: Readonly<Record<string, Value>>;
  readonly elsewhere: Readonly<Record<string, Elsewhere>>;
}[] = [
  {
    name: "controller",
    specs: CONTROLLER_OPTIONS,
    values: CONTROLLER_FLAGS,
    elsewhere: CONTROLLER_ELSEWHERE,
  },
  { name: "proxy", specs: PROXY_OPTIONS, values: PROXY_FLAGS, elsewhere: PROXY_ELSEWHERE },
];

/** Values of the chart with one more. */
function withFlag(name: string, key: string, value: unknown): unknown {
  const values = structuredClone(PARSED);
  values[name].flags[key] = value;
  return values;
}

Deno.test("the chart's files are made from the flags, the manifests and the version", () => {
  for (const [path, text] of chartFiles(read)) {
    assert.equal(read(path), text, `${path}: run deno task docs:update`);
  }
});

for (const { name, specs, values, elsewhere } of PROGRAMS) {
  Deno.test(`every flag of the ${name} has one place among the values, or a reason`, () => {
    for (const key of Object.keys(specs)) {
      const place = elsewhere[key];
      assert.equal(Object.hasOwn(values, key), place === undefined, key);
      if (place !== undefined && "value" in place) {
        const isThere = [...LEAVES.keys()].some((path) => `${path}.`.startsWith(`${place.value}.`));
        assert.ok(isThere, `${key}: ${place.value}`);
      }
    }
    assert.deepEqual(Object.keys(elsewhere).filter((key) => !Object.hasOwn(specs, key)), []);
  });

  Deno.test(`the schema accepts what the ${name} accepts, and refuses other types and ranges`, () => {
    for (const key of Object.keys(values)) {
      const { good, bad } = flagSamples(key, specs[key] as OptionSpec);
      assert.ok(good.length > 0 && bad.length > 0, key);
      for (const value of good) {
        assert.ok(VALIDATOR.Check(withFlag(name, key, value)), `${key}: ${JSON.stringify(value)}`);
      }
      for (const value of bad) {
        assert.ok(!VALIDATOR.Check(withFlag(name, key, value)), `${key}: ${JSON.stringify(value)}`);
      }
    }
  });
}

Deno.test("proxies have a value for every flag that the controller passes on, and no other", () => {
  const mistakes = (key: string) =>
    proxyArgs({
      backend: "HostPort",
      namespace: "pingress-system",
      image: "proxy:1",
      imagePullSecrets: [],
      nodeSelector: {},
      replicas: 2,
      autoscale: null,
      serviceType: "LoadBalancer",
      priorityClass: null,
      drainDelay: 0,
      drainTimeout: 0,
      stream: true,
      proxyArgs: [`--${flagName(key)}=x`],
      podTemplate: null,
    }).mistakes;
  for (const key of Object.keys(PROXY_OPTIONS)) {
    assert.equal(mistakes(key).length > 0, Object.hasOwn(PROXY_ELSEWHERE, key), key);
  }
});

Deno.test("every value has a description, and stands in values.yaml below it", () => {
  const text = read(`${CHART}/values.yaml`);
  for (const [path, { help, default: fallback }] of LEAVES) {
    assert.match(help, /^\S.+\.$/s, path);
    const keys = path.split(".");
    const schema = keys.reduce((schema: JsonSchema, key) => schema.properties![key], SCHEMA);
    assert.equal(schema.description, help);
    const key = keys.at(-1)!;
    const line = fallback === undefined ? `# ${key}: ` : `${key}:`;
    const indent = "  ".repeat(keys.length - 1);
    assert.ok(text.includes(`\n${indent}${line}`), path);
    const value = keys.reduce((value, key) => value?.[key], PARSED);
    assert.deepEqual(value, fallback, path);
  }
});

Deno.test("a default of a program stands in its flags alone", () => {
  const set = [...LEAVES].filter(([path, { default: fallback }]) =>
    /\.flags\./.test(path) && fallback !== undefined
  );
  assert.deepEqual(set.map(([path]) => path), [
    "controller.flags.backend",
    "controller.flags.admin",
  ]);
});

Deno.test("the schema accepts the values as they are, and no unknown key", () => {
  assert.ok(VALIDATOR.Check(PARSED));
  assert.ok(VALIDATOR.Check({ ...PARSED, global: { any: "thing" } }));
  for (const path of ["", "controller", "controller.flags", "proxy.flags", "image"]) {
    const changed: Readonly<Record<string, unknown>> = structuredClone(PARSED);
    at(changed, path).unknown = true;
    assert.ok(!VALIDATOR.Check(changed), path);
  }
});

Deno.test("the schema's patterns refuse nothing that the flags accept", () => {
  const specs: OptionSpecs = { ...PROXY_OPTIONS, ...CONTROLLER_OPTIONS };
  for (const [key, samples] of Object.entries(ACCEPTED)) {
    const spec = specs[key] as Extract<OptionSpec, { type: "string" }>;
    for (const sample of samples) {
      assert.equal(spec.check?.(sample) ?? null, null, `${key} ${sample}`);
      assert.match(sample, new RegExp(PATTERNS[key]), `${key} ${sample}`);
    }
  }
  assert.deepEqual(Object.keys(ACCEPTED).sort(), Object.keys(PATTERNS).sort());
});

const LABELS = ["a", "a-b", "1", `a${"b".repeat(61)}c`];
const NAMES = [...LABELS, "a.b", "a-1.b-2.c", "1.2"];

/** What users write, and what is at the edge of the grammar. */
const ACCEPTED: Readonly<Record<string, readonly string[]>> = {
  watchNamespace: LABELS,
  ingressClass: NAMES,
  nginxClass: NAMES,
  proxyPriorityClass: NAMES,
  clusterDomain: NAMES,
  defaultBackend: ["default/web:80", "a/b:http", "a/b:65535", "a/b:my-port-1"],
  defaultSslCertificate: ["default/wildcard-tls", "a/b.c"],
  configmap: ["ingress-nginx/ingress-nginx-controller", "a/b.c"],
  listenRange: ["10000-10255", "1-1", "20000-20511"],
  nodeSelector: ["a=b", "a=", "example.com/edge=true", "a=b,example.com/c_d.e=F-1"],
  serviceAnnotation: ["a=b", "example.com/a=", "a.b/c_d=x=y,z {}", "a=b\nc"],
  otlpEndpoint: [
    "http://otel-collector.observability.svc:4318",
    "HTTPS://Collector.test/",
    "http://192.0.2.1:4318/v1/traces",
    "https://[2001:db8::1]:4318/otlp/v1/traces/",
    "http://my_collector-1",
  ],
  controller: ["https://pingress-controller.pingress-system.svc:9443"],
};

// deno-lint-ignore no-explicit-any
function at(tree: any, path: string): any {
  return path === "" ? tree : path.split(".").reduce((tree, key) => tree[key], tree);
}
