import assert from "node:assert/strict";
import { complaintOf, Kubectl, Refusal } from "./kubectl.ts";

Deno.test("kubectl's error is shown once, without its log", () => {
  const said = "E0101 00:00:00.000000 1 memcache.go:265] x\nforbidden\nforbidden\n";
  assert.equal(complaintOf(said), "forbidden");
});

for (
  const said of [
    "The connection to the server localhost:8080 was refused - did you specify the right host?",
    "Error in configuration: context was not found for specified context: nope",
    "error: no configuration has been provided",
  ]
) {
  Deno.test(`without a cluster the error says how to select one: ${said}`, () => {
    const [first, second] = complaintOf(said).split("\n");
    assert.equal(first, said);
    assert.match(second, /--kubeconfig or --context/);
  });
}

Deno.test("kubectl without a kubeconfig, or without a context, knows no cluster", async () => {
  for (
    const choice of [
      { kubeconfig: "/dev/null", context: undefined },
      { kubeconfig: "/dev/null", context: "nope" },
    ]
  ) {
    const refusal = await new Kubectl(choice).cluster().catch((error) => error);
    assert.ok(refusal instanceof Refusal, String(refusal));
    if (refusal.message.includes("not installed")) {
      console.log("skipped: kubectl without a cluster: kubectl is not installed");
      return;
    }
    const lines = refusal.message.split("\n");
    assert.equal(lines[0], "kubectl knows no cluster.");
    assert.match(lines.at(-1)!, /--kubeconfig or --context/);
  }
});
