/** The rules of alerts, by Prometheus' own promtool: their syntax, and when each fires. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { parse, stringify } from "yaml";
import { CONTROLLER_METRICS } from "../../controller/metrics.ts";
import { METRICS } from "../../proxy/telemetry/catalogue.ts";
import { alertFiles, MONITORING } from "../../tools/alerts/alert_files.ts";
import { ALERT_GROUPS, ALERTS } from "../../tools/alerts/groups.ts";
import { ruleGroups } from "../../tools/alerts/rule_file.ts";
import { EVERYWHERE, Scope } from "../../tools/alerts/scope.ts";
import { DEFAULT_THRESHOLDS } from "../../tools/alerts/thresholds.ts";
import { isInstalled, run, type Said } from "../peers/debian_program.ts";
import { ALERT_CASES, type AlertCase } from "./alert_cases.ts";
import { OTHER, OTHER_NAMESPACE, OWN_NAMESPACE } from "./alert_series.ts";

const NAMES = Object.keys({ ...METRICS, ...CONTROLLER_METRICS });
const SEVERITY = new Map(ALERTS.map(({ name, severity }) => [name, severity]));

/** `promtool COMMAND` on files that are passed to it, beside others; null where it is missing: then `test` is skipped. */
async function promtool(
  test: string,
  command: readonly string[],
  files: Readonly<Record<string, string>>,
  passed: readonly string[],
): Promise<Said | null> {
  if (!await isInstalled(test, "promtool", "prometheus")) return null;
  const folder = await Deno.makeTempDir({ prefix: "promtool-" });
  try {
    for (const [name, text] of Object.entries(files)) {
      await Deno.writeTextFile(join(folder, name), text);
    }
    return await run("promtool", [...command, ...passed.map((name) => join(folder, name))]);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/**
 * The rules of these alerts, and what they read, without annotations, which promtool would compare word by
 * word. Others would only take time: promtool looks at the alert of a case.
 */
function rulesWithoutAnnotations(names: ReadonlySet<string>, scope: Scope): string {
  const chosen = ALERT_GROUPS.map((group) => ({
    ...group,
    alerts: group.alerts.filter(({ name }) => names.has(name)),
  })).filter(({ alerts }) => alerts.length > 0);
  const groups = parse(
    JSON.stringify(ruleGroups(chosen, { thresholds: DEFAULT_THRESHOLDS, scope })),
  );
  for (const { rules } of groups.groups) for (const rule of rules) delete rule.annotations;
  return stringify(groups);
}

function unitTest({ alert, what, series, at, fires }: AlertCase): unknown {
  return {
    name: `${alert}: ${what}`,
    interval: "1m",
    input_series: Object.entries(series).map(([series, values]) => ({ series, values })),
    alert_rule_test: [{
      eval_time: at,
      alertname: alert,
      exp_alerts: fires.map((labels) => ({
        exp_labels: { ...labels, severity: SEVERITY.get(alert) },
      })),
    }],
  };
}

Deno.test("every alert has series for which it fires, and some for which it is silent", () => {
  for (const { name } of ALERTS) {
    const cases = ALERT_CASES.filter(({ alert }) => alert === name);
    assert.ok(cases.some(({ fires }) => fires.length > 0), `${name} never fires`);
    assert.ok(cases.some(({ fires }) => fires.length === 0), `${name} is never silent`);
  }
  assert.deepEqual(ALERT_CASES.filter(({ alert }) => !SEVERITY.has(alert)), []);
});

Deno.test("the cases of alerts have series that the metrics have", () => {
  const names = new Set(
    ALERT_CASES.flatMap(({ series }) => Object.keys(series))
      .map((series) => series.replace(/(_bucket|_count)?\{.*$/, "")),
  );
  assert.deepEqual([...names].filter((name) => !NAMES.includes(name)), []);
});

Deno.test("promtool accepts the rule files", async () => {
  const files = Object.fromEntries(
    alertFiles().filter(([path]) => path.startsWith(`${MONITORING}/rules/`))
      .map(([path, text]) => [path.split("/").at(-1)!, text]),
  );
  const said = await promtool(
    "promtool check",
    ["check", "rules"],
    files,
    Object.keys(files),
  );
  if (said === null) return;
  assert.equal(said.code, 0, said.stderr);
  const found = [...said.stdout.matchAll(/SUCCESS: (\d+) rules found/g)].map(([, count]) => +count);
  const rules = ALERT_GROUPS.flatMap(({ alerts, recordings = [] }) => [...alerts, ...recordings]);
  assert.equal(found.reduce((sum, count) => sum + count, 0), rules.length);
});

/** Some at a time: promtool has a minute for each. */
async function succeed(
  scopes: readonly Scope[],
  cases: readonly AlertCase[],
): Promise<void> {
  const size = 8;
  for (let from = 0; from < cases.length; from += size) {
    const chosen = cases.slice(from, from + size);
    const names = new Set(chosen.map(({ alert }) => alert));
    const rules = Object.fromEntries(
      scopes.map((scope, i) => [`rules-${i}.yaml`, rulesWithoutAnnotations(names, scope)]),
    );
    const tests = stringify({
      rule_files: Object.keys(rules),
      evaluation_interval: "1m",
      tests: chosen.map(unitTest),
    });
    const files = { ...rules, "tests.yaml": tests };
    const said = await promtool("promtool test", ["test", "rules"], files, ["tests.yaml"]);
    if (said === null) return;
    assert.equal(said.code, 0, said.stdout + said.stderr);
  }
}

/** As the rules of the installation see it, beside another one. */
function besideOther({ series, fires, ...rest }: AlertCase): AlertCase {
  return {
    ...rest,
    series: { ...series, ...OTHER },
    // `absent` has the labels that its selector asks for.
    fires: fires.map((labels) => ({
      ...(Object.keys(labels).length === 0 ? { namespace: OWN_NAMESPACE } : labels),
      installation: OWN_NAMESPACE,
    })),
  };
}

Deno.test("of two installations, each with its rules, only the alerts of the broken one fire", async () => {
  const cases = ALERT_CASES.filter(({ fires }) => fires.length > 0).map(besideOther);
  await succeed([OWN_NAMESPACE, OTHER_NAMESPACE].map((name) => new Scope(name)), cases);
});

Deno.test("each alert fires for its series, and for no others", async () => {
  await succeed([EVERYWHERE], ALERT_CASES);
});
