import assert from "node:assert/strict";
import { KNOWN_FIELDS, knownFields, knownFieldsText } from "./known_fields.ts";

Deno.test("dev knows the fields of the installed Kubernetes models", () => {
  const table = Deno.readTextFileSync(new URL(`../${KNOWN_FIELDS}`, import.meta.url));
  assert.equal(table, knownFieldsText(), "run deno task docs:update");
});

const LEAVES = new Set(["", "boolean", "list", "map", "number", "number or string", "string"]);

Deno.test("every referenced type has fields", () => {
  const { kinds, types } = knownFields();
  assert.equal(kinds["networking.k8s.io/v1 Ingress"], "V1Ingress");
  assert.equal(types.V1Ingress.metadata, "V1ObjectMeta");
  assert.equal(types.V1IngressSpec.rules, "V1IngressRule[]");
  assert.equal(types.V1ObjectMeta.annotations, "map");
  for (const [type, fields] of Object.entries(types)) {
    assert.notDeepEqual(Object.keys(fields), [], type);
    for (const [field, shape] of Object.entries(fields)) {
      const known = LEAVES.has(shape) || types[shape.replace("[]", "")] !== undefined;
      assert.ok(known, `${type}.${field} is ${shape}`);
    }
  }
});
