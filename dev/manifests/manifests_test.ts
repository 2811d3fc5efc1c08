import assert from "node:assert/strict";
import { planFor, problemLines, readTexts } from "../../tests/support/dev_plan.ts";

const GOOD = `apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: good
spec:
  rules:
    - host: good.example.com
      http:
        paths:
          - { path: /, pathType: Prefix, backend: { service: { name: web, port: { number: 80 } } } }
---
apiVersion: v1
kind: Service
metadata:
  name: web
spec:
  ports: [{ port: 80 }]
`;

function ingress(spec: string): string {
  return `apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: bad
spec:
${spec}`;
}

function rule(host: string, path: string): string {
  return ingress(`  rules:
    - host: ${host}
      http:
        paths:
          - ${path}
            backend:
              service:
                name: web
                port:
                  number: 80
`);
}

/** Name, text of `bad.yaml`, and `bad.yaml:line  object  field  reason` of its problems. */
const BAD: readonly (readonly [string, string, readonly string[]])[] = [
  ["YAML that does not parse", "kind: [\n", ["bad.yaml:1  -  -  NotParsable"]],
  ["JSON that is cut off", '{"kind": "Ingress",', ["bad.yaml:1  -  -  NotParsable"]],
  [
    "one broken document of three",
    `${rule("a.example.com", "path: /\n            pathType: Exact")}---\na: b: c\n---\nkind: 1\n`,
    ["bad.yaml:18  -  -  NotParsable", "bad.yaml:20  -  kind  NotAnObject"],
  ],
  ["the same key twice", "kind: A\nkind: B\n", ["bad.yaml:2  -  -  NotParsable"]],
  [
    "the same key twice, of two maps with one, the first",
    `kind: A\nmetadata:\n  a: {}\n  "a": 1\nspec: { x: 1, y: { z: 1 }, 'x': 2 }\n`,
    ["bad.yaml:4  -  -  NotParsable"],
  ],
  ["the same key twice in JSON", '{"kind":"A",\n"kind":"B"}', ["bad.yaml:2  -  -  NotParsable"]],
  ["a template", "kind: {{ .Values.kind }}\n", ["bad.yaml:1  -  -  NotParsable"]],
  ["aliases that multiply", bomb(), ["bad.yaml:7  -  -  NotParsable"]],
  [
    "an alias of what it stands in",
    ingress("  rules: &rules\n    - host: a.example.com\n      http: { paths: *rules }\n"),
    ["bad.yaml:8  -  -  NotParsable"],
  ],
  [
    "an alias of a map that has it as a key of its own",
    "apiVersion: v1\nkind: Service\nmetadata: &a { name: web, labels: { a: *a } }\n",
    ["bad.yaml:3  -  -  NotParsable"],
  ],
  ["aliases in each other without end", chain(1500), ["bad.yaml:1000  -  -  NotParsable"]],
  ["a list in place of an object", "- kind: A\n", ["bad.yaml:1  -  -  NotAnObject"]],
  ["a list of settings", "- a\n- b\n", ["bad.yaml:1  -  -  FileIgnored"]],
  ["no kind", "apiVersion: v1\nmetadata: {name: a}\n", ["bad.yaml:1  -  kind  NotAnObject"]],
  ["no apiVersion", "kind: Service\n", ["bad.yaml:1  -  apiVersion  NotAnObject"]],
  [
    "a name that is a number",
    "apiVersion: v1\nkind: Service\nmetadata:\n  name: 5\n",
    ["bad.yaml:4  Service//?  metadata.name  NameInvalid"],
  ],
  [
    "no name",
    "apiVersion: v1\nkind: Service\nmetadata:\n  labels: {}\n",
    ["bad.yaml:3  Service//?  metadata.name  NameInvalid"],
  ],
  [
    "a namespace that is a list",
    "apiVersion: v1\nkind: Service\nmetadata:\n  name: a\n  namespace: [b]\n",
    ["bad.yaml:5  Service//a  metadata.namespace  NamespaceInvalid"],
  ],
  [
    "kinds that are not read, once for each kind",
    "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\n---\n" +
    "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: b}\n---\n" +
    "apiVersion: v1\nkind: Pod\nmetadata: {name: c}\n",
    [
      "bad.yaml:2  Deployment/default/a  kind  KindIgnored",
      "bad.yaml:10  Pod/default/c  kind  KindIgnored",
    ],
  ],
  [
    "a kind of the same name from elsewhere",
    "apiVersion: serving.knative.dev/v1\nkind: Service\nmetadata: {name: web}\n",
    ["bad.yaml:2  Service/default/web  kind  KindIgnored"],
  ],
  [
    "an Ingress of an old version",
    "apiVersion: extensions/v1beta1\nkind: Ingress\nmetadata: {name: a}\n",
    ["bad.yaml:1  Ingress/default/a  apiVersion  ApiVersionNotSupported"],
  ],
  [
    "an Ingress without rules or backend",
    ingress("  ingressClassName: pingress\n"),
    ["bad.yaml:5  Ingress/default/bad  spec  IngressEmpty"],
  ],
  [
    "a host with bad characters",
    rule("under_score.example.com", "path: /\n            pathType: Prefix"),
    ["bad.yaml:7  Ingress/default/bad  spec.rules[0].host  HostInvalid"],
  ],
  [
    "a path without a slash",
    rule("a.example.com", "path: api\n            pathType: Prefix"),
    ["bad.yaml:10  Ingress/default/bad  spec.rules[0].http.paths[0].path  PathInvalid"],
  ],
  [
    "a path with a broken escape",
    rule("a.example.com", "path: /a%zz\n            pathType: Prefix"),
    ["bad.yaml:10  Ingress/default/bad  spec.rules[0].http.paths[0].path  PathInvalid"],
  ],
  [
    "an unknown pathType",
    rule("a.example.com", "path: /\n            pathType: Regex"),
    ["bad.yaml:11  Ingress/default/bad  spec.rules[0].http.paths[0].pathType  PathTypeUnknown"],
  ],
  [
    "a missing Service",
    rule("a.example.com", "path: /\n            pathType: Prefix").replace(
      "name: web",
      "name: gone",
    ),
    ["bad.yaml:14  Ingress/default/bad  spec.rules[0].http.paths[0].backend.service.name  ServiceNotFound"],
  ],
  [
    "a missing port",
    rule("a.example.com", "path: /\n            pathType: Prefix").replace("80", "81"),
    ["bad.yaml:16  Ingress/default/bad  spec.rules[0].http.paths[0].backend.service.port.number  ServicePortNotFound"],
  ],
  [
    "a missing Secret",
    rule("a.example.com", "path: /\n            pathType: Prefix") +
    "  tls:\n    - hosts: [a.example.com]\n      secretName: gone\n",
    ["bad.yaml:19  Ingress/default/bad  spec.tls[0].secretName  SecretNotFound"],
  ],
  [
    "a class that is not served",
    ingress("  ingressClassName: nginx\n  rules: []\n"),
    ["bad.yaml:6  Ingress/default/bad  spec.ingressClassName  ClassNotServed"],
  ],
  [
    "a class that is not served, in the old annotation",
    "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata:\n  name: bad\n  annotations:\n" +
    "    kubernetes.io/ingress.class: nginx\n",
    [
      'bad.yaml:6  Ingress/default/bad  metadata.annotations["kubernetes.io/ingress.class"]  ' +
      "ClassNotServed",
    ],
  ],
  [
    "an annotation for ingress-nginx",
    "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata:\n  name: bad\n  annotations:\n" +
    "    a: b\n    nginx.ingress.kubernetes.io/mirror-target: https://a.test\n" +
    "spec: { defaultBackend: { service: { name: web, port: { number: 80 } } } }\n",
    [
      'bad.yaml:7  Ingress/default/bad  metadata.annotations["nginx.ingress.kubernetes.io/mirror-target"]  ' +
      "NginxAnnotation",
    ],
  ],
  [
    "a host and path that another Ingress has",
    rule("good.example.com", "path: /\n            pathType: Prefix").replace("bad", "zzz"),
    ["bad.yaml:10  Ingress/default/zzz  spec.rules[0].http.paths[0].path  PathConflict"],
  ],
  [
    "an object that is written twice",
    "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\n---\n" +
    "apiVersion: v1\nkind: Secret\nmetadata: {name: a, namespace: default}\n",
    ["bad.yaml:1  Secret/default/a  -  ObjectDuplicated"],
  ],
];

for (const [name, text, expected] of BAD) {
  Deno.test(`${name} is a problem with its place, and the rest is served`, () => {
    const plan = planFor({ "bad.yaml": text, "good.yaml": GOOD });
    assert.deepEqual(problemLines(plan), expected);
    for (const { problem } of plan.problems) {
      assert.notEqual(problem.message, "");
      assert.notEqual(problem.remedy, "");
    }
    const good = plan.snapshot.routes.find(({ id }) => id === "good.example.com Prefix /");
    assert.deepEqual(good?.action, { kind: "forward", backends: [{ upstream: "default/web:80" }] });
  });
}

Deno.test("a template is reported with the advice to render it, a misspelt kind with its spelling", () => {
  const remedyOf = (text: string) => planFor({ "a.yaml": text }).problems[0].problem.remedy;
  assert.match(remedyOf("kind: {{ .Values.kind }}\n"), /helm template/);
  assert.match(remedyOf("name: {{ .x }}-{{ .y }}\n"), /helm template/);
  const kind = (name: string) =>
    `apiVersion: networking.k8s.io/v1\nkind: ${name}\nmetadata: {name: a}`;
  assert.equal(remedyOf(kind("ingress")), 'Write "Ingress"');
  assert.equal(remedyOf(kind("Ingresses")), 'Write "Ingress"');
  assert.match(remedyOf(kind("NetworkPolicy")), /^Nothing to do/);
});

Deno.test("every document, list and typed list is read, in YAML and in JSON", () => {
  const { refs, problems } = readTexts({
    "a.yaml": "---\n# nothing\n---\napiVersion: v1\nkind: Service\nmetadata: {name: a}\n---\n",
    "b.yaml": `apiVersion: v1
kind: List
items:
  - apiVersion: v1
    kind: Service
    metadata: { name: b }
  - apiVersion: v1
    kind: List
    items:
      - { apiVersion: v1, kind: Secret, metadata: { name: c, namespace: other } }
`,
    "c.json": JSON.stringify(
      {
        apiVersion: "networking.k8s.io/v1",
        kind: "IngressClassList",
        items: [{ metadata: { name: "d" } }],
      },
      null,
      "\t",
    ),
    "d.yaml": "\ufeffapiVersion: v1\r\nkind: Service\r\nmetadata:\r\n  name: e\r\n",
    "e.yaml": "# only a comment\n",
    "f.yaml": "",
  });
  assert.deepEqual(problems, []);
  assert.deepEqual(
    refs.map(({ kind, namespace, name }) => [kind, namespace, name].join("/")),
    [
      "Service/default/a",
      "Service/default/b",
      "Secret/other/c",
      "IngressClass//d",
      "Service/default/e",
    ],
  );
});

Deno.test("of an object that occurs twice the last one counts", () => {
  const plan = planFor({
    "a.yaml": GOOD,
    "b.yaml": GOOD.replaceAll("good.example.com", "other.example.com"),
  });
  assert.deepEqual(plan.snapshot.routes.map(({ host }) => host), ["other.example.com"]);
  const [{ problem, at }] = plan.problems;
  assert.equal(at?.file, "a.yaml");
  assert.match(problem.message, /b\.yaml:1:1/);
});

Deno.test("a missing field is reported at its parent", () => {
  const manifests = readTexts({ "a.yaml": GOOD });
  const object = { kind: "Ingress", namespace: "default", name: "good" };
  const line = (field: string) => manifests.locate(object, field)?.line;
  assert.equal(line(""), 1);
  assert.equal(line("spec.rules[0].host"), 7);
  assert.equal(line("spec.rules[0].http.paths[0].backend.service.name"), 10);
  assert.equal(line("spec.rules[0].http.paths[7].path"), 9);
  assert.equal(line("spec.tls[0].secretName"), 5);
  assert.equal(line("status.none"), 1);
  assert.equal(manifests.locate({ ...object, name: "other" }, "spec"), null);
});

Deno.test("a field is found behind an alias, and by a key with dots", () => {
  const manifests = readTexts({
    "a.yaml": `apiVersion: v1
kind: Service
metadata:
  name: web
  annotations:
    a: "0"
    a.b: "1"
    a.b.c/d: "2"
status: &ports
  - port: 80
spec:
  ports: *ports
`,
  });
  const web = { kind: "Service", namespace: "default", name: "web" };
  const line = (field: string) => manifests.locate(web, field)?.line;
  assert.equal(line("metadata.annotations.a"), 6);
  assert.equal(line("metadata.annotations.a.b"), 7);
  assert.equal(line('metadata.annotations["a.b.c/d"]'), 8);
  assert.equal(line("metadata.annotations[a.b.c/d]"), 8);
  assert.equal(line("spec.ports[0].port"), 10);
  assert.equal(line("spec.ports[1].port"), 12);
});

/** Nine levels of nine aliases each: 9⁹ values when written out. */
function bomb(): string {
  const lines = ["a0: &a0 [x]"];
  for (let i = 1; i < 10; i++) {
    lines.push(`a${i}: &a${i} [${Array(9).fill(`*a${i - 1}`).join(", ")}]`);
  }
  return `${lines.join("\n")}\n`;
}

/** Each level is a list with an alias of the level before: the text is flat, and its value is not. */
function chain(levels: number): string {
  const lines = ["a0: &a0 [x]"];
  for (let i = 1; i < levels; i++) lines.push(`a${i}: &a${i} [*a${i - 1}]`);
  return `${lines.join("\n")}\n`;
}

for (
  const [what, first, other] of [
    [
      "a backend",
      "{ path: /0, pathType: Prefix, backend: &b { service: { name: web, port: { number: 80 } } } }",
      (i: number) => `{ path: /${i}, pathType: Prefix, backend: *b }`,
    ],
    [
      "a text",
      "{ path: /0, pathType: &b Prefix, backend: { service: { name: web, port: { number: 80 } } } }",
      (i: number) =>
        `{ path: /${i}, pathType: *b, backend: { service: { name: web, port: { number: 80 } } } }`,
    ],
    [
      "a path by its merge key",
      "&b { path: /0, pathType: Prefix, backend: { service: { name: web, port: { number: 80 } } } }",
      (i: number) => `{ <<: *b, path: /${i} }`,
    ],
  ] as const
) {
  Deno.test(`hundreds of aliases of ${what} are read`, () => {
    const paths = [first, ...Array.from({ length: 300 }, (_, i) => other(i + 1))];
    const rules = `  rules:\n    - host: a.example.com\n      http:\n        paths:\n${
      paths.map((path) => `          - ${path}\n`).join("")
    }`;
    const plan = planFor({ "a.yaml": ingress(rules), "b.yaml": GOOD });
    assert.deepEqual(problemLines(plan), []);
    assert.equal(plan.snapshot.routes.length, 302);
  });
}

Deno.test("a name that anchors another value later is that from there on", () => {
  const { resources } = readTexts({
    "a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: { name: a }\n" +
      "data: { a: &x one, b: *x, c: &x two, d: *x }\n",
  });
  assert.deepEqual(resources.configMaps?.[0].data, { a: "one", b: "one", c: "two", d: "two" });
});

Deno.test("concatenated JSON objects are read like documents, each in its place", () => {
  const object = (kind: string, name: string) =>
    JSON.stringify({ apiVersion: "v1", kind, metadata: { name } });
  const manifests = readTexts({
    "a.json": `${object("Service", "one")}${object("Secret", "two")}\n${
      object("Service", "Three")
    }\n{"kind": }\n`,
  });
  const place = (kind: string, name: string) => {
    const at = manifests.locate({ kind, namespace: "default", name }, "metadata.name");
    return at === null ? null : `${at.line}:${at.column}`;
  };
  assert.deepEqual(
    [place("Service", "one"), place("Secret", "two")],
    ["1:49", `1:${49 + object("Service", "one").length - 1}`],
  );
  assert.deepEqual(manifests.problems.map(({ problem, at }) => `${at?.line} ${problem.reason}`), [
    "2 NameInvalid",
    "3 NotAnObject",
  ]);
});

Deno.test("kubectl convert is no remedy for versions of custom resources", () => {
  const { problems } = readTexts({
    "a.yaml": `apiVersion: gateway.networking.k8s.io/v1alpha2
kind: HTTPRoute
metadata: { name: a }
---
apiVersion: extensions/v1beta1
kind: Ingress
metadata: { name: a }
`,
  });
  assert.deepEqual(problems.map(({ problem }) => problem.remedy), [
    "Write apiVersion: gateway.networking.k8s.io/v1",
    "Write it as networking.k8s.io/v1 (kubectl convert does so)",
  ]);
});
