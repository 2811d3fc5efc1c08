import assert from "node:assert/strict";
import { planFor, problemLines } from "../../tests/support/dev_plan.ts";
import { lintTexts } from "../../tests/golden/lint_case.ts";

const BASE = `apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: { name: web }
spec:
  ingressClassName: pingress
  rules:
    - host: a.test
      http:
        paths: [{ path: /, pathType: Prefix, backend: { service: { name: web, port: { number: 80 } } } }]
---
apiVersion: v1
kind: Service
metadata: { name: web }
spec: { ports: [{ port: 80 }] }
`;

const PATCH = `apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: { name: web }
spec: { ingressClassName: other }
`;

/** With and without a kind, as Kustomize reads both. */
const KINDS = ["", "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n"];

function folder(overlay: string): Record<string, string> {
  return {
    "k/base/ingress.yaml": BASE,
    "k/base/kustomization.yaml": "resources: [ingress.yaml]\n",
    "k/overlays/prod/host.yaml": PATCH,
    "k/overlays/prod/kustomization.yaml": overlay,
  };
}

const RENDER = "kubectl kustomize k/overlays/prod > all.yaml";

for (const kind of KINDS) {
  for (
    const list of [
      "patches: [{ path: host.yaml }]",
      "patches: [{ path: ./host.yaml, target: { kind: Ingress } }]",
      "patchesStrategicMerge: [host.yaml]",
      "patchesStrategicMerge: [../prod/host.yaml]",
    ]
  ) {
    Deno.test(`a file of ${list} is no Ingress of its own${kind && ", with a kind"}`, () => {
      const plan = planFor(folder(`${kind}resources: [../../base]\n${list}\n`));
      assert.deepEqual(plan.snapshot.routes.map(({ host }) => host), ["a.test"]);
      const visible = plan.problems.filter(({ problem }) => problem.severity !== "info");
      assert.deepEqual(
        visible.map(({ problem, at }) => [problem.reason, problem.severity, at?.file]),
        [["KustomizationNotApplied", "warning", "k/overlays/prod/kustomization.yaml"]],
      );
      assert.ok(visible[0].problem.remedy.endsWith(RENDER), visible[0].problem.remedy);
    });
  }
}

Deno.test("an object that is written twice beside a kustomization.yaml is rendered, not removed", () => {
  const files = folder("resources: [../../base]\n");
  const { problems } = planFor(files);
  const [duplicated] = problems.filter(({ problem }) => problem.reason === "ObjectDuplicated");
  assert.ok(duplicated.problem.remedy.endsWith(RENDER), duplicated.problem.remedy);
  delete files["k/overlays/prod/kustomization.yaml"];
  const of = (more: Record<string, string>) =>
    planFor(more).problems.find(({ problem }) => problem.reason === "ObjectDuplicated")!.problem;
  assert.match(of(files).remedy, /: kubectl kustomize k\/base > all\.yaml$/);
  delete files["k/base/kustomization.yaml"];
  assert.match(of(files).remedy, /^Remove one of the two/);
});

Deno.test("a kustomization.yaml that only lists files changes nothing, and needs nothing", () => {
  const files = folder("resources: [../../base]\n");
  delete files["k/overlays/prod/host.yaml"];
  const plan = planFor(files);
  assert.deepEqual(plan.problems.filter(({ problem }) => problem.severity !== "info"), []);
});

Deno.test("a kustomization.yaml of the folder itself says how to render it", () => {
  const plan = planFor({ "a.yaml": BASE, "kustomization.yaml": "namePrefix: b-\n" });
  const [{ problem }] = plan.problems.filter(({ problem }) => problem.severity === "warning");
  assert.match(problem.message, /\(namePrefix\)/);
  assert.match(problem.remedy, /: kubectl kustomize \. > all\.yaml$/);
});

Deno.test("a kustomization.yaml of any shape affects no other file", () => {
  const shapes = ["null", "5", "[]", "[5]", "[{}]", "{ path: 5 }", "[{ path: [] }]", '["a: b"]'];
  for (const shape of shapes) {
    const plan = planFor({ "a.yaml": BASE, "kustomization.yaml": `patches: ${shape}\n` });
    assert.deepEqual(plan.snapshot.routes.map(({ host }) => host), ["a.test"], shape);
    assert.ok(problemLines(plan).length > 0);
  }
});

Deno.test("lint says that Kustomize's changes are not checked, and judges the base", () => {
  const files = folder("resources: [../../base]\npatches: [{ path: host.yaml }]\n");
  files["k/base/ingress.yaml"] = BASE.replace("pingress", "nginx");
  const { ingresses, unreadable, notChecked } = lintTexts(files);
  assert.deepEqual(ingresses.map(({ verdict }) => verdict), ["SAME"]);
  assert.deepEqual(unreadable, []);
  assert.deepEqual(notChecked.map(({ remedy }) => remedy.endsWith(RENDER)), [true]);
});

Deno.test("a kustomization.yaml that is no map changes no field", () => {
  for (const text of ["- a.yaml\n", "a.yaml\n", "[[]]\n"]) {
    const { problems } = planFor({ "a.yaml": BASE, "kustomization.yaml": text });
    assert.deepEqual(problems.map(({ problem: { reason } }) => reason), ["FileIgnored"]);
  }
});

Deno.test("a folder with a space is quoted in every command that renders it", () => {
  const { problems } = planFor({
    "my k/base/kustomization.yaml": "patches: [{ path: p.yaml }]\n",
    "my k/base/p.yaml": PATCH,
    "my k/Chart.yaml": "name: a\nversion: 1.0.0\n",
  });
  const commands = problems.flatMap(({ problem: { remedy } }) =>
    /(?:kubectl|helm) .*/.exec(remedy)?.[0] ?? []
  );
  assert.deepEqual([...new Set(commands)].sort(), [
    "helm template 'my k' > all.yaml",
    "kubectl kustomize 'my k/base' > all.yaml",
  ]);
});
