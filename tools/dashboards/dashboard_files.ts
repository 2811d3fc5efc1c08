/** The files of dashboards. In: the dashboards. Out: each path relative to the repository, with its text. */
import { CHART } from "../chart/chart_files.ts";
import { CERTIFICATES } from "./certificates.ts";
import { CONTROLLER } from "./controller.ts";
import { dashboardOf, type DashboardSpec } from "./dashboard.ts";
import { FLEET } from "./fleet.ts";
import { OVERVIEW } from "./overview.ts";
import { ROUTE } from "./route.ts";

/** In the order of the page. */
export const DASHBOARDS: readonly DashboardSpec[] = [
  OVERVIEW,
  ROUTE,
  FLEET,
  CONTROLLER,
  CERTIFICATES,
];

/** As Grafana imports them, and the chart puts them into ConfigMaps. */
export function dashboardFiles(): readonly (readonly [path: string, text: string])[] {
  return DASHBOARDS.map((spec) => [
    `${CHART}/files/dashboards/${spec.name}.json`,
    `${JSON.stringify(dashboardOf(spec), null, 2)}\n`,
  ]);
}
