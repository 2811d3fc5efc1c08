/**
 * The queries of a dashboard as Grafana sends them. In: the file of a dashboard, and a Prometheus. Out: each
 * expression with the values of variables in it, and those that have no result.
 */
import type { Prometheus } from "./prometheus.ts";

/** In place of what Grafana computes from the width of a panel. */
const WINDOW = "1m";

/** Of the file, as far as it is read here. */
interface DashboardFile {
  readonly templating: { readonly list: readonly VariableFile[] };
  readonly panels: readonly {
    readonly title: string;
    readonly targets?: readonly { readonly expr: string; readonly refId: string }[];
  }[];
}

interface VariableFile {
  readonly name: string;
  readonly type: string;
  readonly allValue?: string;
  readonly query: string | { readonly query: string };
}

/**
 * Those that have no result now, a line for each: variables without a value, and expressions without a number.
 *
 * @param chosen values of variables that have no *All*.
 */
export async function queriesWithoutResult(
  prometheus: Prometheus,
  text: string,
  chosen: Readonly<Record<string, string>>,
): Promise<string[]> {
  const { templating: { list }, panels }: DashboardFile = JSON.parse(text);
  const values = new Map<string, string>();
  const empty: string[] = [];
  for (const { name, type, allValue, query } of list) {
    if (type !== "query" || typeof query === "string") continue;
    const [, series, label] = /^label_values\((.*), (\w+)\)$/.exec(query.query)!;
    const found = (await prometheus.query(`group by (${label}) (${filled(series, values)})`))
      .map(({ labels }) => labels[label] ?? "");
    values.set(name, allValue ?? escaped(chosen[name]));
    if (found.length === 0 || (allValue === undefined && !found.includes(chosen[name]))) {
      empty.push(`$${name}: ${found.join() || "no value"}`);
    }
  }
  for (const { title, targets = [] } of panels) {
    for (const { expr, refId } of targets) {
      const samples = await prometheus.query(filled(expr, values));
      if (!samples.some(({ value }) => Number.isFinite(value))) {
        empty.push(`${title} ${refId}: ${expr}`);
      }
    }
  }
  return empty;
}

/** How many there are. */
export function countQueries(text: string): number {
  const { panels }: DashboardFile = JSON.parse(text);
  return panels.flatMap(({ targets = [] }) => targets).length;
}

function filled(expression: string, values: ReadonlyMap<string, string>): string {
  return expression.replace(/\$(\w+)/g, (name, key) => {
    const value = key === "__rate_interval" ? WINDOW : values.get(key);
    if (value === undefined) throw new Error(`${name} is no variable: ${expression}`);
    return value;
  });
}

/** As Grafana does it with values of variables that may have several. */
function escaped(value: string): string {
  return value.replace(/[\\^$.*+?()[\]{}|]/g, "\\\\$&");
}
