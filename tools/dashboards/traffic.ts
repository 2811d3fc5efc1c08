/**
 * What several dashboards show of traffic. In: nothing. Out: variables, and expressions of them. A host or
 * Service is always shown with its namespace: several may have the name.
 */
import { is, type Label, matches, quantile, rate, ratio, series, sum } from "../promql.ts";
import { WINDOW } from "./panels.ts";
import type { Variable } from "./dashboard.ts";

/** As the variables choose. */
export const OF_HOSTS = { namespace: matches("$namespace"), host: matches("$host") };
export const OF_SERVICES = { namespace: matches("$namespace"), service: matches("$service") };

export const BY_HOST: readonly Label[] = ["namespace", "host"];
export const BY_SERVICE: readonly Label[] = ["namespace", "service"];
export const HOST_LEGEND = "{{namespace}} {{host}}";
export const SERVICE_LEGEND = "{{namespace}}/{{service}}";

export const NAMESPACE: Variable = {
  name: "namespace",
  label: "Namespace",
  of: "namespace",
  series: series("pingress_requests_total"),
};
export const HOST: Variable = {
  name: "host",
  label: "Host",
  of: "host",
  series: series("pingress_requests_total", { namespace: matches("$namespace") }),
};
export const SERVICE: Variable = {
  name: "service",
  label: "Service",
  of: "service",
  series: series("pingress_upstream_requests_total", { namespace: matches("$namespace") }),
};

/** Requests of the chosen hosts, per second. */
export function requestRate(by: readonly Label[] = []): string {
  return sum(rate(series("pingress_requests_total", OF_HOSTS), WINDOW), by);
}

/** The share of them with a 5xx response. */
export function failedShare(by: readonly Label[] = []): string {
  const failed = series("pingress_requests_total", { ...OF_HOSTS, status: is("5xx") });
  return ratio(sum(rate(failed, WINDOW), by), requestRate(by));
}

/** How long they take, in seconds. @param share such as 0.99. */
export function requestTime(share: number, by: readonly Label[] = []): string {
  return quantile(share, "pingress_request_duration_seconds_bucket", {
    matchers: OF_HOSTS,
    by,
    window: WINDOW,
  });
}

/** Attempts at endpoints of the chosen Services, per second. */
export function attemptRate(by: readonly Label[]): string {
  return sum(rate(series("pingress_upstream_requests_total", OF_SERVICES), WINDOW), by);
}

/** The share of them without a response, or with a 5xx one. */
export function failedAttemptShare(by: readonly Label[]): string {
  const failed = { ...OF_SERVICES, status: matches("none|5xx") };
  return ratio(
    sum(rate(series("pingress_upstream_requests_total", failed), WINDOW), by),
    attemptRate(by),
  );
}

/** How long their endpoints take to respond, in seconds. */
export function attemptTime(share: number, by: readonly Label[]): string {
  return quantile(share, "pingress_upstream_duration_seconds_bucket", {
    matchers: OF_SERVICES,
    by,
    window: WINDOW,
  });
}

/** Retries of requests of the chosen hosts, per second. */
export function retryRate(): string {
  return sum(rate(series("pingress_upstream_retries_total", OF_HOSTS), WINDOW));
}

/** The ten largest, so that a cluster with many is readable. */
export function top(expression: string): string {
  return `topk(10, ${expression})`;
}

/** The ten smallest. */
export function bottom(expression: string): string {
  return `bottomk(10, ${expression})`;
}

/** 0 where there is no series: of what happens seldom there is none before. */
export function orZero(expression: string): string {
  return `${expression} or vector(0)`;
}

/** Of processes that have the other metric too: those that all programs have say nothing of whose they are. */
export function among(expression: string, other: string): string {
  return `${expression} and on (job, instance) ${other}`;
}
