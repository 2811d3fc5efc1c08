import { equal, match, throws } from "node:assert/strict";
import { SHORT_FORM } from "../tests/conformance/options.ts";
import { GATEWAY_PAGE, gatewayPage } from "./gateway_page.ts";

const PAGE = Deno.readTextFileSync(GATEWAY_PAGE);

Deno.test("docs/gateway.md has each feature that GatewayClasses show", () => {
  equal(PAGE, gatewayPage(PAGE), "deno task docs:update writes it again");
});

Deno.test("docs/gateway.md names the conformance cases of CI", () => {
  for (const name of SHORT_FORM) match(PAGE, new RegExp(`\`${name}\``));
});

Deno.test("a page without a place for features is a mistake", () => {
  throws(() => gatewayPage("# Gateway API\n"), /no place for features/);
});
