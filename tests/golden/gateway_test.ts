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

Deno.test("every golden output of Gateway API has its input", () => {
  assert.deepEqual(gatewayOutputNames(), gatewayCaseNames(), REMEDY);
});
