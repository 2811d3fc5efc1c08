import assert from "node:assert/strict";
import { parse } from "yaml";
import type { IngressClass } from "../../kube/resources.ts";
import { ProblemList } from "../../base/problems.ts";
import { NO_GLOBALS } from "../model/global_settings.ts";
import { type ClassOptions, OwnIngresses, ownIngresses } from "./class.ts";
import { IngressObject, IngressObjects } from "./ingress_object.ts";

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

const STATUS_OFF = { "pingress.io/status": "off" };
const IS_DEFAULT = { "ingressclass.kubernetes.io/is-default-class": "true" };

const ADDRESS_CASES: readonly [
  string,
  IngressObject,
  IngressClass[],
  Partial<ClassOptions>,
  boolean,
][] = [
  ["a class that says nothing", ingressOf("fast"), [classOf("fast")], {}, true],
  [
    "a class with status off",
    ingressOf("fast"),
    [classOf("fast", undefined, STATUS_OFF)],
    {},
    false,
  ],
  [
    "a class with status on",
    ingressOf("fast"),
    [classOf("fast", undefined, { "pingress.io/status": "on" })],
    {},
    true,
  ],
  [
    "a class with an invalid status",
    ingressOf("fast"),
    [classOf("fast", undefined, { "pingress.io/status": "Off" })],
    {},
    true,
  ],
  [
    "another class beside one with status off",
    ingressOf("pingress"),
    [classOf("fast", undefined, STATUS_OFF)],
    {},
    true,
  ],
  [
    "a class with status off that the old annotation names",
    ingressOf(undefined, "fast"),
    [classOf("fast", undefined, STATUS_OFF)],
    {},
    false,
  ],
  [
    "a class with status off that --ingress-class names",
    ingressOf("nginx"),
    [classOf("nginx", OF_NGINX, STATUS_OFF)],
    { ingressClasses: ["nginx"] },
    false,
  ],
  [
    "no class, where the default class has status off",
    ingressOf(),
    [classOf("fast", undefined, { ...STATUS_OFF, ...IS_DEFAULT })],
    {},
    false,
  ],
  [
    "no class, where a class that is not the default has status off",
    ingressOf(),
    [classOf("fast", undefined, STATUS_OFF)],
    { watchIngressWithoutClass: true },
    true,
  ],
  [
    "no class, where the default class of another controller has status off",
    ingressOf(),
    [classOf("other", "example.com/other", { ...STATUS_OFF, ...IS_DEFAULT })],
    { watchIngressWithoutClass: true },
    true,
  ],
];

for (const [name, ingress, classes, options, isAddressed] of ADDRESS_CASES) {
  Deno.test(`an Ingress of ${name} gets ${isAddressed ? "our" : "no"} addresses`, () => {
    assert.deepEqual(
      unaddressed(new OwnIngresses(new IngressObjects()), ingress, classes, options),
      {
        served: 1,
        unaddressed: isAddressed ? [] : ["default/web"],
      },
    );
  });
}

Deno.test("status off of a class holds as long as its annotation does", () => {
  const own = new OwnIngresses(new IngressObjects());
  const ingress = ingressOf("fast");
  const [on, off] = [[classOf("fast")], [classOf("fast", undefined, STATUS_OFF)]];
  const seen = [on, off, off, on].map((classes) =>
    unaddressed(own, ingress, classes).unaddressed.length
  );
  assert.deepEqual(seen, [0, 1, 1, 0]);
  // And an Ingress that changes to a class without it.
  assert.equal(unaddressed(own, ingress, off).unaddressed.length, 1);
  assert.equal(unaddressed(own, ingressOf("pingress"), off).unaddressed.length, 0);
});

function unaddressed(
  own: OwnIngresses,
  ingress: IngressObject,
  classes: readonly unknown[],
  options: Partial<ClassOptions> = {},
) {
  const all = { ...OPTIONS, ...options };
  const served = own.of([ingress.object], classes, all, NO_GLOBALS, new ProblemList());
  return { served: served.length, unaddressed: [...own.unaddressed] };
}
