/** What has series of its own in metrics. In: nothing. Out: the choices, with their defaults. */

export const SERIES_BY = ["host", "route"] as const;
export type SeriesBy = typeof SERIES_BY[number];

export interface SeriesOptions {
  /** What requests are counted by. */
  readonly by: SeriesBy;
  /** Hosts or routes, and apart from these Services, that have series of their own. */
  readonly limit: number;
}

export const DEFAULT_SERIES: SeriesOptions = {
  by: "host",
  // Some 20 series each: what a Prometheus of the usual size takes of one target.
  limit: 10_000,
};

/** 64 MiB a worker where every route has traffic, and four times what one proxy was seen with. */
export const MAX_SERIES_LIMIT = 128 * 1024;
