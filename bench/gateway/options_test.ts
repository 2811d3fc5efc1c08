import assert from "node:assert/strict";
import { parseGatewayBenchOptions } from "./options.ts";

Deno.test("single routes are added to at least those that were attached", () => {
  const parsed = parseGatewayBenchOptions(["--attached=50", "--routes=10"]);
  assert.ok(parsed.kind === "ok");
  assert.deepEqual([parsed.options.attached, parsed.options.routes], [50, 50]);
});

Deno.test("--quick overrides the sizes of routes", () => {
  const parsed = parseGatewayBenchOptions(["--quick", "--routes=9000"]);
  assert.ok(parsed.kind === "ok");
  assert.equal(parsed.options.routes, 100);
});
