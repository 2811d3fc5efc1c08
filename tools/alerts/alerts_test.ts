/** Alerts without Prometheus; tests/neighbours has what Prometheus makes of them. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { parse } from "yaml";
import { CONTROLLER_OPTIONS } from "../../controller/cli/options.ts";
import { CONTROLLER_METRICS } from "../../controller/metrics.ts";
import { PROXY_OPTIONS } from "../../proxy/cli/options.ts";
import { METRICS } from "../../proxy/telemetry/catalogue.ts";
import { flagName } from "../../shared/options.ts";
import { CHART } from "../chart/chart_files.ts";
import { anchorsOf } from "../markdown.ts";
import { alertFiles } from "./alert_files.ts";
import { ALERTS_PAGE, alertsPage } from "./alerts_page.ts";
import { ALERT_GROUPS, ALERTS } from "./groups.ts";
import { ruleGroups } from "./rule_file.ts";
import { Scope } from "./scope.ts";
import { reasons } from "./reasons.ts";
import { DEFAULT_THRESHOLDS, threshold, THRESHOLDS, withThresholds } from "./thresholds.ts";

/** Metrics and, with a colon, recorded series. */
const SELECTOR = /(?<![\w:])(namespace_host:)?((?:pingress|process)_\w+)(?::\w+)?(\{[^}]*\})?/g;

const ROOT = join(import.meta.dirname!, "../..");
const read = (path: string) => Deno.readTextFileSync(join(ROOT, path));

Deno.test("rule files and runbooks are made from the alerts", () => {
  for (const [path, text] of [...alertFiles(), [ALERTS_PAGE, alertsPage()]]) {
    assert.equal(read(path), text, `${path}: run deno task docs:update`);
  }
  const files = Array.from(Deno.readDirSync(join(ROOT, CHART, "files/alerts")), ({ name }) => name);
  assert.deepEqual(files.sort(), ALERT_GROUPS.map(({ name }) => `${name}.yaml`).sort());
});

Deno.test("every alert has its own name, and a runbook at the address that it shows", () => {
  const names = ALERTS.map(({ name }) => name);
  assert.deepEqual(names, [...new Set(names)]);
  const anchors = anchorsOf(read(ALERTS_PAGE));
  const { groups } = parse(
    JSON.stringify(ruleGroups(ALERT_GROUPS, { thresholds: DEFAULT_THRESHOLDS })),
  );
  for (const { rules } of groups) {
    for (const { annotations } of rules) {
      if (annotations === undefined) continue;
      const [address, anchor] = annotations.runbook_url.split("#");
      assert.ok(address.endsWith(ALERTS_PAGE), address);
      assert.ok(anchors.has(anchor), anchor);
    }
  }
});

Deno.test("runbooks name metrics and flags that exist", () => {
  const page = read(ALERTS_PAGE);
  const metrics = Object.keys({ ...METRICS, ...CONTROLLER_METRICS });
  // Colons are of recorded series.
  const named = page.match(/(?<![\w:])pingress_\w+(?![\w:])/g)!
    .map((name) => name.replace(/_(bucket|count|sum)$/, ""));
  assert.deepEqual(named.filter((name) => !metrics.includes(name)), []);
  // The one of Helm.
  const flags = [...Object.keys({ ...PROXY_OPTIONS, ...CONTROLLER_OPTIONS }).map(flagName), "set"];
  const written = Array.from(page.matchAll(/`--([a-z-]+)`/g), ([, flag]) => flag);
  assert.ok(named.length > 30 && written.length > 3);
  assert.deepEqual(written.filter((flag) => !flags.includes(flag)), []);
});

Deno.test("every threshold is that of an alert, and every name in a rule is that of a threshold", () => {
  const chart = alertFiles().filter(([path]) => path.startsWith(CHART)).map(([, text]) =>
    text.replace(/^#.*$/gm, "")
  ).join("");
  for (const name of Object.keys(THRESHOLDS)) {
    assert.ok(chart.includes(threshold(name as keyof typeof THRESHOLDS)), name);
  }
  assert.doesNotMatch(withThresholds(chart, DEFAULT_THRESHOLDS), /\$\{(?!namespace\})/);
});

/** Whose label `namespace` is that of a route or Service, so that the one of the target is lost. */
const OF_ROUTES = /^pingress_(requests|upstream_duration)_/;

Deno.test("rules of an installation read metrics of its own targets only", () => {
  const { groups } = ruleGroups(ALERT_GROUPS, {
    thresholds: DEFAULT_THRESHOLDS,
    scope: new Scope("edge-1"),
  }) as { groups: { rules: { expr: string; labels: Record<string, string> }[] }[] };
  for (const { expr, labels } of groups.flatMap(({ rules }) => rules)) {
    assert.equal(labels.installation, "edge-1");
    let ofRoutes = 0;
    for (const [, record, name, matchers = ""] of expr.matchAll(SELECTOR)) {
      if (OF_ROUTES.test(name) && record === undefined) ofRoutes++;
      else {
        const label = record === undefined ? "namespace" : "installation";
        assert.match(matchers, new RegExp(`\\b${label}="edge-1"`), `${name} in ${expr}`);
      }
    }
    assert.equal(
      expr.split(" and on (job, instance) max_over_time(pingress_workers").length - 1,
      ofRoutes,
    );
  }
});

Deno.test("defaults of thresholds are within their bounds", () => {
  for (const [name, spec] of Object.entries(THRESHOLDS)) {
    const { default: value, minimum } = spec;
    const maximum = "maximum" in spec ? spec.maximum : Infinity;
    assert.ok(value >= minimum && value <= maximum, name);
  }
});

Deno.test("an unknown reason of a problem is refused", () => {
  assert.throws(
    () => reasons("KeysTooLarge", "KeyTooLarge"),
    /no reasons of problems: KeyTooLarge/,
  );
});

Deno.test("a hold given by the caller replaces that of each alert", () => {
  const options = { thresholds: DEFAULT_THRESHOLDS, hold: "2s" };
  const { groups } = parse(JSON.stringify(ruleGroups(ALERT_GROUPS, options)));
  const holds = groups.flatMap(({ rules }: { rules: { for?: string; alert?: string }[] }) =>
    rules.filter(({ alert }) => alert !== undefined).map(({ for: hold }) => hold)
  );
  assert.deepEqual(new Set(holds), new Set(["2s"]));
});
