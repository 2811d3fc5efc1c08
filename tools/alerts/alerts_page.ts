/** The page of runbooks. In: the alerts and their thresholds. Out: the text of `docs/alerts.md`. */
import type { Alert } from "./alert.ts";
import { ALERT_GROUPS } from "./groups.ts";
import { EVERYWHERE } from "./scope.ts";
import { DEFAULT_THRESHOLDS, THRESHOLDS, withThresholds } from "./thresholds.ts";

export const ALERTS_PAGE = "docs/alerts.md";

export function alertsPage(): string {
  return [
    "# Alerts",
    "",
    "Generated from the code by `deno task docs:update`; do not edit.",
    "",
    "Rules for Prometheus, with a runbook for each. They are made from the [metrics](metrics.md), and",
    "need `honor_labels: true` (`honorLabels`) in the configuration of the scrape. *Critical* alerts",
    "are about traffic that fails now or soon: page somebody. *Warnings* can wait for working hours.",
    "Tests break proxies, controllers and an API server until each alert fires in a real Prometheus,",
    "and none fires while a proxy is under mixed load.",
    "",
    "## Install",
    "",
    "With the Prometheus operator and the [Helm chart](install.md#helm):",
    "",
    "```yaml",
    "podMonitor: { create: true }",
    "prometheusRule:",
    "  create: true",
    "  labels: { release: prometheus } # by which your Prometheus selects rules",
    "  alertLabels: { team: platform } # for routes of Alertmanager",
    "  disabled: [PingressRoutesDropped]",
    "  thresholds: { certificateDays: 21 }",
    "```",
    "",
    "With the operator and Kustomize, `kubectl apply -k overlays/monitoring` creates PodMonitors and",
    "PrometheusRules. Patch the labels by which your Prometheus selects them.",
    "",
    "Without the operator, name the files of [`overlays/monitoring/rules`](../overlays/monitoring/rules)",
    "in `rule_files`, and scrape the port `admin` of the pods:",
    "",
    "```yaml",
    "scrape_configs:",
    "  - job_name: pingress",
    "    honor_labels: true",
    "    kubernetes_sd_configs:",
    "      - role: pod",
    "        namespaces: { names: [pingress-system] }",
    "    relabel_configs:",
    "      - source_labels: [__meta_kubernetes_pod_container_port_name]",
    "        regex: admin",
    "        action: keep",
    "      - source_labels: [__meta_kubernetes_namespace]",
    "        target_label: namespace",
    "      - source_labels: [__meta_kubernetes_pod_name]",
    "        target_label: pod",
    "```",
    "",
    "In both cases allow Prometheus to reach the ports",
    "([network policies](security.md#network-policies)). For proxies without a controller, leave out",
    "`controller.yaml`, and the parts of the alerts that name its metrics stay silent.",
    "",
    "### Several installations",
    "",
    "Alerts tell installations apart by the label `namespace` of the targets: the operator sets it, and so",
    "does the scrape above.",
    "",
    "**Rules of the chart and of `overlays/monitoring`** are for one installation: they read metrics of",
    "targets in the namespace of the release, or in `pingress-system`, and their alerts have the label",
    "`installation` with it. Give each installation its rules. For requests and Services, whose metrics",
    "have the namespace of a route, they take the targets at which `pingress_workers` has that namespace.",
    "To install the overlay for another namespace, replace `pingress-system` in the whole of",
    "`prometheus-rules.yaml`. If relabeling removes the label `namespace` of targets or renames it,",
    "PingressNoLeader and PingressNoReadyProxy fire: use the files of `overlays/monitoring/rules`.",
    "",
    "**The files of `overlays/monitoring/rules`** are for all installations that a Prometheus scrapes: load",
    "them once, and not beside the others. Requests of a host that several installations serve are added.",
    "PingressNoLeader and PingressNoReadyProxy find an installation of which nothing is scraped any more",
    "by its samples of the last day. So when you uninstall one, silence both alerts for its namespace for",
    "a day; after that, an outage fires only if nothing of any installation is scraped. One that was never",
    "scraped is not found beside another that is.",
    "",
    "Installations of the same namespace in several clusters need a Prometheus each that evaluates these",
    "rules. If one Prometheus has the metrics of all clusters, give it a copy of the rules for each",
    'cluster, with a matcher such as `cluster="eu-1"` in every selector.',
    "",
    "## List",
    "",
    "| alert | severity | fires when |",
    "| --- | --- | --- |",
    ...ALERT_GROUPS.flatMap(({ alerts }) =>
      alerts.map((alert) =>
        `| [${alert.name}](#${alert.name.toLowerCase()}) | ${alert.severity} | ${
          cell(firstSentence(alert.runbook.meaning))
        } |`
      )
    ),
    "",
    "The error budget alerts follow chapter 5 of the",
    "[SRE workbook](https://sre.google/workbook/alerting-on-slos/): each needs a long and a short",
    "window. They are per host, so route them by their labels `namespace` and `host` to the owners of",
    "the applications if these are others than you.",
    "",
    "## Thresholds",
    "",
    "Values of the chart in `prometheusRule.thresholds`. Helm reads fractions of `--set` as text, so use",
    "a file, or `--set-json prometheusRule.thresholds.errorBudget=0.01`.",
    "",
    "| value | default | meaning |",
    "| --- | --- | --- |",
    ...Object.entries(THRESHOLDS).map(([name, { default: value, help }]) =>
      `| \`${name}\` | ${value} | ${cell(help)} |`
    ),
    "",
    ...ALERT_GROUPS.flatMap(({ title, alerts }) => [
      `## ${title}`,
      "",
      ...alerts.flatMap(alertLines),
    ]),
  ].join("\n").trimEnd() + "\n";
}

function alertLines({ name, severity, hold, expression, runbook }: Alert): string[] {
  return [
    `### ${name}`,
    "",
    hold === "0s" ? `Severity: ${severity}.` : `Severity: ${severity}, after ${hold}.`,
    "",
    "```promql",
    withThresholds(expression(EVERYWHERE), DEFAULT_THRESHOLDS),
    "```",
    "",
    `**Meaning.** ${runbook.meaning}`,
    "",
    `**Impact.** ${runbook.impact}`,
    "",
    "**Diagnosis.**",
    "",
    ...runbook.diagnosis.map((step, index) => `${index + 1}. ${step}`),
    "",
    "**Remedy.**",
    "",
    ...runbook.remedy.map((step) => `- ${step}`),
    "",
  ];
}

function firstSentence(text: string): string {
  return /^.*?[.:;](?= |$)/s.exec(text)![0].replace(/[.:;]$/, "");
}

/** Text that a table cell shows as it stands; what is in backquotes stays code. */
function cell(text: string): string {
  return text.replace(/[\\|<*]/g, "\\$&");
}
