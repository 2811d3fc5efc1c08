import assert from "node:assert/strict";
import { backendNameOf, serviceOf } from "./forward_action.ts";

Deno.test("an upstream is of a Service, of a host outside of the cluster, or stands for itself", () => {
  const cases: readonly [id: string, namespace: string, name: string][] = [
    ["default/web:80", "default", "web"],
    ["default/web:*+https", "default", "web"],
    ["default/login:443+https+auth", "default", "login"],
    ["default/web", "default", "web"],
    ["//login.example.com:443+https+auth", "", "login.example.com"],
    ["//login.example.com:443+https+global-auth", "", "login.example.com"],
    ["//[fd00::1]:8080+http+auth", "", "[fd00::1]"],
    ["backend", "", "backend"],
    ["/web:80", "", "/web:80"],
    ["default/", "", "default/"],
    ["//", "", "//"],
    ["", "", ""],
  ];
  for (const [id, namespace, name] of cases) {
    assert.deepEqual(backendNameOf(id), { namespace, name }, id);
    assert.deepEqual(serviceOf(id), namespace === "" ? null : { namespace, name }, id);
  }
});
