/** Alerts of what clients and backends see. In: the catalogue. Out: the group, with its recordings. */
import type { Alert, AlertGroup } from "./alert.ts";
import { is, isNot, rate, series, sum } from "../promql.ts";
import type { Scope } from "./scope.ts";
import { threshold } from "./thresholds.ts";

/** Of each host, per second over five minutes: long windows average these, and not 100,000 series. */
const REQUESTS = "namespace_host:pingress_requests:rate5m";
const ERRORS = "namespace_host:pingress_requests_5xx:rate5m";

const BY_HOST = ["namespace", "host"] as const;
const BY_SERVICE = ["namespace", "service"] as const;

/**
 * Requests of no host are those of strangers: nobody's budget, and a 5xx for what no server can do. With
 * `--metrics-by=route`, the word for them is in `route`, a label that is missing otherwise.
 */
const OF_HOSTS = { host: isNot("none"), route: isNot("none") } as const;

/** Over which latency is judged. */
const LATENCY_WINDOW = "10m";

function allRequests(scope: Scope): string {
  const requests = rate(series("pingress_requests_total", OF_HOSTS), "5m");
  return sum(scope.ofProxies(requests, "5m"), BY_HOST);
}

/** 0 where nothing failed: an average over an hour must count these times too. */
function failedRequests(scope: Scope): string {
  const failed = series("pingress_requests_total", { ...OF_HOSTS, status: is("5xx") });
  const requests = sum(scope.ofProxies(rate(failed, "5m"), "5m"), BY_HOST);
  return `${requests}\nor 0 * ${allRequests(scope)}`;
}

function slowServices(scope: Scope): string {
  const buckets = rate(series("pingress_upstream_duration_seconds_bucket"), LATENCY_WINDOW);
  const attempts = rate(series("pingress_upstream_duration_seconds_count"), LATENCY_WINDOW);
  const byBucket = sum(scope.ofProxies(buckets, LATENCY_WINDOW), [...BY_SERVICE, "le"]);
  const inAll = sum(scope.ofProxies(attempts, LATENCY_WINDOW), BY_SERVICE);
  return [
    `(histogram_quantile(0.99, ${byBucket}) > ${threshold("latencySeconds")})`,
    `and (${inAll} > ${threshold("requestRate")})`,
  ].join("\n");
}

/** Multi-window, multi-burn-rate alerts of the SRE workbook, chapter 5. */
function burn(scope: Scope, factor: number, long: string, short: string): string {
  // One of five minutes is the recorded rate itself.
  const over = (record: string, window: string) =>
    window === "5m"
      ? scope.recorded(record)
      : `avg_over_time(${scope.recorded(record)}[${window}])`;
  const exceeds = (window: string) =>
    `${over(ERRORS, window)} / ${over(REQUESTS, window)} > ${factor} * ${threshold("errorBudget")}`;
  return [
    `(${exceeds(long)})`,
    `and (${exceeds(short)})`,
    `and (${over(REQUESTS, long)} > ${threshold("requestRate")})`,
  ].join("\n");
}

const DIAGNOSIS = [
  "Compare the status of responses with that of backends: if " +
  "`sum by (service, status) (rate(pingress_upstream_requests_total[5m]))` of the host's Services " +
  "has as many `5xx`, the application itself fails.",
  "Otherwise `sum by (code) (rate(pingress_request_errors_total[5m]))` has the proxies' own " +
  "[error codes](codes.md#responses-of-proxies): `connect_failed` and `upstream_timeout` are about " +
  "endpoints, `no_endpoint` is a Service without ready pods, `route_broken` and `route_closed` are " +
  "about the Ingress.",
  "[`pingress explain --cluster URL`](explain.md#a-cluster) shows the route, its Service and the " +
  "problems of the host; [`pingress status -n NAMESPACE`](check.md#status) shows Services without " +
  "ready endpoints.",
  "The [access log](access-log.md) has `error`, `upstream`, `endpoint` and `tries` of each failed request.",
];

const REMEDY = [
  "If the application fails, roll it back or scale it.",
  "If its problem is a reason of [codes](codes.md), follow the remedy there.",
  "If one node or one proxy alone fails, see the alerts of that proxy, then delete its pod.",
];

function burnAlert(
  name: string,
  severity: Alert["severity"],
  hold: string,
  { factor, long, short, spent }: {
    readonly factor: number;
    readonly long: string;
    readonly short: string;
    readonly spent: string;
  },
): Alert {
  return {
    name,
    severity,
    hold,
    expression: (scope) => burn(scope, factor, long, short),
    summary: "{{ $labels.host }} fails {{ $value | humanizePercentage }} of its requests",
    description: `Over ${long}, {{ $value | humanizePercentage }} of the requests of host ` +
      "{{ $labels.host }} (namespace {{ $labels.namespace }}) ended with a 5xx status. At " +
      `${factor} times the error budget, ${spent}.`,
    runbook: {
      meaning:
        `Of the requests of one host, more than ${factor} times the error budget failed over ` +
        `${long} and over ${short}: ${spent}. The short window ends the alert soon after the ` +
        "failures end. A host of less than `requestRate` requests per second is not judged, and " +
        "requests of no host (`none`) never are.",
      impact: "Users of the host see errors. Other hosts have alerts of their own.",
      diagnosis: DIAGNOSIS,
      remedy: REMEDY,
    },
  };
}

export const REQUEST_ALERTS: AlertGroup = {
  name: "requests",
  title: "Requests",
  recordings: [
    { record: REQUESTS, expression: allRequests },
    { record: ERRORS, expression: failedRequests },
  ],
  alerts: [
    burnAlert("PingressErrorBudgetBurnFast", "critical", "2m", {
      factor: 14.4,
      long: "1h",
      short: "5m",
      spent: "2 % of the budget of 30 days are spent in an hour",
    }),
    burnAlert("PingressErrorBudgetBurnSlow", "warning", "15m", {
      factor: 6,
      long: "6h",
      short: "30m",
      spent: "5 % of the budget of 30 days are spent in six hours",
    }),
    {
      name: "PingressBackendLatencyHigh",
      severity: "warning",
      hold: "10m",
      expression: slowServices,
      summary: "Service {{ $labels.service }} is slow",
      description:
        "The 99th percentile of the time until a response of Service {{ $labels.service }} " +
        "(namespace {{ $labels.namespace }}) begins is {{ $value | humanizeDuration }}; the " +
        "threshold is ${latencySeconds} s.",
      runbook: {
        meaning:
          "One of a hundred attempts at a Service takes longer than `latencySeconds` until " +
          "the head of its response. Slow clients and long downloads are not part of it; uploads " +
          "are, since a backend may wait for the whole body.",
        impact: "Users wait. Requests that wait take connections and memory of proxies.",
        diagnosis: [
          "`histogram_quantile(0.5, sum by (le) (rate(pingress_upstream_duration_seconds_bucket" +
          '{service="NAME"}[5m])))`: if the median is high too, the whole Service is slow.',
          "If all Services are slow, compare `pingress_worker_delay_seconds` and " +
          "`rate(pingress_worker_cpu_seconds_total[5m])`: near 1, workers lack CPU.",
          "The [access log](access-log.md) has `endpoint` and `upstreamMs` of each request: look " +
          "for one endpoint among the slow ones. [Traces](traces.md) have the attempts.",
        ],
        remedy: [
          "Scale the Service, or remove its slow pod.",
          "If responses of a Service begin late by design, as with long polling, raise " +
          "`latencySeconds`, or turn this alert off and write one for your Services.",
        ],
      },
    },
  ],
};
