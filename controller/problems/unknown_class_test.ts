import assert from "node:assert/strict";
import type { Ingress, IngressClass } from "../kube/resources.ts";
import { unknownClasses } from "./unknown_class.ts";

const CLASSES: IngressClass[] = [{ metadata: { name: "nginx" } }];

function ingress(name: string, ingressClassName?: string | null, annotations = {}): Ingress {
  return { metadata: { namespace: "shop", name, annotations }, spec: { ingressClassName } };
}

function reported(...ingresses: readonly Ingress[]): string[] {
  return unknownClasses(ingresses, CLASSES, ["pingress"]).map(({ object }) => object!.name);
}

Deno.test("an unknown class is reported together with the served one", () => {
  const [problem, ...others] = unknownClasses([ingress("web", "pingres")], CLASSES, ["pingress"]);
  assert.deepEqual(others, []);
  assert.deepEqual(problem, {
    object: { kind: "Ingress", namespace: "shop", name: "web" },
    field: "spec.ingressClassName",
    reason: "ClassNotFound",
    message: 'IngressClass "pingres" does not exist, so the Ingress is not served',
    remedy: "Write pingress to have it served here, or create the IngressClass",
    severity: "warning",
  });
});

Deno.test("classes of other controllers, our own class without an object, and a missing class are not reported", () => {
  assert.deepEqual(
    reported(
      ingress("a", "nginx"),
      ingress("b", "pingress"),
      ingress("c"),
      ingress("d", null),
      ingress("e", undefined, { "kubernetes.io/ingress.class": "gone" }),
    ),
    [],
  );
});

Deno.test("problems with classes are sorted by name", () => {
  assert.deepEqual(reported(ingress("b", "x"), ingress("c", "y"), ingress("a", "z")), [
    "a",
    "b",
    "c",
  ]);
});
