/** The page of Grafana's dashboards. In: the dashboards. Out: the text of `docs/dashboards.md`. */
import type { Dashboard } from "@grafana/grafana-foundation-sdk/dashboard";
import { dashboardOf } from "./dashboards/dashboard.ts";
import { DASHBOARDS } from "./dashboards/dashboard_files.ts";

/** Where the page stands, relative to the repository. */
export const DASHBOARDS_PAGE = "docs/dashboards.md";

/** A section each dashboard, with a row each panel. */
export function dashboardsPage(): string {
  return [
    "# Grafana dashboards",
    "",
    "Generated from the code by `deno task docs:update`; do not edit.",
    "",
    "Five dashboards for Grafana, with Prometheus as data source. Those of proxies and controllers have",
    "a variable for the installation, by the namespace of its pods; the others show all that the data",
    "source has. Graphs with a line for each host, Service, proxy or worker draw the ten that their",
    "description names, at each point in time; variables choose among all.",
    "",
    "The chart has the dashboards as ConfigMaps for the",
    "[sidecar of Grafana's chart](https://github.com/grafana/helm-charts/tree/main/charts/grafana#sidecar-for-dashboards):",
    "",
    "```sh",
    "helm upgrade pingress charts/pingress --namespace pingress-system \\",
    "  --reset-then-reuse-values --set dashboards.create=true",
    "```",
    "",
    "`--reset-then-reuse-values` keeps the values that you have set before ([Upgrade](install.md#helm));",
    "leave it out if you pass all of your values in a file.",
    "",
    '`dashboards.labels` are the labels by which the sidecar selects them (`grafana_dashboard: "1"`),',
    "`dashboards.annotations` can name a folder. Without the chart, import the files of",
    "`charts/pingress/files/dashboards/` in Grafana, or make the ConfigMaps from them:",
    "",
    "```sh",
    "kubectl --namespace pingress-system create configmap pingress-dashboards \\",
    "  --from-file charts/pingress/files/dashboards/",
    "kubectl --namespace pingress-system label configmap pingress-dashboards grafana_dashboard=1",
    "```",
    "",
    "Scrape proxies and controller, with `honor_labels: true` ([metrics](metrics.md)). Panels with",
    "durations show [exemplars](metrics.md#exemplars) if Prometheus stores them: choose the label",
    "`trace_id` under *Exemplars* in the settings of the data source to follow them to their traces.",
    "",
    "The dashboards were checked by query, not by picture: a test runs every query of every panel",
    "against a real Prometheus that scrapes a real controller and real proxies with traffic and errors,",
    "and each has a result. Nobody has looked at the layout in Grafana.",
    "",
    ...DASHBOARDS.flatMap((spec) => [
      `## ${spec.title}`,
      "",
      `${spec.description} Variables: ${
        ["data source", ...spec.variables.map(({ label }) => `*${label}*`)].join(", ")
      }. File: \`${spec.name}.json\`.`,
      "",
      "| panel | shows |",
      "| --- | --- |",
      ...rowsOf(dashboardOf(spec)),
      "",
    ]),
  ].join("\n");
}

function rowsOf({ panels = [] }: Dashboard): string[] {
  let section = "";
  return panels.flatMap((panel) => {
    if (panel.type === "row") {
      section = panel.title ?? "";
      return [];
    }
    const { description = "" } = panel as { readonly description?: string };
    return [`| ${section}: ${panel.title} | ${description} |`];
  });
}
