import assert from "node:assert/strict";
import { parse } from "yaml";
import type { IngressClass } from "../../kube/resources.ts";
import { ProblemList } from "../../base/problems.ts";
import { type ClassOptions, ownIngresses } from "./class.ts";
import { IngressObject } from "./ingress_object.ts";

const OPTIONS: ClassOptions = {
  ingressClasses: ["pingress"],
  controllerNames: ["pingress.io/ingress-controller"],
  watchIngressWithoutClass: false,
};
const NGINX_ANNOTATION = { "pingress.io/profile": "nginx" };
const OF_NGINX = "k8s.io/ingress-nginx";

function ingressOf(ingressClassName?: string, annotation?: string): IngressObject {
  const annotations = annotation === undefined ? {} : { "kubernetes.io/ingress.class": annotation };
  return new IngressObject({
    metadata: { namespace: "default", name: "web", annotations },
    spec: { ingressClassName },
  });
}

function classOf(
  name: string,
  controller = "pingress.io/ingress-controller",
  annotations: Readonly<Record<string, string>> = {},
): IngressClass {
  return { metadata: { name, annotations }, spec: { controller } };
}

/** Null where the Ingress is not served. */
function profileOf(
  ingress: IngressObject,
  classes: readonly unknown[],
  options: Partial<ClassOptions> = {},
): string | null {
  const own = ownIngresses([ingress], classes, { ...OPTIONS, ...options }, new ProblemList());
  return own.length === 0 ? null : own[0].profile;
}

const CASES: readonly [
  string,
  IngressObject,
  IngressClass[],
  Partial<ClassOptions>,
  string | null,
][] = [
  ["a class of ours", ingressOf("fast"), [classOf("fast")], {}, "pingress"],
  [
    "an IngressClass with the annotation",
    ingressOf("fast"),
    [classOf("fast", undefined, NGINX_ANNOTATION)],
    {},
    "nginx",
  ],
  [
    "an annotated IngressClass of another controller that is served by name",
    ingressOf("pingress"),
    [classOf("pingress", "example.com/other", NGINX_ANNOTATION)],
    {},
    "nginx",
  ],
  [
    "an annotated IngressClass of another controller",
    ingressOf("fast"),
    [classOf("fast", "example.com/other", NGINX_ANNOTATION)],
    {},
    null,
  ],
  [
    "a class of ingress-nginx that is not taken over",
    ingressOf("nginx"),
    [classOf("nginx", OF_NGINX)],
    {},
    null,
  ],
  [
    "a class of ingress-nginx that --controller-name takes over",
    ingressOf("nginx"),
    [classOf("nginx", OF_NGINX)],
    { controllerNames: [OF_NGINX] },
    "nginx",
  ],
  [
    "a class of ingress-nginx that --ingress-class names",
    ingressOf("nginx"),
    [classOf("nginx", OF_NGINX)],
    { ingressClasses: ["nginx"] },
    "pingress",
  ],
  [
    "a class of --nginx-class without an IngressClass",
    ingressOf("nginx"),
    [],
    { ingressClasses: ["pingress", "nginx"], nginxClasses: ["nginx"] },
    "nginx",
  ],
  [
    "a class of --nginx-class in the old annotation",
    ingressOf(undefined, "nginx"),
    [],
    { ingressClasses: ["pingress", "nginx"], nginxClasses: ["nginx"] },
    "nginx",
  ],
  [
    "a class of --nginx-class whose IngressClass says nothing",
    ingressOf("nginx"),
    [classOf("nginx")],
    { ingressClasses: ["pingress", "nginx"], nginxClasses: ["nginx"] },
    "nginx",
  ],
  [
    "no class, and a default class with the profile",
    ingressOf(),
    [classOf("fast", undefined, {
      ...NGINX_ANNOTATION,
      "ingressclass.kubernetes.io/is-default-class": "true",
    })],
    {},
    "nginx",
  ],
  [
    "no class, beside classes with and without the profile",
    ingressOf(),
    [],
    {
      watchIngressWithoutClass: true,
      ingressClasses: ["pingress", "nginx"],
      nginxClasses: ["nginx"],
    },
    "pingress",
  ],
  [
    "no class, where all classes have the profile",
    ingressOf(),
    [],
    { watchIngressWithoutClass: true, ingressClasses: ["nginx"], nginxClasses: ["nginx"] },
    "nginx",
  ],
  ["no class", ingressOf(), [], {}, null],
];

for (const [name, ingress, classes, options, expected] of CASES) {
  Deno.test(`an Ingress of ${name} is ${expected === null ? "not served" : `read as ${expected}`}`, () => {
    assert.equal(profileOf(ingress, classes, options), expected);
  });
}

Deno.test("an Ingress of the class in overlays/nginx is read as nginx", () => {
  const file = new URL("../../../overlays/nginx/ingress-class.yaml", import.meta.url);
  const shipped: IngressClass = parse(Deno.readTextFileSync(file));
  assert.equal(profileOf(ingressOf(shipped.metadata?.name), [shipped]), "nginx");
});
