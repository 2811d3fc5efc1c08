/** What Services of Gateways are called. */
import { deepEqual, equal, match } from "node:assert/strict";
import { isDnsLabel } from "../../base/names.ts";
import type { KubeObject } from "../../kube/types.ts";
import {
  GATEWAY_CLASS_LABEL,
  GATEWAY_NAME_LABEL,
  ownerOf,
  ownerReference,
  ownLabels,
  serviceName,
} from "./names.ts";

const GATEWAY = { namespace: "shop", name: "web", uid: "u1", className: "pingress" };

const NAMES: readonly [name: string, className: string, expected: string | RegExp][] = [
  ["web", "pingress", "web-pingress"],
  ["web", "a".repeat(59), `web-${"a".repeat(59)}`],
  ["web", "a".repeat(60), new RegExp(`^web-a{50}-[0-9a-f]{8}$`)],
  ["web.example.com", "pingress", /^web-example-com-pingress-[0-9a-f]{8}$/],
  ["web-example-com", "pingress", "web-example-com-pingress"],
  ["1st", "pingress", /^g-1st-pingress-[0-9a-f]{8}$/],
  [`${"b".repeat(250)}.c`, "pingress", /^b{54}-[0-9a-f]{8}$/],
];

for (const [name, className, expected] of NAMES) {
  Deno.test(`the Service of Gateway ${name.slice(0, 20)} of class ${className.slice(0, 20)}`, () => {
    const made = serviceName({ name, className });
    if (typeof expected === "string") equal(made, expected);
    else match(made, expected);
    equal(isDnsLabel(made) && /^[a-z]/.test(made), true, made);
    const labels = ownLabels({ ...GATEWAY, name, className });
    for (const label of [GATEWAY_NAME_LABEL, GATEWAY_CLASS_LABEL]) {
      match(labels[label], /^[a-z0-9][-a-z0-9.]{0,61}[a-z0-9]$/);
    }
  });
}

Deno.test("Gateways whose names differ in a dot have Services of different names", () => {
  const names = ["a.b", "a-b", "a.b.", "a..b"].map((name) =>
    serviceName({ name, className: "pingress" })
  );
  equal(new Set(names).size, names.length);
});

Deno.test("an object is ours with our label and exactly one Gateway as its owner", () => {
  const owner = ownerReference(GATEWAY);
  const labels = ownLabels(GATEWAY);
  const of = (metadata: Readonly<Record<string, unknown>>) =>
    ownerOf({ metadata: { name: "x", ...metadata } } as KubeObject)?.uid ?? null;
  const pod = { apiVersion: "v1", kind: "Pod", name: "web", uid: "u2" };
  deepEqual(
    [
      of({ labels, ownerReferences: [owner] }),
      of({ labels, ownerReferences: [pod, owner] }),
      of({ labels, ownerReferences: [owner, { ...owner, uid: "u3" }] }),
      of({ labels, ownerReferences: [pod] }),
      of({ labels }),
      of({ labels: { ...labels, "app.kubernetes.io/managed-by": "x" }, ownerReferences: [owner] }),
      of({ ownerReferences: [owner] }),
    ],
    ["u1", "u1", null, null, null, null, null],
  );
});
