/** Ids of routes, as people read them in metrics and logs: the translation makes those of docs/metrics.md. */
import assert from "node:assert/strict";
import { ROUTE_IDS } from "../../tools/route_ids.ts";
import { gatewayCaseNames, readGatewayCase, runGatewayCase } from "./gateway_case.ts";
import { caseNames, readCase, runCase } from "./translate_case.ts";

Deno.test("the documentation has the form of every id of a route", () => {
  const ids = new Set([
    ...caseNames().flatMap((name) => runCase(readCase(name)).snapshot.routes),
    ...gatewayCaseNames().flatMap((name) => runGatewayCase(readGatewayCase(name)).snapshot.routes),
  ].map(({ id }) => id));
  assert.ok(ids.size > 500);
  const used = new Set<string>();
  for (const id of ids) {
    const forms = ROUTE_IDS.filter(({ pattern }) => pattern.test(id));
    assert.deepEqual(forms.length, 1, id);
    used.add(forms[0].example);
  }
  assert.deepEqual(ROUTE_IDS.map(({ example }) => example).filter((form) => !used.has(form)), []);
  for (const { example, pattern } of ROUTE_IDS) assert.match(example, pattern);
});
