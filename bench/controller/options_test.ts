import assert from "node:assert/strict";
import { parseControllerBenchOptions } from "./options.ts";

Deno.test("without flags, the cluster has the sizes of the targets", () => {
  const parsed = parseControllerBenchOptions([]);
  assert.equal(parsed.kind, "ok");
  assert.ok(parsed.kind === "ok");
  const { ingresses, namespaces, services, endpoints, certificates } = parsed.options;
  assert.deepEqual(
    [ingresses, namespaces, services, endpoints, certificates],
    [10_000, 500, 2000, 20_000, 1000],
  );
});

Deno.test("--quick overrides sizes", () => {
  const parsed = parseControllerBenchOptions(["--quick", "--ingresses=9000"]);
  assert.ok(parsed.kind === "ok");
  assert.equal(parsed.options.ingresses, 500);
});

Deno.test("each namespace gets a Service and a Secret", () => {
  const parsed = parseControllerBenchOptions(["--services=10", "--certificates=7"]);
  assert.ok(parsed.kind === "ok");
  assert.equal(parsed.options.namespaces, 7);
});

Deno.test("an unknown flag for the controller is rejected", () => {
  const parsed = parseControllerBenchOptions(["--controller-arg=secrets"]);
  assert.equal(parsed.kind, "error");
});
