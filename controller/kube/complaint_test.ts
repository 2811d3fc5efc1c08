import assert from "node:assert/strict";
import { complaintAbout } from "./complaint.ts";
import { INGRESSES, SECRETS } from "./types.ts";

function remedyFor(code: number, reason = "Any", namespace: string | null = null): string {
  const error = { code, reason, message: "what was said", retryAfter: null };
  const complaint = complaintAbout(INGRESSES, namespace, error);
  assert.equal(complaint.reason, "what was said");
  return complaint.remedy;
}

Deno.test("a forbidden watch is reported with the missing RBAC rule and its place", () => {
  assert.match(
    remedyFor(403),
    /the verbs list and watch on ingresses\.networking\.k8s\.io, in a ClusterR/,
  );
  assert.match(remedyFor(403, "Forbidden", "shop"), /in a Role in namespace shop/);
  const error = { code: 403, reason: "Forbidden", message: "", retryAfter: null };
  assert.match(complaintAbout(SECRETS, null, error).remedy, /watch on secrets, in/);
});

Deno.test("each kind of failure has its own remedy", () => {
  const remedies = [
    remedyFor(0, "Unreachable"),
    remedyFor(0, "Failed"),
    ...[401, 403, 404, 410, 429, 500].map((code) => remedyFor(code)),
  ];
  assert.equal(new Set(remedies).size, remedies.length);
});
