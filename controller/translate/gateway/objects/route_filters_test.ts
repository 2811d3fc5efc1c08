import { deepEqual } from "node:assert/strict";
import { readRuleFilters } from "./route_filters.ts";

Deno.test("of header names that differ in case alone, the first is set or added", () => {
  const line = (name: string, value: string) => ({ name, value });
  const cases = [
    {
      set: [line("X-Role", "reader"), line("x-role", "admin"), line("X-Team", "a")],
      expected: { set: [line("x-role", "reader"), line("x-team", "a")] },
    },
    {
      add: [line("x-role", "reader"), line("X-ROLE", "admin")],
      expected: { add: [line("x-role", "reader")] },
    },
    {
      set: [line("x-role", "reader")],
      add: [line("X-Role", "writer")],
      expected: { set: [line("x-role", "reader")], add: [line("x-role", "writer")] },
    },
  ];
  for (const { expected, ...requestHeaderModifier } of cases) {
    const filter = { type: "RequestHeaderModifier", requestHeaderModifier };
    deepEqual(readRuleFilters([filter], "spec.rules[0].filters"), {
      ok: true,
      value: { filters: [{ kind: "request-headers", ...expected }], redirect: null },
    });
  }
});
