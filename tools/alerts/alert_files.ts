/**
 * The files that are made from the alerts. In: nothing. Out: each path relative to the repository, with
 * its text: rules for the chart and for Kustomize with the operator, both of one installation, and for a
 * Prometheus without it, of all.
 */
import { CHART } from "../chart/chart_files.ts";
import { ALERT_GROUPS } from "./groups.ts";
import { prometheusRules, ruleFile } from "./rule_file.ts";
import { Scope } from "./scope.ts";
import { DEFAULT_THRESHOLDS } from "./thresholds.ts";

export const MONITORING = "overlays/monitoring";

const MADE = "# Made from tools/alerts by deno task docs:update; do not edit.";
/** The chart's template knows the namespace. */
const OF_RELEASE = new Scope("${namespace}");
const DEFAULTS = { thresholds: DEFAULT_THRESHOLDS };

export function alertFiles(): readonly (readonly [path: string, text: string])[] {
  return [
    ...ALERT_GROUPS.flatMap((group) =>
      [
        [
          `${CHART}/files/alerts/${group.name}.yaml`,
          `${MADE}\n# templates/rules.yaml replaces \${…} by prometheusRule.thresholds and the namespace.\n` +
          ruleFile([group], { thresholds: null, scope: OF_RELEASE }),
        ],
        [`${MONITORING}/rules/${group.name}.yaml`, `${MADE}\n${ruleFile([group], DEFAULTS)}`],
      ] as const
    ),
    [
      `${MONITORING}/prometheus-rules.yaml`,
      `${MADE}\n${prometheusRules(ALERT_GROUPS, "pingress-system", DEFAULTS)}`,
    ],
  ];
}
