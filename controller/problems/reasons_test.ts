import assert from "node:assert/strict";
import { caseNames, readCase, runCase } from "../../tests/golden/translate_case.ts";
import { PROBLEM_REASONS } from "./reasons.ts";

/**
 * Other words in the controller's code that look like a reason. One that fails the test below is
 * either a new reason, and belongs into `reasons.ts`, or belongs here.
 */
const OTHER_WORDS = new Set([
  ...["ConfigMap", "DaemonSet", "EndpointSlice", "HorizontalPodAutoscaler", "IngressClass"],
  ...["ServiceAccount", "NodePorts"],
  ...["PodDisruptionBudget", "HostPort", "LoadBalancer", "NodePort", "ClusterIP", "ExternalName"],
  ...["ImplementationSpecific", "ExternalIP", "InternalIP", "RollingUpdate", "RuntimeDefault"],
  ...["PreferDualStack", "ScheduleAnyway", "AlwaysAllow", "FallbackToLogsOnError", "PodTemplate"],
  ...["StringPrefix", "CapturingGroup", "CharacterClass", "CharacterClassRange", "CharacterSet"],
  ...["BackendTLSPolicy", "ListenerSet", "ReferenceGrant"],
  ...["PodSecurity", "PodScheduled", "ReplicaFailure", "CrashLoopBackOff"],
]);

/** Folders whose words are those of the API: reasons of errors, and of conditions of Gateway API. */
const OTHER_FOLDERS = new Set(["addresses", "gateway", "gateway_status", "kube"]);

/** The controller's code but for those. */
function* sources(folder: URL): Generator<string> {
  for (const { name, isDirectory } of Deno.readDirSync(folder)) {
    if (isDirectory) {
      if (!OTHER_FOLDERS.has(name)) yield* sources(new URL(`${name}/`, folder));
    } else if (name.endsWith(".ts") && !/_test\.ts$|^reasons\.ts$/.test(name)) {
      yield Deno.readTextFileSync(new URL(name, folder));
    }
  }
}

const CODE = [...sources(new URL("../", import.meta.url))].join("\n");

Deno.test("the catalogue of problems has every reason in the code, and no other", () => {
  const words = new Set(CODE.match(/(?<=")[A-Z][a-z]+(?:[A-Z][A-Za-z]*)(?=")/g));
  const listed = PROBLEM_REASONS.map(({ reason }) => reason);
  const unlisted = [...words].filter((word) => !listed.includes(word) && !OTHER_WORDS.has(word));
  assert.deepEqual(unlisted.sort(), [], "not in reasons.ts");
  const unused = listed.filter((reason) => !CODE.includes(`"${reason}"`));
  assert.deepEqual(unused, [], "in reasons.ts, but nowhere else");
  assert.equal(new Set(listed).size, listed.length, "one stands there twice");
});

Deno.test("problems in golden cases have the kinds and severities of the catalogue", () => {
  const byReason = new Map(PROBLEM_REASONS.map((one) => [one.reason, one]));
  const seen = new Set<string>();
  for (const name of caseNames()) {
    for (const { object, reason, severity } of runCase(readCase(name)).problems) {
      const listed = byReason.get(reason);
      assert.ok(listed !== undefined, `${name}: ${reason}`);
      assert.ok(listed.severities.includes(severity), `${name}: ${severity} ${reason}`);
      assert.ok(object !== null && listed.kinds.includes(object.kind), `${name}: ${reason}`);
      seen.add(reason);
    }
  }
  assert.ok(seen.size > 40, String(seen.size));
});
