/**
 * Panels of dashboards. In: title, unit and queries. Out: builders of Grafana's SDK, all of one look.
 */
import type { Builder } from "@grafana/grafana-foundation-sdk/cog";
import {
  BigValueColorMode,
  LegendDisplayMode,
  LegendPlacement,
  ReduceDataOptionsBuilder,
  SortOrder,
  StackingConfigBuilder,
  StackingMode,
  TableCellDisplayMode,
  TableSortByFieldStateBuilder,
  TooltipDisplayMode,
  VizLegendOptionsBuilder,
  VizTooltipOptionsBuilder,
} from "@grafana/grafana-foundation-sdk/common";
import {
  DashboardLinkBuilder,
  type Panel,
  type Threshold,
  ThresholdsConfigBuilder,
  ThresholdsMode,
} from "@grafana/grafana-foundation-sdk/dashboard";
import { PanelBuilder as HeatmapBuilder } from "@grafana/grafana-foundation-sdk/heatmap";
import { DataqueryBuilder, PromQueryFormat } from "@grafana/grafana-foundation-sdk/prometheus";
import { PanelBuilder as StatBuilder } from "@grafana/grafana-foundation-sdk/stat";
import { PanelBuilder as TableBuilder } from "@grafana/grafana-foundation-sdk/table";
import { PanelBuilder as GraphBuilder } from "@grafana/grafana-foundation-sdk/timeseries";

export type PanelSource = Builder<Panel>;

/** The data source that the reader of the dashboard has chosen. */
export const DATASOURCE = { type: "prometheus", uid: "${datasource}" } as const;

/** Four scrapes at least, and no less than a pixel: Grafana puts it in. */
export const WINDOW = "$__rate_interval";

/** Of 24 columns: three, two or one in a row. */
type Width = 8 | 12 | 24;
const GRAPH_HEIGHT = 8;
const STAT_WIDTH = 4;
const STAT_HEIGHT = 4;

export interface Query {
  readonly expression: string;
  /** With labels in braces: `{{host}}`. */
  readonly legend: string;
  /** Points of single requests in it, which lead to their traces. */
  readonly exemplars?: boolean;
}

interface About {
  readonly title: string;
  /** What it shows and what to look for: one or two sentences. */
  readonly description: string;
  readonly unit: string;
}

/** From which value on it is orange, and red; below both where it is `lower`. */
export interface Levels {
  readonly orange?: number;
  readonly red: number;
  /** Small values are the bad ones. */
  readonly lower?: boolean;
}

export interface Graph extends About {
  readonly queries: readonly Query[];
  readonly width?: Width;
  readonly isStacked?: boolean;
  /** Of the axis. */
  readonly max?: number;
  /** To a dashboard, from each line. */
  readonly link?: { readonly title: string; readonly url: string };
}

/** Lines over time. */
export function graph(
  { title, description, unit, queries, width = 12, isStacked = false, max, link }: Graph,
): PanelSource {
  const builder = new GraphBuilder()
    .title(title).description(description).unit(unit).min(0)
    .span(width).height(GRAPH_HEIGHT).datasource(DATASOURCE)
    .lineWidth(1).fillOpacity(isStacked ? 30 : 5)
    .legend(
      new VizLegendOptionsBuilder().showLegend(true).displayMode(LegendDisplayMode.List)
        .placement(LegendPlacement.Bottom),
    )
    .tooltip(
      new VizTooltipOptionsBuilder().mode(TooltipDisplayMode.Multi).sort(SortOrder.Descending),
    );
  if (max !== undefined) builder.max(max);
  if (isStacked) builder.stacking(new StackingConfigBuilder().mode(StackingMode.Normal));
  if (link !== undefined) builder.dataLinks([new DashboardLinkBuilder(link.title).url(link.url)]);
  for (const [index, { expression, legend, exemplars = false }] of queries.entries()) {
    const query = new DataqueryBuilder().refId(refId(index)).expr(expression).range()
      .legendFormat(legend).datasource(DATASOURCE);
    builder.withTarget(exemplars ? query.exemplar(true) : query);
  }
  return builder;
}

export interface Stat extends About {
  readonly expression: string;
  readonly levels?: Levels;
}

/** One number, as it is now. */
export function stat({ title, description, unit, expression, levels }: Stat): PanelSource {
  return new StatBuilder()
    .title(title).description(description).unit(unit)
    .span(STAT_WIDTH).height(STAT_HEIGHT).datasource(DATASOURCE)
    .reduceOptions(new ReduceDataOptionsBuilder().calcs(["lastNotNull"]))
    .colorMode(levels === undefined ? BigValueColorMode.None : BigValueColorMode.Value)
    .thresholds(
      new ThresholdsConfigBuilder().mode(ThresholdsMode.Absolute).steps(stepsOf(levels)),
    )
    .withTarget(
      new DataqueryBuilder().refId("A").expr(expression).instant().datasource(DATASOURCE),
    );
}

export interface Table extends Omit<About, "unit"> {
  readonly expression: string;
  /** Of the values, which are not shown without one; `isAscending`: the smallest first. */
  readonly column?: {
    readonly name: string;
    readonly unit: string;
    readonly isAscending: boolean;
    readonly levels: Levels;
  };
}

/** A row for each series, as it is now. */
export function table({ title, description, expression, column }: Table): PanelSource {
  const hidden = column === undefined ? { Time: true, Value: true } : { Time: true };
  const builder = new TableBuilder()
    .title(title).description(description)
    .span(24).height(GRAPH_HEIGHT).datasource(DATASOURCE)
    .withTransformation({
      id: "organize",
      options: { excludeByName: hidden, renameByName: { Value: column?.name ?? "Value" } },
    })
    .withTarget(
      new DataqueryBuilder().refId("A").expr(expression).instant()
        .format(PromQueryFormat.Table).datasource(DATASOURCE),
    );
  if (column === undefined) return builder;
  const { name, unit, isAscending, levels } = column;
  return builder
    .sortBy([new TableSortByFieldStateBuilder().displayName(name).desc(!isAscending)])
    .overrideByName(name, [
      { id: "unit", value: unit },
      { id: "decimals", value: 0 },
      { id: "thresholds", value: { mode: ThresholdsMode.Absolute, steps: stepsOf(levels) } },
      { id: "custom.cellOptions", value: { type: TableCellDisplayMode.ColorText } },
    ]);
}

export interface Heatmap extends About {
  /** Of buckets, by `le`. */
  readonly expression: string;
}

/** How many requests took how long, over time. */
export function heatmap({ title, description, unit, expression }: Heatmap): PanelSource {
  return new HeatmapBuilder()
    .title(title).description(description).unit(unit)
    .span(12).height(GRAPH_HEIGHT).datasource(DATASOURCE)
    .withTarget(
      new DataqueryBuilder().refId("A").expr(expression).range().legendFormat("{{le}}")
        .format(PromQueryFormat.Heatmap).exemplar(true).datasource(DATASOURCE),
    );
}

function stepsOf(levels: Levels | undefined): Threshold[] {
  if (levels === undefined) return [{ value: null, color: "green" }];
  const { orange, red, lower = false } = levels;
  if (!lower) {
    return [
      { value: null, color: "green" },
      ...(orange === undefined ? [] : [{ value: orange, color: "orange" }]),
      { value: red, color: "red" },
    ];
  }
  return [
    { value: null, color: "red" },
    ...(orange === undefined ? [] : [{ value: red, color: "orange" }]),
    { value: orange ?? red, color: "green" },
  ];
}

function refId(index: number): string {
  return String.fromCharCode("A".charCodeAt(0) + index);
}
