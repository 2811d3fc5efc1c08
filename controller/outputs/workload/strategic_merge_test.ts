import { deepEqual, equal } from "node:assert/strict";
import { strategicMerge } from "./strategic_merge.ts";
import type { JsonObject } from "../../base/json.ts";

const POD = {
  metadata: { labels: { app: "web" } },
  spec: {
    priorityClassName: "high",
    securityContext: { runAsUser: 65532, fsGroup: 65532 },
    tolerations: [{ key: "a", operator: "Exists" }],
    containers: [{
      name: "web",
      image: "web:1",
      args: ["--one", "--two"],
      env: [{ name: "A", value: "1" }, { name: "B", value: "2" }],
      ports: [{ containerPort: 8443, protocol: "TCP", name: "https" }],
      volumeMounts: [{ name: "config", mountPath: "/etc/web", readOnly: true }],
    }],
    volumes: [{ name: "config", projected: { sources: [] } }],
  },
};

const container = (fields: JsonObject) => ({
  ...POD,
  spec: { ...POD.spec, containers: [{ ...POD.spec.containers[0], ...fields }] },
});
const spec = (fields: JsonObject) => ({ ...POD, spec: { ...POD.spec, ...fields } });
const web = (fields: JsonObject) => ({ spec: { containers: [{ name: "web", ...fields }] } });

const MERGES: Readonly<Record<string, readonly [patch: JsonObject, merged: JsonObject]>> = {
  "an empty template changes nothing": [{}, POD],
  "maps merge": [
    { metadata: { labels: { team: "edge" }, annotations: { a: "b" } } },
    { ...POD, metadata: { labels: { app: "web", team: "edge" }, annotations: { a: "b" } } },
  ],
  "a single value replaces": [
    { spec: { priorityClassName: "low" } },
    spec({ priorityClassName: "low" }),
  ],
  "null removes a field": [
    { spec: { securityContext: { fsGroup: null } } },
    spec({ securityContext: { runAsUser: 65532 } }),
  ],
  "containers merge by name": [web({ image: "web:2" }), container({ image: "web:2" })],
  "another container stands beside": [
    { spec: { containers: [{ name: "sidecar", image: "side:1" }] } },
    spec({ containers: [POD.spec.containers[0], { name: "sidecar", image: "side:1" }] }),
  ],
  "arguments are replaced whole": [web({ args: ["--three"] }), container({ args: ["--three"] })],
  "variables merge by name": [
    web({ env: [{ name: "B", value: "3" }, { name: "C", value: "4" }] }),
    container({
      env: [{ name: "A", value: "1" }, { name: "B", value: "3" }, { name: "C", value: "4" }],
    }),
  ],
  "a port of another protocol stands beside": [
    web({ ports: [{ containerPort: 8443, protocol: "UDP", name: "http3" }] }),
    container({
      ports: [
        { containerPort: 8443, protocol: "TCP", name: "https" },
        { containerPort: 8443, protocol: "UDP", name: "http3" },
      ],
    }),
  ],
  "a port without protocol is that of TCP": [
    web({ ports: [{ containerPort: 8443, hostPort: 443 }] }),
    container({ ports: [{ containerPort: 8443, protocol: "TCP", name: "https", hostPort: 443 }] }),
  ],
  "mounts merge by path": [
    web({ volumeMounts: [{ mountPath: "/tmp", name: "tmp" }] }),
    container({
      volumeMounts: [
        { name: "config", mountPath: "/etc/web", readOnly: true },
        { mountPath: "/tmp", name: "tmp" },
      ],
    }),
  ],
  "tolerations are replaced whole": [
    { spec: { tolerations: [{ key: "b", operator: "Exists" }] } },
    spec({ tolerations: [{ key: "b", operator: "Exists" }] }),
  ],
  "$patch: delete takes a member away": [
    web({ env: [{ name: "A", $patch: "delete" }] }),
    container({ env: [{ name: "B", value: "2" }] }),
  ],
  "$patch: replace in a map makes it all of it": [
    { spec: { securityContext: { $patch: "replace", runAsUser: 1 } } },
    spec({ securityContext: { runAsUser: 1 } }),
  ],
  "$patch: delete in a map empties it": [
    { spec: { securityContext: { $patch: "delete" } } },
    spec({ securityContext: {} }),
  ],
  "$patch: replace in a list makes the others all of it": [
    web({ env: [{ $patch: "replace" }, { name: "C", value: "4" }] }),
    container({ env: [{ name: "C", value: "4" }] }),
  ],
  "$retainKeys drops what the new kind of a volume rules out": [
    {
      spec: {
        volumes: [{ name: "config", $retainKeys: ["name", "emptyDir"], emptyDir: {} }],
      },
    },
    spec({ volumes: [{ name: "config", emptyDir: {} }] }),
  ],
  "nulls in what is new are left out": [
    { spec: { dnsConfig: { searches: null, options: [{ name: "ndots", value: null }] } } },
    spec({ dnsConfig: { options: [{ name: "ndots" }] } }),
  ],
};

for (const [name, [patch, merged]] of Object.entries(MERGES)) {
  Deno.test(`pod template: ${name}`, () => {
    const before = JSON.stringify([POD, patch]);
    const result = strategicMerge(POD, patch);
    deepEqual(result, { ok: true, value: merged });
    equal(JSON.stringify([POD, patch]), before, "neither side is changed");
  });
}

const MISTAKES: Readonly<Record<string, readonly [patch: JsonObject, field: string]>> = {
  "text in place of a list": [{ spec: { containers: "web" } }, "spec.containers"],
  "a map in place of a list": [{ spec: { volumes: { config: {} } } }, "spec.volumes"],
  "a list in place of a map": [{ spec: { securityContext: [] } }, "spec.securityContext"],
  "a map in place of a value": [{ spec: { priorityClassName: {} } }, "spec.priorityClassName"],
  "a member without its key": [{ spec: { containers: [{ image: "x" }] } }, "spec.containers[0]"],
  "a member that is no map": [web({ env: ["A=1"] }), "spec.containers[0].env[0]"],
  "an unknown directive": [
    { spec: { securityContext: { $patch: "remove" } } },
    "spec.securityContext.$patch",
  ],
  "a directive that only kubectl writes": [
    { spec: { "$setElementOrder/containers": [] } },
    "spec.$setElementOrder/containers",
  ],
  "$retainKeys that is no list": [
    { spec: { volumes: [{ name: "config", $retainKeys: "name" }] } },
    "spec.volumes[0].$retainKeys",
  ],
};

for (const [name, [patch, field]] of Object.entries(MISTAKES)) {
  Deno.test(`pod template: ${name} is reported`, () => {
    const result = strategicMerge(POD, patch);
    deepEqual(result.ok ? [] : result.mistakes.map((mistake) => mistake.field), [field]);
  });
}

Deno.test("pod template: a field called __proto__ is an ordinary field", () => {
  const patch = JSON.parse('{"metadata": {"labels": {"__proto__": {"app": "evil"}}}}');
  const result = strategicMerge(POD, patch);
  const labels = result.ok ? (result.value.metadata as typeof POD.metadata).labels : null;
  equal(Object.getPrototypeOf(labels), Object.prototype);
});
