/**
 * Files of rules for Prometheus. In: a group of alerts, and thresholds or the chart's placeholders for
 * them. Out: the text of a rule file; of PrometheusRules of the operator.
 */
import { stringify } from "yaml";
import { sourceUrl } from "../release/repository.ts";
import { VERSION } from "../../shared/version.ts";
import type { Alert, AlertGroup } from "./alert.ts";
import { EVERYWHERE, Scope } from "./scope.ts";
import { type ThresholdValues, withThresholds } from "./thresholds.ts";

export interface RuleOptions {
  /** Null: names stay, which the chart's template replaces by its values. */
  readonly thresholds: ThresholdValues | null;
  /** Whose metrics they read; default: all that there are. */
  readonly scope?: Scope;
  /** How long all expressions must hold, in place of what each has; for tests. */
  readonly hold?: string;
}

/** `groups:` as a rule file has it, and `spec` of a PrometheusRule. */
export function ruleGroups(
  groups: readonly AlertGroup[],
  { thresholds, scope = EVERYWHERE, hold }: RuleOptions,
): { readonly groups: readonly unknown[] } {
  const filled = (text: string) => thresholds === null ? text : withThresholds(text, thresholds);
  return {
    groups: groups.map(({ name, recordings = [], alerts }) => ({
      name: `pingress-${name}`,
      rules: [
        ...recordings.map(({ record, expression }) => ({
          record,
          expr: filled(expression(scope)),
          ...(Object.keys(scope.labels).length > 0 ? { labels: scope.labels } : {}),
        })),
        ...alerts.map((alert) => ({
          alert: alert.name,
          expr: filled(alert.expression(scope)),
          for: hold ?? alert.hold,
          labels: { severity: alert.severity, ...scope.labels },
          annotations: {
            summary: filled(alert.summary),
            description: filled(alert.description),
            runbook_url: runbookUrl(alert),
          },
        })),
      ],
    })),
  };
}

/** A rule file. */
export function ruleFile(groups: readonly AlertGroup[], options: RuleOptions): string {
  return yaml(ruleGroups(groups, options));
}

/** A PrometheusRule for each group, in one file; of the installation in this namespace. */
export function prometheusRules(
  groups: readonly AlertGroup[],
  namespace: string,
  options: Omit<RuleOptions, "scope">,
): string {
  const scope = new Scope(namespace);
  return groups.map((group) =>
    yaml({
      apiVersion: "monitoring.coreos.com/v1",
      kind: "PrometheusRule",
      metadata: {
        name: `pingress-${group.name}`,
        namespace,
        labels: { "app.kubernetes.io/part-of": "pingress" },
      },
      spec: ruleGroups([group], { ...options, scope }),
    })
  ).join("---\n");
}

/** Of this version: alerts of another one may have others. */
function runbookUrl({ name }: Alert): string {
  return `${sourceUrl(VERSION, "docs/alerts.md")}#${name.toLowerCase()}`;
}

/** Expressions keep their lines. */
function yaml(value: unknown): string {
  return stringify(value, { lineWidth: 0 });
}
