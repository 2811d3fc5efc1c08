import assert from "node:assert/strict";
import fields from "../dev/manifests/gateway_fields.json" with { type: "json" };
import { GATEWAY_VERSIONS } from "../dev/manifests/kinds.ts";
import { gatewayFields } from "./gateway_fields.ts";

const DEFINITION = {
  spec: {
    names: { kind: "ReferenceGrant" },
    versions: [{
      name: "v1",
      schema: {
        openAPIV3Schema: {
          properties: {
            metadata: { type: "object" },
            spec: {
              properties: {
                from: { items: { properties: { kind: { type: "string" } } } },
                to: { items: { properties: { kind: { type: "string" } } } },
                names: { items: { type: "string" } },
                ttl: { type: "integer" },
                labels: { additionalProperties: { type: "string" } },
                port: { "x-kubernetes-int-or-string": true },
              },
            },
          },
        },
      },
    }],
  },
};

Deno.test("fields of a CRD are read with their shapes, and equal ones are one type", () => {
  const { kinds, types } = gatewayFields([DEFINITION, { spec: { names: { kind: "Other" } } }]);
  assert.deepEqual(Object.values(kinds), ["ReferenceGrant", "ReferenceGrant"]);
  assert.deepEqual(types.ReferenceGrantSpec, {
    from: "ReferenceGrantSpecFrom[]",
    to: "ReferenceGrantSpecFrom[]",
    names: "list",
    ttl: "number",
    labels: "map",
    port: "number or string",
  });
  assert.deepEqual(types.ReferenceGrantSpecFrom, { kind: "string" });
  assert.equal(types.ReferenceGrant.metadata, "V1ObjectMeta");
});

Deno.test("the table has every kind of Gateway API that is read, in each of its versions", () => {
  const read = Object.entries(GATEWAY_VERSIONS)
    .flatMap(([kind, versions]) => versions.map((version) => `${version} ${kind}`));
  assert.deepEqual(Object.keys(fields.kinds).sort(), read.sort());
});
