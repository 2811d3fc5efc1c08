import { equal, match } from "node:assert/strict";
import { refusalProblem } from "./refusal.ts";

const REF = { kind: "DaemonSet", namespace: "pingress-system", name: "proxy" } as const;

function problemOf(code: number, message: string) {
  return refusalProblem(REF, { code, reason: "", message, retryAfter: null });
}

const PASSING: readonly (readonly [number, string])[] = [
  [0, "connect ECONNREFUSED"],
  [409, "the object has been modified"],
  [429, "too many requests"],
  [500, "etcdserver: request timed out"],
  [503, "apiserver is shutting down"],
];

for (const [code, message] of PASSING) {
  Deno.test(`a temporary error of the API server is not a problem: ${code} ${message}`, () => {
    equal(problemOf(code, message), null);
  });
}

const LASTING: readonly (readonly [number, string, string])[] = [
  [422, "spec.template.spec.containers[0].image: Required value", "InvalidWorkload"],
  [422, "spec.selector: Invalid value: {}: field is immutable", "ImmutableField"],
  [422, "spec.loadBalancerClass: Invalid value: may not change once set", "ImmutableField"],
  [
    500,
    "failed to create typed patch object: .spec.x: field not declared in schema",
    "InvalidWorkload",
  ],
  [403, 'daemonsets.apps "p" is forbidden: exceeded quota: none', "QuotaExceeded"],
  [403, 'admission webhook "policy.example.com" denied the request: no', "AdmissionRejected"],
  [
    422,
    "daemonsets.apps \"p\" is forbidden: ValidatingAdmissionPolicy 'a' with binding 'a' denied request: no",
    "AdmissionRejected",
  ],
  [403, 'User "x" cannot patch resource "daemonsets"', "NotPermitted"],
  [404, 'namespaces "pingress-system" not found', "NamespaceNotFound"],
  [
    403,
    "forbidden: unable to create new content in namespace x because it is being terminated",
    "NamespaceTerminating",
  ],
  [404, "the server could not find the requested resource", "ApiMissing"],
  [500, 'Internal error occurred: failed calling webhook "x": timeout', "AdmissionUnavailable"],
];

for (const [code, message, reason] of LASTING) {
  Deno.test(`a lasting rejection is a problem: ${code} ${message}`, () => {
    equal(problemOf(code, message)?.reason, reason);
  });
}

Deno.test("the API server's message is truncated and stays on one line", () => {
  const message = problemOf(422, `a\n\tb\u0007${"c".repeat(5000)}`)?.message ?? "";
  match(message, /: a b c+…$/);
  equal(message.length < 700, true);
});
