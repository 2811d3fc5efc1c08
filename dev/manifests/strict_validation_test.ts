import assert from "node:assert/strict";
import { caseNames, readCase } from "../../tests/golden/translate_case.ts";
import { planFor, readTexts } from "../../tests/support/dev_plan.ts";
import { STRICT_MISTAKES, VALID } from "../../tests/support/strict_mistakes.ts";
import { parseManifestFile } from "./file.ts";
import { API_VERSIONS, versionsOf } from "./kinds.ts";
import { strictProblems } from "./strict_validation.ts";

const REASONS = new Set(["FieldUnknown", "ValueNotString", "ClassesDiffer"]);

for (const { name, text, expected } of STRICT_MISTAKES) {
  Deno.test(`${name} is an error at its key, with a remedy`, () => {
    const found = parseManifestFile("a.yaml", text).problems
      .filter(({ problem }) => REASONS.has(problem.reason));
    assert.deepEqual(
      found.map(({ problem, at }) => [
        at?.line,
        at?.column,
        problem.field,
        problem.reason,
        problem.remedy,
      ]),
      [expected],
    );
    assert.equal(found[0].problem.severity, "error");
    assert.ok(!JSON.stringify(found).includes("271828"), "values of Secrets are not shown");
  });
}

Deno.test("an object with unknown fields is served without them", () => {
  const { INGRESS, SERVICE } = VALID;
  const text = (ingress: string) => ({ "a.yaml": `${ingress}---\n${SERVICE}` });
  const plan = planFor(text(`${INGRESS}  foo: 1\n`));
  assert.deepEqual(plan.problems.map(({ problem }) => problem.reason), ["FieldUnknown"]);
  assert.deepEqual(plan.snapshot.routes, planFor(text(INGRESS)).snapshot.routes);
  assert.equal(plan.snapshot.routes.length, 1);
});

Deno.test("of an object with more errors than anybody reads, the first fifty are named", () => {
  const many = Array.from({ length: 200 }, (_, index) => `  foo${index}: 1\n`).join("");
  const { problems, objects } = parseManifestFile("a.yaml", VALID.INGRESS + many);
  assert.deepEqual(
    problems.map(({ problem }) => problem.field),
    Array.from({ length: 50 }, (_, index) => `spec.foo${index}`),
  );
  assert.equal(objects.length, 1);
});

for (
  const [kind, spec, expected] of [
    ["Service", "spec: { ports: [7, { port: 80 }] }", "spec.ports[0] 4:17"],
    ["Service", "spec: { ports: [{ port: 80 }, x] }", "spec.ports[1] 4:31"],
    ["Service", "spec:\n  ports:\n    -\n    - port: 80", "spec.ports[0] 6:6"],
    ["Ingress", "spec: { rules: [[]] }", "spec.rules[0] 4:17"],
    ["EndpointSlice", "addressType: IPv4\nendpoints: [true]", "endpoints[0] 5:13"],
    ["Gateway", "spec: { listeners: [null] }", "spec.listeners[0] 4:21"],
    ["HTTPRoute", "spec: { rules: [{ matches: [x] }] }", "spec.rules[0].matches[0] 4:29"],
  ] as const
) {
  Deno.test(`an item of a list that is no map is an error: ${kind} with ${JSON.stringify(spec)}`, () => {
    const [version] = versionsOf(kind);
    const text = `apiVersion: ${version}\nkind: ${kind}\nmetadata: { name: a }\n${spec}\n`;
    const found = parseManifestFile("a.yaml", text).problems;
    assert.deepEqual(
      found.map(({ problem, at }) =>
        `${problem.reason} ${problem.field} ${at?.line}:${at?.column}`
      ),
      [`ValueTypeWrong ${expected}`],
    );
  });
}

Deno.test("fields of list items are validated, in YAML and in JSON", () => {
  const item = { metadata: { name: "a" }, spec: { foo: 1 } };
  const list = { apiVersion: "networking.k8s.io/v1", kind: "IngressList", items: [item] };
  const { problems } = readTexts({ "a.json": JSON.stringify(list, null, 1) });
  assert.deepEqual(
    problems.map(({ problem, at }) => [problem.object?.name, problem.field, at?.line]),
    [["a", "spec.foo", 10]],
  );
});

Deno.test("fields of unread kinds and versions are not validated", () => {
  const { problems } = readTexts({
    "a.yaml": "apiVersion: extensions/v1beta1\nkind: Ingress\nmetadata: {name: a}\nfoo: 1\n---\n" +
      "apiVersion: serving.knative.dev/v1\nkind: Service\nmetadata: {name: a}\nfoo: 1\n",
  });
  assert.deepEqual(
    problems.map(({ problem }) => problem.reason),
    ["ApiVersionNotSupported", "KindIgnored"],
  );
});

Deno.test("fields set by the API server, equal classes and any key of a map are valid", () => {
  const text = `apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: a
  creationTimestamp: null
  generation: 3
  resourceVersion: "7"
  uid: 00000000-0000-0000-0000-000000000000
  labels: { constructor: a, "a.b/c": null }
  annotations: { kubernetes.io/ingress.class: pingress }
  finalizers: [a.example.com/b]
  managedFields:
    - manager: kubectl
      fieldsType: FieldsV1
      fieldsV1: { "f:spec": { "f:rules": {} } }
spec:
  ingressClassName: pingress
  defaultBackend: { resource: { apiGroup: a.example.com, kind: Bucket, name: b } }
  tls: [{ hosts: [a.test], secretName: b }]
status: { loadBalancer: { ingress: [{ ip: 192.0.2.1, ports: [{ port: 80, protocol: TCP }] }] } }
`;
  assert.deepEqual(parseManifestFile("a.yaml", text).problems, []);
});

Deno.test("annotations written as a list are reported, as all of them would be read past", () => {
  const text = "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata:\n  name: a\n" +
    "  annotations:\n    - nginx.ingress.kubernetes.io/auth-type: basic\n";
  const [{ problem }] = parseManifestFile("a.yaml", text).problems;
  assert.deepEqual([problem.reason, problem.field], ["ValueTypeWrong", "metadata.annotations"]);
  assert.match(problem.remedy, /^Write a map/);
});

Deno.test("manifests that the API server accepts have no such problem", () => {
  const files = [...Deno.readDirSync(new URL("../../examples/", import.meta.url))]
    .filter(({ name }) => name.endsWith(".yaml"))
    .map(({ name }) => Deno.readTextFileSync(new URL(`../../examples/${name}`, import.meta.url)));
  assert.ok(files.length > 0);
  for (const text of [...files, ...Object.values(VALID)]) {
    const { problems } = parseManifestFile("a.yaml", text);
    assert.deepEqual(problems.filter(({ problem }) => REASONS.has(problem.reason)), []);
  }
});

/** Golden inputs with such mistakes: what is wrong is what they show. */
const WRONG_ON_PURPOSE: ReadonlySet<string> = new Set([
  "backend-that-cannot-be-read-answers-500",
  "class-name-beats-old-annotation",
  "class-that-is-no-text",
  "endpoints-have-zone-hints",
  "host-that-cannot-be-read-is-dropped",
  "ingress-fields-of-wrong-shape",
  // A stub's mark is a field that no API has.
  "ingress-too-large-holds-for-its-hosts",
  "ingress-too-large-serves-what-was-published",
  "path-that-is-no-text-is-dropped",
  "rules-that-are-no-list-leave-no-default-action",
  "service-app-protocol-unknown",
  "service-and-slice-too-large-answer-503",
  "tls-fields-of-wrong-shape",
  "upstream-tls-annotations-of-another-shape",
]);

Deno.test("inputs of golden pairs have no such problem, unless they demonstrate it", () => {
  const wrong = new Set<string>();
  for (const name of caseNames()) {
    for (const object of readCase(name).objects) {
      const { kind, metadata } = object as { kind: string; metadata: { name: string } };
      const ref = { kind, namespace: "", name: String(metadata?.name) };
      const found = strictProblems(API_VERSIONS[kind], ref, object as Record<string, unknown>);
      if (found.length > 0) wrong.add(name);
    }
  }
  assert.deepEqual(wrong, WRONG_ON_PURPOSE);
});
