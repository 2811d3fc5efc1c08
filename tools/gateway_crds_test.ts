import { deepEqual, equal } from "node:assert/strict";
import type { KubeObject } from "../controller/kube/types.ts";
import { compareBundles, planCrds, readBundle } from "./gateway_crds.ts";

const GROUP = "gateway.networking.k8s.io";
const POLICY = `safe-upgrades.${GROUP}`;

function annotations(version = "v1.6.3", channel = "standard") {
  return {
    "gateway.networking.k8s.io/bundle-version": version,
    "gateway.networking.k8s.io/channel": channel,
  };
}

function crd(plural: string, of = annotations()) {
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.${GROUP}`, annotations: of, managedFields: [] as unknown[] },
    spec: { group: GROUP, names: { plural } },
  };
}

const NEEDED = [crd("gatewayclasses"), crd("gateways"), crd("httproutes")];

function policy(kind: string, spec: object, name = POLICY) {
  const apiVersion = "admissionregistration.k8s.io/v1";
  return { apiVersion, kind, metadata: { name, annotations: annotations() }, spec };
}

const BOUNDS_CRDS = {
  matchConstraints: { resourceRules: [{ apiGroups: ["apiextensions.k8s.io"] }] },
};

/** What else is in the file, and what is said of it; null where it may be applied. */
const FILES: readonly (readonly [name: string, more: unknown, fault: string | null])[] = [
  ["nothing", null, null],
  ["another CRD", crd("tlsroutes"), null],
  ["the policy of the release", policy("ValidatingAdmissionPolicy", BOUNDS_CRDS), null],
  ["its binding", policy("ValidatingAdmissionPolicyBinding", { policyName: POLICY }), null],
  [
    "a Secret",
    { apiVersion: "v1", kind: "Secret", metadata: { name: "one" } },
    'Secret one: kind "Secret" of "v1" is not part of the CRDs of Gateway API',
  ],
  [
    "a text",
    "gateways",
    "an object: kind nothing of nothing is not part of the CRDs of Gateway API",
  ],
  [
    "a CRD of an old API",
    { ...crd("tlsroutes"), apiVersion: "apiextensions.k8s.io/v1beta1" },
    `CustomResourceDefinition tlsroutes.${GROUP}: kind "CustomResourceDefinition" of ` +
    '"apiextensions.k8s.io/v1beta1" is not part of the CRDs of Gateway API',
  ],
  [
    "a CRD of another group",
    { ...crd("tlsroutes"), spec: { group: "example.com", names: { plural: "tlsroutes" } } },
    `CustomResourceDefinition tlsroutes.${GROUP}: spec.group is "example.com" instead of "${GROUP}"`,
  ],
  [
    "a CRD whose name is not of its group",
    { ...crd("tlsroutes"), metadata: { ...crd("tlsroutes").metadata, name: "nodes.example.com" } },
    'CustomResourceDefinition nodes.example.com: metadata.name is "nodes.example.com" instead of ' +
    `"tlsroutes.${GROUP}"`,
  ],
  [
    "a CRD of another version",
    crd("tlsroutes", annotations("v1.5.0")),
    `CustomResourceDefinition tlsroutes.${GROUP}: the annotation ${GROUP}/bundle-version is ` +
    '"v1.5.0" instead of "v1.6.3"',
  ],
  [
    "a CRD without version",
    { ...crd("tlsroutes"), metadata: { name: `tlsroutes.${GROUP}` } },
    `CustomResourceDefinition tlsroutes.${GROUP}: the annotation ${GROUP}/bundle-version is missing`,
  ],
  [
    "an experimental CRD",
    crd("tcproutes", annotations("v1.6.3", "experimental")),
    `CustomResourceDefinition tcproutes.${GROUP}: the annotation ${GROUP}/channel is "experimental" ` +
    'instead of "standard"',
  ],
  [
    "a policy of another name",
    policy("ValidatingAdmissionPolicy", BOUNDS_CRDS, "deny-all"),
    `ValidatingAdmissionPolicy deny-all: metadata.name is "deny-all" instead of "${POLICY}"`,
  ],
  [
    "a policy that is about pods too",
    policy("ValidatingAdmissionPolicy", {
      matchConstraints: { resourceRules: [{ apiGroups: ["apiextensions.k8s.io", ""] }] },
    }),
    `ValidatingAdmissionPolicy ${POLICY}: spec.matchConstraints.resourceRules.apiGroups is "" ` +
    'instead of "apiextensions.k8s.io"',
  ],
  [
    "a binding of another policy",
    policy("ValidatingAdmissionPolicyBinding", { policyName: "deny-all" }),
    `ValidatingAdmissionPolicyBinding ${POLICY}: spec.policyName is "deny-all" instead of "${POLICY}"`,
  ],
];

for (const [name, more, fault] of FILES) {
  const verdict = fault === null ? "applied" : "refused";
  Deno.test(`a file with the CRDs of Gateway API and ${name} is ${verdict}`, () => {
    const bundle = readBundle([...NEEDED, more]);
    equal("fault" in bundle ? bundle.fault : null, fault);
  });
}

Deno.test("a file without the kinds that are served, or of a version that is not, is refused", () => {
  deepEqual(readBundle([null]), { fault: "it has no objects" });
  deepEqual(readBundle(NEEDED.slice(0, 2)), {
    fault: `it has no CustomResourceDefinition httproutes.${GROUP}`,
  });
  deepEqual(readBundle([crd("gateways", annotations("v1.7.0"))]), {
    fault:
      `CustomResourceDefinition gateways.${GROUP}: the annotation ${GROUP}/bundle-version is ` +
      '"v1.7.0", and v1.0 to v1.6 are supported',
  });
});

const ORDER = ["v0.8.1", "v1.0.0", "v1.5.0-rc.2", "v1.5.0-rc.10", "v1.5.0", "v1.10.0", "v2.0.0"];

Deno.test("versions of Gateway API are compared by number, release candidates before releases", () => {
  for (const [i, a] of ORDER.entries()) {
    for (const [j, b] of ORDER.entries()) {
      equal(Math.sign(compareBundles(a, b)!), Math.sign(i - j), `${a} and ${b}`);
    }
  }
  for (const unknown of ["", "1.6.3", "v1.6", "v1.6.3+local", "main"]) {
    equal(compareBundles("v1.6.3", unknown), null, unknown);
  }
});

function managedBy(manager: string, fields: object = { "f:spec": { "f:versions": {} } }) {
  return { manager, fieldsV1: fields };
}

/** The CRDs of a cluster, and what becomes of them. */
const CLUSTERS: readonly (readonly [
  name: string,
  standing: readonly unknown[],
  outcome: "apply" | "present" | readonly string[],
])[] = [
  ["no CRDs", [], "apply"],
  ["equal ones", NEEDED, "present"],
  ["some of them", NEEDED.slice(1), "apply"],
  ["an older one", [...NEEDED.slice(1), crd("gatewayclasses", annotations("v1.5.1"))], "apply"],
  [
    "a release candidate",
    [...NEEDED.slice(1), crd("gatewayclasses", annotations("v1.6.3-rc.1"))],
    "apply",
  ],
  [
    "a newer one",
    [...NEEDED, crd("tlsroutes", annotations("v1.7.0"))],
    [`CustomResourceDefinition tlsroutes.${GROUP} is of the version "v1.7.0", newer than v1.6.3`],
  ],
  [
    "an experimental one",
    [crd("tcproutes", annotations("v1.0.0", "experimental"))],
    [
      `CustomResourceDefinition tcproutes.${GROUP} is of the channel "experimental", not of standard`,
    ],
  ],
  [
    "one without channel",
    [{ ...crd("gateways"), metadata: { name: `gateways.${GROUP}` } }],
    [`CustomResourceDefinition gateways.${GROUP} is of the channel nothing, not of standard`],
  ],
  [
    "one whose version is not comparable",
    [crd("gateways", annotations("main"))],
    [
      `CustomResourceDefinition gateways.${GROUP} is of the version "main", which cannot be compared ` +
      "with v1.6.3",
    ],
  ],
  [
    "a newer CRD of another group",
    [{ ...crd("gateways", annotations("v9.0.0")), spec: { group: "example.com" } }],
    "apply",
  ],
];

for (const [name, standing, outcome] of CLUSTERS) {
  Deno.test(`CRDs of Gateway API for a cluster with ${name}`, () => {
    equal(typeof outcome === "string" ? outcome : "refused", planOf(standing).kind);
    const plan = planOf(standing);
    deepEqual(plan.kind === "refused" ? plan.reasons : plan.kind, outcome);
  });
}

Deno.test("older CRDs that kubectl has applied are upgraded, those of another manager are refused", () => {
  const older = crd("gateways", annotations("v1.5.1"));
  const withManagers = (...managedFields: unknown[]) => [
    { ...older, metadata: { ...older.metadata, managedFields } },
  ];
  const status = managedBy("kube-apiserver", { "f:status": {} });
  for (const manager of ["kubectl", "kubectl-client-side-apply", "pingress-deploy"]) {
    equal(planOf(withManagers(managedBy(manager), status)).kind, "apply", manager);
  }
  const plan = planOf(withManagers(managedBy("helm"), managedBy("kubectl"), status));
  deepEqual(plan.kind === "refused" && plan.reasons, [
    `CustomResourceDefinition gateways.${GROUP} is managed by "helm"`,
  ]);
});

function planOf(standing: readonly unknown[]) {
  const bundle = readBundle(NEEDED);
  if ("fault" in bundle) throw new Error(bundle.fault);
  return planCrds(bundle, standing as KubeObject[]);
}
