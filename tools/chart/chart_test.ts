/** The chart without Helm; tests/neighbours has what Helm makes of it. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { Compile } from "typebox/schema";
import { parse } from "yaml";
import { CONTROLLER_OPTIONS } from "../../controller/cli/options.ts";
import { proxyArgs } from "../../controller/outputs/workload/proxy_args.ts";
import { PROXY_OPTIONS } from "../../proxy/cli/options.ts";
import { flagName, type OptionSpec, type OptionSpecs, parseOptions } from "../../shared/options.ts";
import { CHART, chartFiles } from "./chart_files.ts";
import {
  CONTROLLER_ELSEWHERE,
  CONTROLLER_FLAGS,
  type Elsewhere,
  PROXY_ELSEWHERE,
  PROXY_FLAGS,
} from "./flag_values.ts";
import { ALL_FIELDS } from "../../proxy/telemetry/access_log/options.ts";
import { ADDRESS_PATTERN, CIDR_PATTERN, PATTERNS } from "./flag_patterns.ts";
import { flagSamples } from "./flag_samples.ts";
import { isList } from "./flag_values.ts";
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

Deno.test("every flag with a check of its own has a pattern", () => {
  for (const { specs, values } of PROGRAMS) {
    const checked = Object.keys(values).filter((key) => {
      const spec = specs[key];
      return spec.type === "string" && spec.check !== undefined;
    });
    assert.ok(checked.length > 3);
    assert.deepEqual(checked.filter((key) => PATTERNS[key] === undefined), []);
  }
});

const PROGRAM = { name: "test", summary: "Takes one flag." };

/** What somebody may write who takes a flag for another, or mistypes it. */
const NONSENSE = [
  ...["nonsense!", "two words", "a b=c", "-", "_", ".", "a..b", ",", "time,,status", "times"],
  ...["path;host", "limit-rp", "limit-rps;auth-url", "http://web", "https://", "https://a b"],
  ...["https://user@a", "https://a/path", "a/b/c", "A/B", "shop/", "/web", "shop/web", "a=b=c"],
  ...["=", "a=!", "!=a", "a/b/c=d", "1.2.3.4.5:80", "10.0.0.0/33", "300.0.0.0/8", "10.0.0", "::g"],
  ...["fd00::/129", "[::1]", "[::1:80", "localhost", "web:80", "300.1.1.1:80", "1.2.3.4:65536"],
  ...[
    ":99999",
    "[::1]:70000",
    "[1.2.3.4]:80",
    "a:b:c",
    "zone 1",
    "zone,1",
    "é",
    "time, pfad",
    "\n",
  ],
  ...["http://10.0.0.256:4318", "https://10.0.0.256:9443", "http://[1]:4318", "https://[1]:9443"],
  ...["http://1.2.3", "https://a.1:9443"],
];

for (const { name, specs, values } of PROGRAMS) {
  Deno.test(`the schema refuses texts that a flag of the ${name} refuses`, () => {
    for (const key of Object.keys(values)) {
      const spec = specs[key];
      const refused = (text: string) =>
        parseOptions(PROGRAM, { [key]: { ...spec, required: false } }, [
          `--${flagName(key)}=${text}`,
        ]).kind === "error";
      for (const text of NONSENSE.filter(refused)) {
        const value = isList(spec) ? [text] : text;
        assert.ok(!VALIDATOR.Check(withFlag(name, key, value)), `${key}: ${text}`);
      }
    }
  });
}

const LABELS = ["a", "a-b", "1", `a${"b".repeat(61)}c`];
const NAMES = [...LABELS, "a.b", "a-1.b-2.c", "1.2", "a".repeat(100)];
const HOSTS = [
  ...[
    "192.0.2.1",
    "2001:db8::1",
    "::",
    "::1",
    "::ffff:192.0.2.1",
    "1:2:3:4:5:6:7:8",
    "fe80::1%eth0",
  ],
  ...["1:2:3:4:5:6:7::", "::2:3:4:5:6:7:8", "lb.example.com", "1.2.3.4.5", "localhost"],
];

/** What users write, and what is at the edge of the grammar. */
const ACCEPTED: Readonly<Record<string, readonly string[]>> = {
  watchNamespace: LABELS,
  ingressClass: NAMES,
  nginxClass: NAMES,
  proxyPriorityClass: NAMES,
  clusterDomain: NAMES,
  defaultBackend: [
    "default/web:80",
    "a/b:http",
    "a/b:1",
    "a/b:00080",
    "a/b:08080",
    "a/b:59999",
    "a/b:65535",
    "a/b:my-port-1",
  ],
  defaultSslCertificate: ["default/wildcard-tls", "a/b.c"],
  configmap: ["ingress-nginx/ingress-nginx-controller", "a/b.c"],
  listenRange: ["10000-10255", "1-1", "20000-20511", "65024-65535", "60000-60001"],
  nodeSelector: ["a=b", "a=", "example.com/edge=true", "a=b,example.com/c_d.e=F-1"],
  serviceAnnotation: ["a=b", "example.com/a=", "a.b/c_d=x=y,z {}", "a=b\nc"],
  acceptUnsupported: ["limit-rps", "limit-rps,auth-url", " limit-rps , auth-url "],
  publishAddress: HOSTS,
  streamName: HOSTS,
  zone: ["eu-central-1a", "a", "A.b_c", "1"],
  accessLogFields: ["time", "time,method,path,status", " time , status ", ALL_FIELDS.join(",")],
  traceServiceName: ["pingress", "edge/proxy:1", "!", "a".repeat(255)],
  otlpEndpoint: [
    "http://otel-collector.observability.svc:4318",
    "HTTPS://Collector.test/",
    "http://192.0.2.1:4318/v1/traces",
    "https://[2001:db8::1]:4318/otlp/v1/traces/",
    "http://my_collector-1",
    ...["http://a:0", "http://a:00080", "http://a:65535"],
  ],
  controller: [
    "https://pingress-controller.pingress-system.svc:9443",
    ...["https://a", "https://A.test/", "https://192.0.2.1:1", "https://[2001:db8::1]:9443"],
  ],
};

Deno.test("the schema's addresses and blocks are those that flags take", () => {
  const of = (type: "address" | "cidr", pattern: string, texts: readonly string[]) => {
    for (const text of texts) {
      const { kind } = parseOptions(PROGRAM, { one: { type, help: "" } }, [`--one=${text}`]);
      assert.equal(kind, "ok", text);
      assert.match(text, new RegExp(pattern), text);
    }
  };
  const ips = ["0.0.0.0", "255.249.199.10", "127.0.0.1"];
  const ipv6 = HOSTS.filter((host) => host.includes(":"));
  const ports = ["0", "80", "9091", "60000", "65535", "00080"];
  of("address", ADDRESS_PATTERN, [
    ...ports.flatMap((port) => ["", "localhost", ...ips].map((host) => `${host}:${port}`)),
    ...ipv6.map((host) => `[${host}]:80`),
  ]);
  of("cidr", CIDR_PATTERN, [...ips, ...[
    "10.0.0.0/8",
    "0.0.0.0/0",
    "192.168.1.7/32",
    "10.0.0.0/08",
  ]]);
  of("cidr", CIDR_PATTERN, [...ipv6, "fd00::/8", "::/0", "2001:db8::1/128", "2001:db8::/099"]);
});

// deno-lint-ignore no-explicit-any
function at(tree: any, path: string): any {
  return path === "" ? tree : path.split(".").reduce((tree, key) => tree[key], tree);
}
