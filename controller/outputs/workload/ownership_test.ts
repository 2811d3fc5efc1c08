import { deepEqual, equal } from "node:assert/strict";
import { isOurs, takeoverPatch } from "./ownership.ts";

function object(...managedFields: readonly unknown[]) {
  return { metadata: { name: "a", resourceVersion: "7", managedFields } };
}

const entry = (manager: string, fieldsV1: unknown, operation = "Apply", subresource?: string) => ({
  manager,
  operation,
  apiVersion: "apps/v1",
  fieldsType: "FieldsV1",
  fieldsV1,
  ...(subresource === undefined ? {} : { subresource }),
});

Deno.test("nothing is taken over from a field manager that has applied nothing", () => {
  equal(takeoverPatch(object(), "old"), null);
  equal(takeoverPatch(object(entry("old", {}, "Update")), "old"), null);
  equal(takeoverPatch(object(entry("old", {}, "Apply", "status")), "old"), null);
});

Deno.test("fields applied by another field manager are taken over with ours, fenced by resourceVersion", () => {
  const status = entry("kube-controller-manager", { "f:status": {} }, "Update", "status");
  const patch = takeoverPatch(
    object(
      entry("pingress-controller", { "f:spec": { "f:a": {}, "f:b": {} } }),
      status,
      entry("old", { "f:spec": { "f:b": {}, "f:c": { ".": {} } } }),
    ),
    "old",
  );
  deepEqual(patch, [
    {
      op: "replace",
      path: "/metadata/managedFields",
      value: [
        entry("pingress-controller", {
          "f:spec": { "f:a": {}, "f:b": {}, "f:c": { ".": {} } },
        }),
        status,
      ],
    },
    { op: "replace", path: "/metadata/resourceVersion", value: "7" },
  ]);
});

Deno.test("a field is ours only if we applied it", () => {
  const fields = { "f:spec": { "f:replicas": {} } };
  const path = ["spec", "replicas"];
  equal(isOurs(object(entry("pingress-controller", fields)), path), true);
  equal(isOurs(object(entry("pingress-controller", {})), path), false);
  equal(isOurs(object(entry("pingress-controller", fields, "Update")), path), false);
  equal(isOurs(object(entry("somebody", fields)), path), false);
  equal(isOurs({ metadata: { name: "a" } }, path), false);
});
