/**
 * Writes the pages that are made from code and from what the benchmark has measured. In: the
 * programs' specs, the metrics, the fields of the access log, the differences from nginx, the
 * catalogue of problems, the table of annotations, and `bench/results`. Out: `docs/flags.md`,
 * `docs/metrics.md`, `docs/access-log.md`, `docs/differences-from-nginx.md`, `docs/status.md`,
 * `docs/annotations.md`, `docs/configmap.md`, `docs/codes.md`, `docs/schemas`, the features on `docs/gateway.md`, and `docs/performance.md` with its plots; and from the models of the
 * Kubernetes client `dev/manifests/known_fields.json`, and `overlays/warn/nginx-annotations.yaml`; and
 * the values, their schema and templates of `charts/pingress`; from the alerts `docs/alerts.md`, and the
 * rules in the chart and in `overlays/monitoring`; and the dashboards in the chart with `docs/dashboards.md`.
 *
 *     deno task docs:update
 */
import { writePerformancePage } from "../bench/performance_page.ts";
import { alertFiles } from "./alerts/alert_files.ts";
import { ALERTS_PAGE, alertsPage } from "./alerts/alerts_page.ts";
import { ANNOTATIONS_PAGE, annotationsPage } from "./annotations_page.ts";
import { chartFiles } from "./chart/chart_files.ts";
import { CODES_PAGE, codesPage } from "./codes_page.ts";
import { CONFIGMAP_PAGE, configmapPage } from "./configmap_page.ts";
import { dashboardFiles } from "./dashboards/dashboard_files.ts";
import { DASHBOARDS_PAGE, dashboardsPage } from "./dashboards_page.ts";
import { DIFFERENCES_PAGE, differencesPage } from "./differences_page.ts";
import { GATEWAY_PAGE, gatewayPage } from "./gateway_page.ts";
import { FLAGS_PAGE, flagsPage } from "./flags_page.ts";
import { jsonSchemas } from "./json_schemas.ts";
import { KNOWN_FIELDS, knownFieldsText } from "./known_fields.ts";
import { STATUS_PAGE, statusPage } from "./status_page.ts";
import { WARN_POLICY, warnPolicy } from "./warn_policy.ts";
import { ACCESS_LOG_PAGE, accessLogPage, METRICS_PAGE, metricsPage } from "./telemetry_pages.ts";
import { taskOptions } from "./task_options.ts";

taskOptions(
  {
    name: "deno task docs:update",
    summary: "Updates the pages that are generated from code, in docs/ and elsewhere.",
  },
  {},
  Deno.args,
);

const pages = [
  [FLAGS_PAGE, await flagsPage()],
  [GATEWAY_PAGE, gatewayPage(Deno.readTextFileSync(GATEWAY_PAGE))],
  [METRICS_PAGE, metricsPage()],
  [ACCESS_LOG_PAGE, accessLogPage()],
  [ALERTS_PAGE, alertsPage()],
  [DASHBOARDS_PAGE, dashboardsPage()],
  [DIFFERENCES_PAGE, differencesPage()],
  [STATUS_PAGE, statusPage()],
  [CODES_PAGE, codesPage()],
  [ANNOTATIONS_PAGE, annotationsPage()],
  [CONFIGMAP_PAGE, configmapPage()],
  [WARN_POLICY, warnPolicy()],
  [KNOWN_FIELDS, knownFieldsText()],
  ...jsonSchemas(),
  ...alertFiles(),
  ...dashboardFiles(),
  ...chartFiles((path) => Deno.readTextFileSync(path)),
];
for (const [path, text] of pages) {
  Deno.writeTextFileSync(path, text);
  console.log(`wrote ${path}`);
}
for (const path of await writePerformancePage()) console.log(`wrote ${path}`);
