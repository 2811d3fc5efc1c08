import assert from "node:assert/strict";
import type { Round } from "../report.ts";
import { costTable, type RouteRounds, shares } from "./costs.ts";
import { COST_ROUTES } from "./routes.ts";

const round = (user: number): Round => ({
  ...{ user, system: 10, perSecond: 1000, p50: 1, p99: 2, p999: 3 },
  ...{ memory: 0, heldBytes: null, restCpu: null, errors: 0 },
});

Deno.test("starts share the rounds", () => {
  assert.deepEqual(shares(15, 3), [5, 5, 5]);
  assert.deepEqual(shares(2, 1), [2]);
  assert.deepEqual(shares(2, 3), [1, 1]);
  assert.deepEqual(shares(8, 3), [2, 3, 3]);
});

Deno.test("a route is compared with the plain one of the same round, and with its target", () => {
  // The second block is of a machine that was slower by half.
  const rounds = (cost: number): RouteRounds["blocks"] => [
    [round(cost - 10), round(cost - 10)],
    [round(1.5 * cost - 10), round(1.5 * cost - 10)],
  ];
  const costs: Readonly<Record<string, number>> = { "lists": 106, "rewrite": 110 };
  const all = COST_ROUTES.map(({ name }) => {
    return { name, blocks: rounds(costs[name] ?? 100), plain: rounds(100) };
  });
  const [, ...rows] = costTable(all);
  const byName = new Map(rows.map(([name, ...cells]) => [name, cells.slice(3)]));
  assert.deepEqual(byName.get("plain"), ["", "", "", ""]);
  assert.deepEqual(byName.get("lists"), ["1.060", "1.060–1.060", "≤ 1.08", "met"]);
  assert.deepEqual(byName.get("rewrite"), ["1.100", "1.100–1.100", "≤ 1.05", "MISSED"]);
  assert.deepEqual(byName.get("plain-again"), ["1.000", "1.000–1.000", "", ""]);
});
