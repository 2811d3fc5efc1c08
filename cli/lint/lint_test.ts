import assert from "node:assert/strict";
import type { Row } from "../../controller/translate/annotations/nginx/rows/row.ts";
import {
  BY_NAME,
  canClose,
  isHonoured,
  NGINX_PREFIX,
  ROWS,
} from "../../controller/translate/annotations/nginx/table.ts";
import { lintTexts } from "../../tests/golden/lint_case.ts";
import { type Finding, type LintResult, type Verdict, worst } from "./finding.ts";

interface IngressInput {
  readonly name?: string;
  readonly namespace?: string;
  readonly annotations?: Readonly<Record<string, unknown>>;
  readonly host?: string;
  readonly path?: string;
  readonly spec?: Readonly<Record<string, unknown>>;
}

/** JSON is YAML. Annotations are named without the prefix, but for those with a slash. */
function ingress(
  { name = "web", namespace = "default", annotations = {}, host, path, spec }: IngressInput,
): string {
  const service = { name: "web", port: { number: 80 } };
  return JSON.stringify({
    apiVersion: "networking.k8s.io/v1",
    kind: "Ingress",
    metadata: {
      name,
      namespace,
      annotations: Object.fromEntries(
        Object.entries(annotations).map((
          [key, value],
        ) => [key.includes("/") ? key : `${NGINX_PREFIX}${key}`, value]),
      ),
    },
    spec: {
      ingressClassName: "nginx",
      rules: [{
        host: host ?? "app.example.com",
        http: { paths: [{ path: path ?? "/", pathType: "Prefix", backend: { service } }] },
      }],
      ...spec,
    },
  });
}

function lintIngresses(
  inputs: readonly IngressInput[],
  options: Parameters<typeof lintTexts>[1] = {},
): LintResult {
  return lintTexts({ "a.yaml": inputs.map(ingress).join("\n---\n") }, options);
}

function verdicts({ ingresses }: LintResult): Record<string, Verdict> {
  return Object.fromEntries(ingresses.map(({ name, verdict }) => [name, verdict]));
}

function findingOf(result: LintResult, rule: string): Finding {
  const found = result.ingresses.flatMap(({ findings }) => findings).find((each) =>
    each.rule === rule
  );
  assert.ok(found !== undefined, `a finding ${rule}`);
  return found;
}

for (
  const [name, text, verdict, difference] of [
    ["permanent-redirect", "https://new.test$request_uri", "BREAKS", /its paths return 503$/],
    ["permanent-redirect", "new.test", "BREAKS", /its paths return 503$/],
    ["permanent-redirect", "off", "BREAKS", /its paths return 503$/],
    ["permanent-redirect", "/new", "DIFFERS", /absolute path/],
    ["permanent-redirect", "https://new.test/", "SAME", null],
    ["permanent-redirect-code", "304", "DIFFERS", /; ingress-nginx responds with that status/],
    ["permanent-redirect-code", "200", "SAME", /no effect$/],
    ["temporal-redirect", "https://$host/a", "BREAKS", /its paths return 503$/],
    ["temporal-redirect", "/new", "BREAKS", /its paths return 503$/],
    ["temporal-redirect-code", "300", "DIFFERS", /; ingress-nginx responds with that status/],
    ["app-root", "/$host", "BREAKS", /its paths return 503$/],
    ["app-root", "//evil.test", "BREAKS", /its paths return 503$/],
  ] as const
) {
  Deno.test(`${name}: ${text} is ${verdict}`, () => {
    const finding = findingOf(
      lintIngresses([{ annotations: { [name]: text } }]),
      `annotation/${name}`,
    );
    assert.equal(finding.verdict, verdict);
    if (difference === null) assert.equal(finding.difference, null);
    else assert.match(finding.difference!, difference);
  });
}

for (
  const [name, text] of [
    ["auth-signin", "https://auth.example.com/start"],
    ["auth-cache-duration", "200 5m"],
    ["auth-proxy-set-headers", "headers"],
    ["auth-realm", "Login"],
    ["satisfy", "any"],
  ]
) {
  Deno.test(`${name} alone is the SAME, and lint says that it has no effect`, () => {
    const { verdict, difference, remedy } = findingOf(
      lintIngresses([{ annotations: { [name]: text } }]),
      `annotation/${name}`,
    );
    assert.equal(verdict, "SAME");
    assert.match(difference!, /has no effect without /);
    assert.match(remedy!, /remove the annotation$/i);
  });
}

Deno.test("an access list of blanks hides its old name, and breaks", () => {
  const annotations = {
    "allowlist-source-range": " ",
    "whitelist-source-range": "0.0.0.0/0,::/0",
  };
  const result = lintIngresses([{ annotations }]);
  const verdictOf = (name: string) => findingOf(result, `annotation/${name}`).verdict;
  assert.equal(verdictOf("allowlist-source-range"), "BREAKS");
  assert.match(
    findingOf(result, "annotation/whitelist-source-range").difference!,
    /has no effect beside .*allowlist-source-range/,
  );
});

Deno.test("an Ingress over a bound of one object breaks, or opens what it protects", () => {
  const service = { name: "web", port: { number: 80 } };
  const pathsOf = (count: number, start = "/") =>
    Array.from({ length: count }, (_, i) => ({
      ...{ path: `${start}${i}`, pathType: "Prefix", backend: { service } },
    }));
  const specOf = (count: number, start?: string) => ({
    rules: [{ host: "app.example.com", http: { paths: pathsOf(count, start) } }],
  });
  const annotations = { "whitelist-source-range": "10.0.0.0/8" };
  const [many, long] = [specOf(1_001), specOf(500, `/${"x".repeat(500)}`)];
  const open = { name: "open" };
  const cases: [IngressInput[], Verdict, RegExp][] = [
    [[{ spec: many }], "BREAKS", /^it has more than 1000 paths, so none of it is served$/],
    [[{ spec: long }], "BREAKS", /^it has more than 262144 bytes, so none of it is served$/],
    [[{ spec: many }, open], "BREAKS", /served$/],
    [[{ spec: many, annotations }], "BREAKS", /served$/],
    [[{ spec: many, annotations }, open], "OPENS", /served: default\/open may get its requests/],
    [[{ spec: many, annotations }, { ...open, host: "*.example.com" }], "OPENS", /open may get/],
    [[{ spec: many, annotations }, { ...open, host: "b.example.com" }], "BREAKS", /served$/],
  ];
  for (const [inputs, verdict, difference] of cases) {
    const finding = findingOf(lintIngresses(inputs), "problem/ObjectTooLarge");
    assert.equal(finding.verdict, verdict);
    assert.match(finding.difference!, difference);
    assert.match(finding.remedy!, /^Split it into .* --max-/);
  }
  const within = lintIngresses([{ spec: specOf(1_000) }]);
  assert.deepEqual(within.ingresses.map(({ verdict }) => verdict), ["SAME"]);
});

const CATCH_ALL: IngressInput = {
  name: "all",
  spec: { rules: undefined, defaultBackend: { service: { name: "web", port: { number: 80 } } } },
};

Deno.test("a default backend without rules gets more of other hosts than in ingress-nginx", () => {
  const result = lintIngresses([CATCH_ALL, { path: "/api" }, { name: "b", host: "b.example.com" }]);
  assert.equal(verdicts(result)["default/all"], "DIFFERS");
  assert.match(
    findingOf(result, "host/default-backend").difference!,
    /also gets requests for app\.example\.com that no path takes$/,
  );
  const whole = lintIngresses([CATCH_ALL, { path: "/api" }, { name: "rest" }]);
  assert.equal(verdicts(whole)["default/all"], "SAME");
});

Deno.test("/ of any host is a default backend's without rules, as in ingress-nginx", () => {
  const protects = { annotations: { "whitelist-source-range": "10.0.0.0/8" } };
  const result = lintIngresses([{ ...CATCH_ALL, ...protects }, { host: "" }]);
  assert.deepEqual(verdicts(result), { "default/all": "SAME", "default/web": "SAME" });
  assert.match(
    findingOf(result, "problem/PathUnreachable").difference!,
    /as in ingress-nginx, spec\.defaultBackend of Ingress default\/all/,
  );
});

/** One of these is valid for each type of value. */
const SAMPLES = [
  ...["true", "on", "1", "30", "8m", "HTTP", "10.0.0.0/8", "default/thing", "thing"],
  ...["https://example.com/", "GET, POST", "*", "/path", "a=b", "X-Name", "any", "ewma"],
  ...[
    "/a /b",
    "error timeout",
    "Lax",
    "cookie",
    "balanced",
    "www.example.com",
    "1.1",
    "/",
    "legacy",
  ],
  ...["off", "basic", "auth-file", "optional", "TLSv1.2", "round_robin", "$remote_addr", "404,503"],
];

function validText({ value }: Row): string | null {
  return SAMPLES.find((text) => value.read(text) !== null) ?? null;
}

Deno.test("every row of the annotation table gives a finding with its text", () => {
  for (const [name, row] of BY_NAME) {
    const text = validText(row.row) ?? "no sample";
    const result = lintIngresses([{ annotations: { [name]: text } }]);
    const finding = findingOf(result, `annotation/${name}`);
    assert.equal(finding.effect, `${name}: ${row.row.does}`);
    assert.equal(finding.at?.file, "a.yaml");
    assert.ok(
      (finding.difference === null) === (finding.remedy === null),
      `${name}: a difference has a remedy`,
    );
    const { verdict } = row.row;
    if (verdict.kind === "differs" && validText(row.row) !== null && name === row.name) {
      if (finding.verdict === "DIFFERS") assert.equal(finding.difference, verdict.difference, name);
    }
    if (!isHonoured(row.row) && verdict.kind !== "always") {
      assert.ok(finding.difference !== null, `${name} has no effect, and lint does not say so`);
    }
  }
});

Deno.test("no annotation that protects and is accepted is better than OPENS", () => {
  for (const [name, row] of ROWS) {
    const text = validText(row);
    if (!row.protects || isHonoured(row) || !canClose(row) || text === null) continue;
    const annotations = { [name]: text };
    const closed = lintIngresses([{ annotations }]).ingresses[0].verdict;
    const open = lintIngresses([{ annotations }], { acceptUnsupported: [name] }).ingresses[0];
    if (closed !== "BREAKS") continue;
    assert.equal(open.verdict, "OPENS", name);
    const owned = { ...annotations, "pingress.io/accept-unsupported": name };
    const options = { allowAcceptUnsupportedAnnotation: true };
    assert.equal(lintIngresses([{ annotations: owned }], options).ingresses[0].verdict, "OPENS");
  }
});

Deno.test("most annotations that protect close their paths and are BREAKS", () => {
  const broken = [...ROWS].filter(([name, row]) =>
    row.protects &&
    lintIngresses([{ annotations: { [name]: validText(row) ?? "x" } }]).ingresses[0].verdict ===
      "BREAKS"
  );
  assert.ok(broken.length > 15, `${broken.length}`);
});

const CASES: readonly (readonly [what: string, inputs: readonly IngressInput[], Verdict[]])[] = [
  ["an Ingress without annotations is SAME", [{}], ["SAME"]],
  ["an honoured annotation is SAME", [{ annotations: { "proxy-read-timeout": "30" } }], ["SAME"]],
  ["an empty value is SAME", [{ annotations: { "auth-url": "" } }], ["SAME"]],
  ["a feature that is off is SAME", [{ annotations: { "enable-cors": "false" } }], ["SAME"]],
  ["a feature without effect DIFFERS", [{ annotations: { "enable-cors": "true" } }], ["DIFFERS"]],
  ["an unquoted value is read", [{ annotations: { "enable-cors": true } }], ["DIFFERS"]],
  ["a limit that is not supported BREAKS", [{ annotations: { "limit-rps": "5" } }], ["BREAKS"]],
  ["an invalid list of networks BREAKS", [{
    annotations: { "whitelist-source-range": "10.0.0.0/8,nonsense" },
  }], ["BREAKS"]],
  ["an unknown pathType BREAKS", [{
    spec: {
      rules: [{
        host: "a.test",
        http: {
          paths: [{
            path: "/",
            pathType: "Regex",
            backend: { service: { name: "web", port: { number: 80 } } },
          }],
        },
      }],
    },
  }], ["BREAKS"]],
  ["a missing Service is SAME: ingress-nginx answers 503, too", [{
    spec: { defaultBackend: { service: { name: "gone", port: { number: 80 } } } },
  }], ["SAME"]],
  ["an Ingress with the same host and path as another one DIFFERS", [
    { name: "a" },
    { name: "b" },
  ], ["DIFFERS", "SAME"]],
  ["an open path above a protected one of the host is SAME", [
    { name: "admin", path: "/admin", annotations: { "whitelist-source-range": "10.0.0.0/8" } },
    { name: "open", path: "/" },
  ], ["SAME", "SAME"]],
  ["a path of another namespace below a host-wide client certificate OPENS", [
    { name: "a", annotations: { "auth-tls-secret": "default/ca" } },
    { name: "b", namespace: "other", path: "/b" },
  ], ["OPENS", "BREAKS"]],
  ["an alias that is a regular expression BREAKS", [{
    annotations: { "server-alias": "b.example.com,~^c" },
  }], ["BREAKS"]],
  ["an alias DIFFERS", [{
    annotations: { "server-alias": "b.example.com" },
  }], ["DIFFERS"]],
];

/** Values that the difference of their annotation does not concern, and such that it does. */
const VALUES:
  readonly (readonly [name: string, same: readonly string[], differs: string | null])[] = [
    ["backend-protocol", ["HTTP", "grpc", "GRPCS"], null],
    ["proxy-buffering", ["off"], "on"],
    ["proxy-http-version", ["1.1"], "1.0"],
    ["proxy-request-buffering", ["off"], "on"],
    ["use-regex", ["false"], "true"],
  ];

for (const [name, same, differs] of VALUES) {
  Deno.test(`${name} DIFFERS only with a value that the difference concerns`, () => {
    const verdictOf = (text: string) =>
      findingOf(lintIngresses([{ annotations: { [name]: text } }]), `annotation/${name}`).verdict;
    for (const text of same) assert.equal(verdictOf(text), "SAME", text);
    if (differs !== null) assert.equal(verdictOf(differs), "DIFFERS");
  });
}

Deno.test("a TLS entry without a Secret OPENS plain HTTP, unless redirects say otherwise", () => {
  const cases: readonly (readonly [Readonly<Record<string, string>>, string])[] = [
    [{}, "OPENS"],
    [{ "ssl-redirect": "true" }, "DIFFERS"],
    [{ "ssl-redirect": "false" }, "DIFFERS"],
    [{ "force-ssl-redirect": "true" }, "DIFFERS"],
    [{ "force-ssl-redirect": "true", "ssl-redirect": "false" }, "DIFFERS"],
  ];
  for (const [annotations, verdict] of cases) {
    const result = lintIngresses([{
      annotations,
      spec: { tls: [{ hosts: ["app.example.com"] }] },
    }]);
    assert.equal(findingOf(result, "tls/no-secret").verdict, verdict, JSON.stringify(annotations));
  }
});

Deno.test("basic authentication with users is SAME", () => {
  const annotations = { "auth-type": "basic", "auth-secret": "users" };
  assert.deepEqual(verdicts(lintIngresses([{ annotations }])), { "default/web": "SAME" });
});

/** Names outside of the cluster, which proxies resolve only with the flag. */
const EXTERNAL_NAMES: readonly (readonly [what: string, input: IngressInput])[] = [
  ["a host of auth-url outside of the cluster", {
    annotations: { "auth-url": "https://auth.example.org/check" },
  }],
  ["a Service of type ExternalName", {
    spec: { rules: [], defaultBackend: { service: { name: "outside", port: { number: 443 } } } },
  }],
];

const OUTSIDE = JSON.stringify({
  apiVersion: "v1",
  kind: "Service",
  metadata: { name: "outside", namespace: "default" },
  spec: { type: "ExternalName", externalName: "api.example.org" },
});

for (const [what, input] of EXTERNAL_NAMES) {
  Deno.test(`${what} BREAKS without --allow-external-name`, () => {
    const files = { "a.yaml": ingress(input), "b.yaml": OUTSIDE };
    const [{ verdict, findings }] = lintTexts(files).ingresses;
    assert.equal(verdict, "BREAKS");
    assert.match(findings[0].remedy!, /--allow-external-name/);
    const [allowed] = lintTexts(files, { allowExternalName: true }).ingresses;
    assert.notEqual(allowed.verdict, "BREAKS");
  });
}

for (const [what, inputs, expected] of CASES) {
  Deno.test(`lint: ${what}`, () => {
    assert.deepEqual(lintIngresses(inputs).ingresses.map(({ verdict }) => verdict), expected);
  });
}

Deno.test("a host of regular expressions is SAME for Ingresses that do not ask for them", () => {
  const result = lintIngresses([
    { name: "regex", path: "/r", annotations: { "use-regex": "true" } },
    { name: "admin", path: "/admin", annotations: { "whitelist-source-range": "10.0.0.0/8" } },
    { name: "open", path: "/" },
  ]);
  assert.deepEqual(verdicts(result), {
    "default/admin": "SAME",
    "default/open": "SAME",
    "default/regex": "DIFFERS",
  });
});

Deno.test("a misspelt annotation gets the nearest name", () => {
  const result = lintIngresses([{ annotations: { "whitelist-source-rang": "10.0.0.0/8" } }]);
  const finding = findingOf(result, "annotation/unknown");
  assert.match(finding.remedy!, /^Write "whitelist-source-range" /);
});

Deno.test("a finding that follows from a misspelt field has its remedy and its place", () => {
  const files = { "a.yaml": ingress({}).replace('"pathType"', '"pathTyp"') };
  const { ingresses } = lintTexts(files);
  const finding = ingresses[0].findings.find(({ rule }) => rule === "problem/PathTypeUnknown")!;
  assert.equal(finding.verdict, "BREAKS");
  assert.match(finding.remedy!, /^Write "pathType" at a\.yaml:\d+:\d+$/);
});

Deno.test("an Ingress of another class is not checked, and named with the flag that checks it", () => {
  const result = lintIngresses([{ spec: { ingressClassName: "internal" } }]);
  assert.deepEqual(result.ingresses, []);
  assert.match(result.notChecked[0].remedy, /--nginx-class internal/);
  const again = lintIngresses([{ spec: { ingressClassName: "internal" } }], {
    nginxClasses: ["nginx", "internal"],
  });
  assert.equal(again.ingresses.length, 1);
});

Deno.test("Ingresses of a class with the profile nginx are linted, whatever its name", () => {
  const files = {
    "a.yaml": ingress({ spec: { ingressClassName: "edge" } }),
    "class.yaml": `
apiVersion: networking.k8s.io/v1
kind: IngressClass
metadata: { name: edge, annotations: { pingress.io/profile: nginx } }
spec: { controller: pingress.io/ingress-controller }
`,
  };
  assert.deepEqual(verdicts(lintTexts(files)), { "default/web": "SAME" });
});

Deno.test("a Deployment of ingress-nginx with --configmap is OPENS until the ConfigMap is named", () => {
  const folder = {
    "a.yaml": ingress({}),
    "b.yaml": `
apiVersion: apps/v1
kind: DaemonSet
metadata: { name: controller, namespace: edge }
spec:
  template:
    spec:
      containers:
        - { name: controller, image: own, command: [/nginx-ingress-controller, --configmap, $(POD_NAMESPACE)/conf] }
`,
    "c.yaml": `
apiVersion: v1
kind: ConfigMap
metadata: { name: conf, namespace: edge }
data: { enable-modsecurity: "true", block-cidrs: "", worker-processes: "4" }
`,
  };
  const [finding] = lintTexts(folder).cluster;
  assert.equal(finding.verdict, "OPENS");
  assert.match(finding.remedy!, /--configmap edge\/conf/);
  const { cluster: named, ingresses } = lintTexts(folder, {}, "edge/conf");
  assert.equal(ingresses[0].verdict, "BREAKS");
  assert.deepEqual(named.map(({ rule, verdict }) => [rule, verdict]), [
    ["configmap/enable-modsecurity", "BREAKS"],
    ["configmap/worker-processes", "DIFFERS"],
    ["configmap/block-cidrs", "SAME"],
  ]);
});

/** By the keys: the verdict of each, and of an Ingress of the profile. */
const BELIEVING: readonly (readonly [
  data: string,
  accepted: string[],
  keys: readonly (readonly [rule: string, verdict: string])[],
  ingress: string,
])[] = [
  ['use-forwarded-headers: "true", proxy-real-ip-cidr: 10.0.0.0/8', [], [
    ["configmap/use-forwarded-headers", "DIFFERS"],
    ["configmap/proxy-real-ip-cidr", "SAME"],
  ], "SAME"],
  ['use-forwarded-headers: "true"', [], [["configmap/use-forwarded-headers", "BREAKS"]], "BREAKS"],
  ['use-forwarded-headers: "true"', ["use-forwarded-headers"], [
    ["configmap/use-forwarded-headers", "OPENS"],
  ], "SAME"],
  ['use-forwarded-headers: "false"', [], [["configmap/use-forwarded-headers", "SAME"]], "SAME"],
  ['http-redirect-code: "301"', [], [["configmap/http-redirect-code", "DIFFERS"]], "SAME"],
  ['http-redirect-code: "308"', [], [["configmap/http-redirect-code", "SAME"]], "SAME"],
  ["ssl-protocols: TLSv1 TLSv1.1 TLSv1.2", [], [["configmap/ssl-protocols", "DIFFERS"]], "SAME"],
  ["ssl-protocols: TLSv1 TLSv1.2", ["ssl-protocols"], [
    ["configmap/ssl-protocols", "DIFFERS"],
  ], "SAME"],
  ["ssl-protocols: TLSv1.2 TLSv1.3", [], [["configmap/ssl-protocols", "SAME"]], "SAME"],
  ["ssl-protocols: TLSv1.3", [], [["configmap/ssl-protocols", "BREAKS"]], "BREAKS"],
];

for (const [data, acceptUnsupported, keys, verdict] of BELIEVING) {
  Deno.test(`a ConfigMap with ${data} is linted${acceptUnsupported.length > 0 ? ", accepted" : ""}`, () => {
    const folder = {
      "a.yaml": ingress({}),
      "c.yaml": `
apiVersion: v1
kind: ConfigMap
metadata: { name: conf, namespace: edge }
data: { ${data} }
`,
    };
    const { cluster, ingresses } = lintTexts(folder, { acceptUnsupported }, "edge/conf");
    assert.deepEqual(cluster.map(({ rule, verdict }) => [rule, verdict]), keys);
    assert.equal(ingresses[0].verdict, verdict);
  });
}

Deno.test("an Ingress that the ConfigMap closes is BREAKS, also where a Secret of it is missing", () => {
  const folder = {
    "a.yaml": ingress({ spec: { tls: [{ hosts: ["a.example.com"], secretName: "missing" }] } }),
    "c.yaml": `
apiVersion: v1
kind: ConfigMap
metadata: { name: conf, namespace: edge }
data: { enable-modsecurity: "true" }
`,
  };
  const { ingresses: [{ verdict, findings }] } = lintTexts(folder, {}, "edge/conf");
  assert.equal(verdict, "BREAKS");
  assert.ok(findings.some(({ rule }) => rule === "configmap/closed"));
});

Deno.test("manifests of any shape are linted without an exception", () => {
  const odd: unknown[] = [null, 1, "x", [], {}, [{}], { a: 1 }, "nginx", true];
  for (const value of odd) {
    for (const key of ["rules", "tls", "defaultBackend", "ingressClassName"]) {
      lintIngresses([{ spec: { [key]: value } }]);
    }
    for (const name of BY_NAME.keys()) {
      const result = lintIngresses([{ annotations: { [name]: value } }]);
      assert.equal(
        result.ingresses[0].verdict,
        worst(
          result.ingresses[0].findings.map(({ verdict }) => verdict),
        ),
      );
    }
  }
});

const TWO_NAMESPACES = {
  "a.yaml": [
    ingress({ name: "web", host: "a.example.com" }),
    ...["one", "two"].map((name) =>
      ingress({ name, host: "A.example.com" }).replaceAll('"default"', '"team"')
    ),
    JSON.stringify({
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: "auth", namespace: "team" },
      spec: { ports: [{ port: 80 }] },
    }),
    JSON.stringify({
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: "nginx", namespace: "ops" },
      data: { "global-auth-url": "http://auth.team.svc.cluster.local/" },
    }),
    JSON.stringify({
      apiVersion: "gateway.networking.k8s.io/v1",
      kind: "HTTPRoute",
      metadata: { name: "route", namespace: "default" },
      spec: {
        parentRefs: [{ name: "web", namespace: "infra" }],
        rules: [{ backendRefs: [{ name: "auth", namespace: "team", port: 80 }] }],
      },
    }),
  ].join("\n---\n"),
};

Deno.test("objects that --watch-namespace leaves out are listed as not checked", () => {
  const lines = (watchNamespaces: readonly string[]) =>
    lintTexts(TWO_NAMESPACES, { watchNamespaces }).notChecked
      .map(({ message }) => message).filter((message) => message.includes("--watch-namespace"));
  assert.deepEqual(lines(["default"]), [
    "2 Ingresses of namespace team are not checked, as --watch-namespace leaves it out; checked " +
    "Ingresses have hosts of it: a.example.com",
    "HTTPRoute default/route names Gateway infra/web, which the controller does not read with " +
    "--watch-namespace",
    "HTTPRoute default/route names Service team/auth, which the controller does not read with " +
    "--watch-namespace",
  ]);
  assert.deepEqual(lines(["team"]), [
    "1 Ingress, 1 HTTPRoute of namespace default are not checked, as --watch-namespace leaves it " +
    "out; checked Ingresses have hosts of it: a.example.com",
  ]);
  assert.deepEqual(lines(["default", "team", "infra"]), []);
  assert.deepEqual(lines([]), []);
});

Deno.test("a global-auth-url with a Service of a namespace that is left out BREAKS", () => {
  const verdict = (watchNamespaces: readonly string[]) =>
    lintTexts(TWO_NAMESPACES, { watchNamespaces, hostOwnership: "shared" }, "ops/nginx").ingresses
      .find(({ name }) => name === "default/web")!.verdict;
  assert.equal(verdict(["default"]), "BREAKS");
  assert.notEqual(verdict(["default", "team"]), "BREAKS");
});
