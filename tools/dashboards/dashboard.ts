/**
 * A dashboard. In: its title, variables, and rows of panels. Out: the object that Grafana imports.
 */
import {
  type Dashboard,
  DashboardBuilder,
  DashboardCursorSync,
  DashboardLinkBuilder,
  DashboardLinkType,
  DatasourceVariableBuilder,
  QueryVariableBuilder,
  RowBuilder,
  VariableRefresh,
  VariableSort,
} from "@grafana/grafana-foundation-sdk/dashboard";
import type { Label } from "../promql.ts";
import { DATASOURCE, type PanelSource } from "./panels.ts";

/** By which the dashboards link to each other. */
const TAG = "pingress";

export interface Variable {
  readonly name: string;
  readonly label: string;
  /** Where its values come from. */
  readonly of: Label;
  /** A selector, with variables before this one. */
  readonly series: string;
  /** Some are chosen, the first one at the beginning, and not all. */
  readonly hasNoAll?: boolean;
}

export interface Row {
  readonly title: string;
  readonly panels: readonly PanelSource[];
}

export interface DashboardSpec {
  /** Its file, and the end of its id: `overview`. */
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly variables: readonly Variable[];
  readonly rows: readonly Row[];
}

/** What the URL of a dashboard ends in. */
export function idOf(name: string): string {
  return `pingress-${name}`;
}

export function dashboardOf(
  { name, title, description, variables, rows }: DashboardSpec,
): Dashboard {
  const builder = new DashboardBuilder(`Pingress / ${title}`)
    .uid(idOf(name)).description(description).tags([TAG])
    .time({ from: "now-1h", to: "now" }).refresh("30s").tooltip(DashboardCursorSync.Crosshair)
    .link(
      new DashboardLinkBuilder("Pingress").type(DashboardLinkType.Dashboards).tags([TAG])
        .includeVars(true).keepTime(true).asDropdown(true),
    )
    .withVariable(
      new DatasourceVariableBuilder("datasource").label("Data source").type(DATASOURCE.type),
    );
  for (const variable of variables) builder.withVariable(variableOf(variable));
  for (const row of rows) {
    builder.withRow(new RowBuilder(row.title));
    for (const panel of row.panels) builder.withPanel(panel);
  }
  return withIds(builder.build());
}

function variableOf({ name, label, of, series, hasNoAll = false }: Variable) {
  const builder = new QueryVariableBuilder(name).label(label).datasource(DATASOURCE)
    .query({ query: `label_values(${series}, ${of})`, refId: name })
    .definition(`label_values(${series}, ${of})`)
    .refresh(VariableRefresh.OnTimeRangeChanged).sort(VariableSort.AlphabeticalAsc);
  // Only of several does Grafana escape what a regular expression reads as such: `*.example.com`.
  builder.multi(true);
  return hasNoAll ? builder : builder.includeAll(true).allValue(".*").current({
    selected: true,
    text: ["All"],
    value: ["$__all"],
  });
}

/** Links to a panel name its id, which must not change when the dashboard is imported again. */
function withIds(dashboard: Dashboard): Dashboard {
  const panels = dashboard.panels?.map((panel, index) => ({ ...panel, id: index + 1 }));
  return panels === undefined ? dashboard : { ...dashboard, panels };
}
