/**
 * Thresholds of alerts. In: nothing. Out: each with its default and the reason for it, and texts in
 * which values stand in place of their names.
 */
import { DURATION_BOUNDS } from "../../proxy/telemetry/block.ts";

/** Those that a latency of interest lies between. */
const BOUNDS = DURATION_BOUNDS.filter((bound) => bound >= 0.25).join(", ");

export interface Threshold {
  /** Sentences; the chart's values and docs/alerts.md have them. */
  readonly help: string;
  readonly default: number;
  readonly minimum: number;
  readonly maximum?: number;
}

export const THRESHOLDS = {
  errorBudget: {
    help:
      "Ratio of the requests of a host that may end with a 5xx status in 30 days. 0.001 is an " +
      "objective of 99.9 %.",
    default: 0.001,
    minimum: 0.000001,
    maximum: 0.06,
  },
  requestRate: {
    help:
      "Requests per second of a host, or of a Service, from which error budget and latency are " +
      "judged: a single failure among few requests is a large ratio.",
    default: 0.1,
    minimum: 0,
  },
  latencySeconds: {
    help: "99th percentile of the time, in seconds, that a Service takes until the head of its " +
      `response. Values between the bounds of the histogram (${BOUNDS}) are interpolated.`,
    default: 1,
    minimum: 0.001,
    maximum: 9,
  },
  memoryRatio: {
    help:
      "Resident memory of a proxy as a ratio of its --memory-limit. It closes idle connections " +
      "from 0.92 on, and rejects requests from 0.95 on.",
    default: 0.85,
    minimum: 0.1,
    maximum: 1,
  },
  shedRate: {
    help: "Connections and requests per second that a proxy rejects because it is at a limit. A " +
      "short burst of fewer than 30 in five minutes is no reason to wake somebody.",
    default: 0.1,
    minimum: 0,
  },
  workerStalls: {
    help: "Stalls of a proxy's workers in 15 minutes that are tolerated. Each is at least 2 s in " +
      "which the worker's connections waited.",
    default: 0,
    minimum: 0,
  },
  staleSeconds: {
    help:
      "Time in seconds since a proxy last had the newest configuration. In normal operation it " +
      "is a few seconds.",
    default: 60,
    minimum: 10,
  },
  keptRoutes: {
    help:
      "Ratio of the routes of the last hour that each proxy must still have; only from 20 routes on.",
    default: 0.5,
    minimum: 0,
    maximum: 1,
  },
  watchRestarts: {
    help:
      "Failures in 10 minutes of the watch of one kind of object that are tolerated. A rolling " +
      "restart of the API servers breaks each watch a few times.",
    default: 5,
    minimum: 0,
  },
  certificateDays: {
    help: "Days of validity left of a certificate from which there is a warning. cert-manager " +
      "renews certificates of 90 days when 30 days are left.",
    default: 14,
    minimum: 0,
  },
  certificateDaysCritical: {
    help: "Days of validity left of a certificate from which the alert is critical: time for a " +
      "renewal by hand over a weekend.",
    default: 3,
    minimum: 0,
  },
} as const satisfies Readonly<Record<string, Threshold>>;

export type ThresholdName = keyof typeof THRESHOLDS;
export type ThresholdValues = Readonly<Record<ThresholdName, number>>;

export const DEFAULT_THRESHOLDS = Object.fromEntries(
  Object.entries(THRESHOLDS).map(([name, { default: value }]) => [name, value]),
) as ThresholdValues;

/** What stands for a threshold in expressions, and in the chart's files. */
export function threshold(name: ThresholdName): string {
  return `\${${name}}`;
}

/** The chart's template does the same with its values. */
export function withThresholds(text: string, values: ThresholdValues): string {
  return Object.entries(values).reduce(
    (text, [name, value]) => text.replaceAll(threshold(name as ThresholdName), String(value)),
    text,
  );
}
