import assert from "node:assert/strict";
import type { Ingress, Resources } from "../../controller/kube/resources.ts";
import { overlay } from "./overlay.ts";

const NONE: Resources = {
  ingresses: [],
  ingressClasses: [],
  services: [],
  endpointSlices: [],
  secrets: [],
};

const OLD = "2020-01-01T00:00:00Z";

function ingress(namespace: string, name: string, creationTimestamp?: string): Ingress {
  const age = creationTimestamp === undefined ? {} : { creationTimestamp, uid: "1" };
  return { metadata: { namespace, name, ...age } as Ingress["metadata"] };
}

Deno.test("new objects replace those with the same name, keep their age, and leave the others", () => {
  const cluster = { ...NONE, ingresses: [ingress("a", "web", OLD), ingress("b", "web", OLD)] };
  const added = { ...NONE, ingresses: [ingress("a", "web"), ingress("a", "new")] };
  const { ingresses } = overlay(cluster, added);
  assert.deepEqual(
    ingresses.map(({ metadata }) => [
      `${metadata?.namespace}/${metadata?.name}`,
      metadata?.creationTimestamp,
    ]),
    [["a/web", OLD], ["b/web", OLD], ["a/new", undefined]],
  );
});

Deno.test("kinds that cannot be read of a cluster stay unknown", () => {
  const added = { ...NONE, namespaces: [{ metadata: { name: "a" } }] };
  assert.equal(overlay({ ...NONE, namespaces: null }, added).namespaces, null);
  assert.equal(overlay({ ...NONE, namespaces: [] }, added).namespaces?.length, 1);
});
