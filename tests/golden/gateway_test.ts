/** The golden files of Gateway API; see `gateway_case.ts` for their form. */
import assert from "node:assert/strict";
import {
  formatGatewayCase,
  gatewayCaseNames,
  gatewayOutputFile,
  gatewayOutputNames,
  readGatewayCase,
  runGatewayCase,
} from "./gateway_case.ts";

const REMEDY = "deno task golden:update writes the files anew";

for (const name of gatewayCaseNames()) {
  Deno.test(`Gateway API: ${name.replaceAll("-", " ")}`, () => {
    const objects = readGatewayCase(name);
    const text = formatGatewayCase(runGatewayCase(objects));
    assert.equal(text, Deno.readTextFileSync(gatewayOutputFile(name)), REMEDY);
    const reversed = formatGatewayCase(runGatewayCase(objects.toReversed()));
    assert.equal(reversed, text, "the order of objects changes the result");
  });
}

Deno.test("docs/gateway-status.md explains every reason of a condition in golden files", () => {
  const [, section] = Deno.readTextFileSync(
    new URL("../../docs/gateway-status.md", import.meta.url),
  ).match(/^## Reasons$([^]+?)^## /m)!;
  const reasons = new Set(
    gatewayCaseNames().flatMap((name) => {
      const { classes, gateways, routes, listenerSets } = runGatewayCase(readGatewayCase(name))
        .gateway!;
      return [
        ...[...classes, ...gateways, ...listenerSets].flatMap(({ conditions }) => conditions),
        ...gateways.flatMap(({ listeners }) => listeners.flatMap(({ conditions }) => conditions)),
        ...routes.flatMap(({ parents }) => parents.flatMap(({ conditions }) => conditions)),
      ].filter(({ type, status, reason }) =>
        type !== "Conflicted" && (status !== "True" || reason !== type)
      )
        .map(({ reason }) => reason);
    }),
  );
  assert.deepEqual([...reasons].filter((reason) => !section.includes(`\`${reason}\``)), []);
  assert.ok(reasons.size > 15, `${reasons.size} reasons`);
});

Deno.test("every golden output of Gateway API has its input", () => {
  assert.deepEqual(gatewayOutputNames(), gatewayCaseNames(), REMEDY);
});
