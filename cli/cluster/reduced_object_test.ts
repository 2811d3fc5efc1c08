import assert from "node:assert/strict";
import { INGRESSES, type KubeObject, SECRETS } from "../../controller/kube/types.ts";
import { reducedObject } from "./reduced_object.ts";

Deno.test("an answer that is no object of Kubernetes has no name, and ends nothing", () => {
  for (const answer of [{}, { items: {} }, { metadata: null }]) {
    const { metadata } = reducedObject(INGRESSES, answer as unknown as KubeObject);
    assert.deepEqual(metadata, { name: "" });
  }
});

Deno.test("of a Secret, only the certificate is handed on", () => {
  const secret = {
    metadata: { name: "a", annotations: { applied: "key" }, managedFields: [] },
    type: "kubernetes.io/tls",
    data: { "tls.crt": "certificate", "tls.key": "key" },
  };
  assert.deepEqual(reducedObject(SECRETS, secret), {
    metadata: { name: "a" },
    type: "kubernetes.io/tls",
    data: { "tls.crt": "certificate" },
  });
});
