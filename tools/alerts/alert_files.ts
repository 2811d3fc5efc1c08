/**
 * The files that are made from the alerts. In: nothing. Out: each path relative to the repository, with
 * its text: rules for the chart, for Kustomize with the operator, and for a Prometheus without it.
 */
import { CHART } from "../chart/chart_files.ts";
import { ALERT_GROUPS } from "./groups.ts";
import { prometheusRules, ruleFile } from "./rule_file.ts";
import { DEFAULT_THRESHOLDS } from "./thresholds.ts";

export const MONITORING = "overlays/monitoring";

const MADE = "# Made from tools/alerts by deno task docs:update; do not edit.";
const DEFAULTS = { thresholds: DEFAULT_THRESHOLDS };

export function alertFiles(): readonly (readonly [path: string, text: string])[] {
  return [
    ...ALERT_GROUPS.flatMap((group) =>
      [
        [
          `${CHART}/files/alerts/${group.name}.yaml`,
          `${MADE}\n# templates/rules.yaml replaces \${…} by prometheusRule.thresholds.\n` +
          ruleFile([group], { thresholds: null }),
        ],
        [`${MONITORING}/rules/${group.name}.yaml`, `${MADE}\n${ruleFile([group], DEFAULTS)}`],
      ] as const
    ),
    [
      `${MONITORING}/prometheus-rules.yaml`,
      `${MADE}\n${prometheusRules(ALERT_GROUPS, DEFAULTS)}`,
    ],
  ];
}
