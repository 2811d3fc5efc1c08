/** Values of manifests that are not what their field has: every command says so, and goes on with the rest. */
import assert from "node:assert/strict";
import { Manifests } from "../../dev/manifests/manifests.ts";
import { parseManifestFile } from "../../dev/manifests/file.ts";
import { formatObject } from "../../shared/problem.ts";
import { Random } from "../fuzz/random.ts";
import { commandTexts, FOLDER_OPTIONS } from "../support/folder_commands.ts";
import { planOf } from "../support/dev_plan.ts";
import { pathsIn, REPLACEMENTS, withValueAt } from "../support/mutated_manifests.ts";
import { SAMPLE_OBJECTS } from "../support/sample_objects.ts";

/** Foldersful of objects, each with another value in one or two places. */
const ROUNDS = 20;

const URLS = [
  "https://app.test/api",
  "http://plain.test/x",
  "http://plain.test/y",
  "http://shop.gw.test/a?q=1",
];

const GOOD = `apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: { name: good }
spec:
  ingressClassName: pingress
  rules:
    - host: good.test
      http: { paths: [{ path: /, pathType: Prefix, backend: { service: { name: good, port: { number: 80 } } } }] }
---
apiVersion: v1
kind: Service
metadata: { name: good }
spec: { ports: [{ port: 80 }] }
`;

function parsed(object: unknown, i: number) {
  return parseManifestFile(`${i}.yaml`, JSON.stringify(object));
}

const SAMPLE_FILES = SAMPLE_OBJECTS.map(parsed);
const SAMPLE = new Manifests(SAMPLE_FILES);

const objectOf = (kind: string, name: string) =>
  SAMPLE_OBJECTS.findIndex((object) =>
    object.kind === kind && (object.metadata as { readonly name: string }).name === name
  );

const RULE = ["spec", "rules", 0];
const PATH = [...RULE, "http", "paths", 0];
const MAP = { toString: 1 };

/** The object, the way to the value, what stands there, and the field that a problem names; null for none. */
const CASES: readonly (readonly [
  kind: string,
  name: string,
  way: readonly (string | number)[],
  value: unknown,
  field: string | null,
])[] = [
  ["Ingress", "app", [...RULE, "host"], MAP, "spec.rules[0].host"],
  ["Ingress", "app", [...RULE, "host"], 7, "spec.rules[0].host"],
  ["Ingress", "app", [...RULE, "host"], [], "spec.rules[0].host"],
  ["Ingress", "app", [...PATH, "path"], MAP, "spec.rules[0].http.paths[0].path"],
  ["Ingress", "app", [...PATH, "pathType"], MAP, "spec.rules[0].http.paths[0].pathType"],
  ["Ingress", "app", [...PATH, "pathType"], null, "spec.rules[0].http.paths[0]"],
  ["Ingress", "app", ["spec", "rules"], {}, "spec.rules"],
  ["Ingress", "app", ["spec", "ingressClassName"], MAP, "spec.ingressClassName"],
  [
    "Ingress",
    "app",
    [...PATH, "backend", "service", "port", "number"],
    MAP,
    "spec.rules[0].http.paths[0].backend.service.port.number",
  ],
  ["Service", "web", ["spec", "ports", 0, "port"], MAP, "spec.ports[0].port"],
  ["Service", "web", ["spec", "ports", 0, "name"], MAP, "spec.ports[0].name"],
  [
    "Service",
    "web",
    ["metadata", "annotations", "dev.pingress.io/endpoint"],
    MAP,
    'metadata.annotations["dev.pingress.io/endpoint"]',
  ],
  ["IngressClass", "nginx", ["metadata", "creationTimestamp"], MAP, null],
  ["GatewayClass", "mine", ["spec", "controllerName"], MAP, "spec.controllerName"],
];

for (const [kind, name, way, value, field] of CASES) {
  Deno.test(`${way.join(".")} of ${kind} ${name} with ${JSON.stringify(value)} is a problem of it`, () => {
    const i = objectOf(kind, name);
    const files = SAMPLE_FILES.with(i, parsed(withValueAt(SAMPLE_OBJECTS[i], way, value), i));
    const manifests = new Manifests([...files, parseManifestFile("good.yaml", GOOD)]);
    const texts = commandTexts(manifests, SAMPLE, [...URLS, "http://good.test/"]);
    const { problems, snapshot } = planOf(manifests, FOLDER_OPTIONS);
    assert.ok(snapshot.routes.some(({ host }) => host === "good.test"));
    assertShown(texts, "");
    if (field === null) return;
    const found = problems.find(({ problem, at }) =>
      at?.file === `${i}.yaml` && problem.field.startsWith(field) && problem.object !== null &&
      formatObject(problem.object).endsWith(name)
    );
    assert.ok(found !== undefined && found.problem.remedy !== "");
    assert.ok(texts.dev.includes(field));
  });
}

Deno.test("without a kind, an apiVersion that is a map is a problem of its file", () => {
  const { problems } = parseManifestFile("a.yaml", "apiVersion: { toString: 1 }\nspec: {}\n");
  assert.deepEqual(problems.map(({ problem: { reason } }) => reason), ["NotAnObject"]);
});

Deno.test("no command fails for a value of any other kind in any place", () => {
  const random = new Random(20_261_201);
  for (let round = 0; round < ROUNDS; round++) {
    const changes: string[] = [];
    const files = SAMPLE_OBJECTS.map((object, i) => {
      let changed: unknown = object;
      for (let n = random.below(3); n > 0; n--) {
        // Objects that are not told by kind and name are not read at all, and hide the rest.
        const ways = pathsIn(changed).filter(([first, second, ...more]) =>
          first !== "apiVersion" && first !== "kind" &&
          (first !== "metadata" || (second !== undefined && second !== "name") || more.length > 0)
        );
        if (ways.length === 0) break;
        const way = random.pick(ways);
        const [what, value] = random.pick(REPLACEMENTS);
        changed = withValueAt(changed, way, value);
        changes.push(`${object.kind} ${way.join(".")}: ${what}`);
      }
      return parsed(changed, i);
    });
    const backend = random.pick(["HostPort", "LoadBalancer"] as const);
    let texts;
    try {
      texts = commandTexts(new Manifests(files), SAMPLE, URLS, backend);
    } catch (error) {
      throw new Error(`after ${changes.join("; ")}`, { cause: error });
    }
    assertShown(texts, changes.join("; "));
  }
});

/** Neither what JavaScript calls values, nor what a terminal acts on. */
function assertShown(texts: Readonly<Record<string, string>>, changes: string): void {
  for (const [command, text] of Object.entries(texts)) {
    // Those for programs have the whole of every value.
    if (/json|sarif|github/.test(command)) continue;
    const strange = /.{0,40}(?:\[object |\bundefined\b|\[native code\]).{0,40}/.exec(text);
    assert.equal(strange?.[0], undefined, `${command} after ${changes}`);
    // deno-lint-ignore no-control-regex
    const control = /.{0,40}[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e].{0,40}/.exec(text);
    assert.equal(control?.[0], undefined, `${command} after ${changes}`);
  }
}
