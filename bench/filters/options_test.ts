import assert from "node:assert/strict";
import { parseFilterBenchOptions } from "./options.ts";

Deno.test("without flags, costs and floods are measured in fifteen rounds", () => {
  const parsed = parseFilterBenchOptions([]);
  assert.ok(parsed.kind === "ok");
  const { parts, rounds, starts, seconds, floodSeconds } = parsed.options;
  assert.deepEqual([...parts], ["costs", "floods"]);
  assert.deepEqual([rounds, starts, seconds, floodSeconds], [15, 3, 3, 6]);
});

Deno.test("--quick overrides rounds and durations", () => {
  const parsed = parseFilterBenchOptions(["--quick", "--rounds=9", "--duration=5s"]);
  assert.ok(parsed.kind === "ok");
  const { rounds, starts, seconds, floodSeconds } = parsed.options;
  assert.deepEqual([rounds, starts, seconds, floodSeconds], [2, 1, 1, 1]);
});

Deno.test("one part can be measured by itself, and unknown parts are rejected", () => {
  const parsed = parseFilterBenchOptions(["floods"]);
  assert.ok(parsed.kind === "ok");
  assert.deepEqual([...parsed.options.parts], ["floods"]);
  const unknown = parseFilterBenchOptions(["cost"]);
  assert.equal(unknown.kind, "error");
});

Deno.test("the costs of single routes can be measured, beside the plain one", () => {
  const parsed = parseFilterBenchOptions([
    "costs",
    "--together",
    "--route=lists",
    "--route=rewrite",
  ]);
  assert.ok(parsed.kind === "ok");
  assert.equal(parsed.options.together, true);
  assert.deepEqual(parsed.options.routes.map(({ name }) => name), ["plain", "lists", "rewrite"]);
  assert.equal(parseFilterBenchOptions(["--route=list"]).kind, "error");
});
