/** Metrics of a proxy, for soaks and endurance tests. In: an exposition and a series. Out: its value. */

/** Of one series of the metrics; NaN where there is none. */
export function valueOf(metrics: string, series: string): number {
  const line = metrics.split("\n").find((line) => line.startsWith(`${series} `));
  return Number(line?.slice(series.length + 1) ?? NaN);
}
