import { deepEqual, equal, match, ok, throws } from "node:assert/strict";
import { parse } from "yaml";
import { SUPPORTED_FEATURES } from "../controller/outputs/gateway_status/features.ts";
import { VERSION } from "../shared/version.ts";
import { SHORT_FORM } from "../tests/conformance/options.ts";
import { GATEWAY_PAGE, gatewayPage } from "./gateway_page.ts";

const PAGE = Deno.readTextFileSync(GATEWAY_PAGE);

interface Part {
  readonly result: string;
  readonly statistics: Readonly<Record<"Failed" | "Passed" | "Skipped", number>>;
}

interface Report {
  readonly profiles: readonly {
    readonly core: Part;
    readonly extended: Part & { readonly supportedFeatures: readonly string[] };
  }[];
}

const REPORT: Report = parse(
  Deno.readTextFileSync(`docs/conformance/experimental-${VERSION}-default-report.yaml`),
);

Deno.test("docs/gateway.md has each feature that GatewayClasses show", () => {
  equal(PAGE, gatewayPage(PAGE), "deno task docs:update writes it again");
});

Deno.test("docs/gateway.md names the conformance cases of CI", () => {
  for (const name of SHORT_FORM) match(PAGE, new RegExp(`\`${name}\``));
});

Deno.test("docs/gateway.md has the numbers of the conformance report, which has no failure", () => {
  const [{ core, extended }] = REPORT.profiles;
  for (const { result, statistics } of [core, extended]) {
    deepEqual([result, statistics.Failed, statistics.Skipped], ["success", 0, 0]);
  }
  const { Passed } = extended.statistics;
  match(PAGE, new RegExp(`all ${core.statistics.Passed}\\s+core tests and ${Passed} extended`));
  for (const name of extended.supportedFeatures) ok(SUPPORTED_FEATURES.includes(name), name);
});

Deno.test("a page without a place for features is a mistake", () => {
  throws(() => gatewayPage("# Gateway API\n"), /no place for features/);
});
