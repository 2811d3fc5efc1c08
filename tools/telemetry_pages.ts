/**
 * The pages of what programs tell. In: the catalogues of metrics, and the fields of the access log.
 * Out: the text of `docs/metrics.md` and `docs/access-log.md`.
 */
import { ACCESS_LOG_FIELDS } from "../proxy/telemetry/access_log/options.ts";
import { CONTROLLER_METRICS } from "../controller/metrics.ts";
import { ERROR_KINDS } from "../shared/error_kinds.ts";
import { DURATION_BOUNDS } from "../proxy/telemetry/block.ts";
import { METRICS } from "../proxy/telemetry/catalogue.ts";
import type { MetricSpec } from "../shared/metric_spec.ts";
import { routeIdRows } from "./route_ids.ts";
import { DEFAULT_SERIES, MAX_SERIES_LIMIT } from "../proxy/telemetry/series_options.ts";

/** Where the pages stand, relative to the repository. */
export const METRICS_PAGE = "docs/metrics.md";
export const ACCESS_LOG_PAGE = "docs/access-log.md";

const MADE = "Generated from the code by `deno task docs:update`; do not edit.";

/** One row a metric, in the order of the catalogue. */
export function metricsPage(): string {
  return [
    "# Metrics",
    "",
    MADE,
    "",
    "## The proxy",
    "",
    "`GET /metrics` on the admin port, without authentication, in the Prometheus text format 0.0.4.",
    "Values are summed over all workers, and counters survive a reload and the replacement of a",
    "worker. They are those of one process: a rollout starts new ones at 0, so aggregate rates, as",
    "in `sum(rate(pingress_requests_total[5m]))`, and not values. Label values come from the",
    "configuration and from fixed sets, so clients cannot add series. Requests are counted when they",
    "end.",
    "",
    "The labels `namespace` and `service` are those of routes, not those of the proxy's pod. **Scrape",
    "with `honor_labels: true`** (`honorLabels` of a ServiceMonitor or PodMonitor); otherwise",
    "Prometheus renames them to `exported_namespace` and `exported_service`. [Alerts](alerts.md) come",
    "with Pingress.",
    "",
    ...metricsTable(METRICS),
    "",
    "## Number of series",
    "",
    "By default requests are counted by host, so the number of series does not grow with the number",
    "of paths. With `--metrics-by=route`, the same metrics have a label `route` besides, and",
    "`pingress_route_info` has the object and the Services of each route. Attempts at endpoints are",
    "counted by Service in both cases. Expressions that aggregate by `host`, `namespace` or `service`",
    "are the same with both. With `--metrics-by=route`, this is the rate of requests of each object:",
    "",
    "```promql",
    "sum by (kind, name, namespace) (",
    "  rate(pingress_requests_total[5m])",
    "  * on (instance, route) group_left (kind, name) pingress_route_info",
    ")",
    "```",
    "",
    "A host, route or Service has series of its requests from the first one on, about 20 of them,",
    "until the configuration no longer has it; `pingress_endpoints` and `pingress_route_info` are there",
    `before. \`--metrics-limit\` (default ${DEFAULT_SERIES.limit.toLocaleString("en")}, at most`,
    `${
      MAX_SERIES_LIMIT.toLocaleString("en")
    }) bounds the hosts or routes that have series, and apart`,
    "from them the Services. What is beyond counts as `other`, and gets series when there is room.",
    '`pingress_metrics_entries` has the numbers; if it is not 0 for `state="other"`, raise the limit.',
    "",
    "## Ids of routes",
    "",
    "The label `route`, the field `route` of the [access log](access-log.md) and the attribute",
    "`pingress.route` of [spans](traces.md) have the same ids. `pingress_route_info` has the object of",
    "each, and [`pingress explain --cluster URL`](explain.md#a-cluster) the route of a URL.",
    "",
    ...routeIdRows(),
    "",
    "## Words in labels",
    "",
    "In place of a host, and of an [id of a route](#ids-of-routes), there are three words: `none` is for requests that matched no route or were",
    "rejected before the match, `default` for those of the default backend, `other` for what is beyond",
    "`--metrics-limit`, and for requests whose route, or attempts whose Service, was deleted while",
    "they were in progress. With `--metrics-by=route` the label `route` has the word, and `host` is",
    "empty. A host of `auth-url` outside of the cluster, or a backend of a file that is no Service,",
    "has its name or id in `service`, and no namespace. A host or backend without a namespace that",
    "has the name of one of these words is shown with a dot behind it.",
    "",
    "## Durations",
    "",
    "The bounds of `pingress_request_duration_seconds` and `pingress_upstream_duration_seconds` are",
    `${DURATION_BOUNDS.join(", ")} and +Inf.`,
    "",
    "## Exemplars",
    "",
    "With `--otlp-endpoint` ([traces](traces.md)), the buckets of `pingress_request_duration_seconds`",
    "have the last sampled request in them as exemplar: the label `trace_id`, the duration, and when the",
    "request ended. They need [OpenMetrics](https://prometheus.io/docs/specs/om/open_metrics_spec/),",
    "which the proxy uses for scrapers whose `Accept` prefers it, as that of Prometheus does, and",
    "Prometheus stores them with `--enable-feature=exemplar-storage`. They appear about a second after",
    "the request. A proxy keeps at most 10,000; those of the hosts that were quiet for longest go first.",
    "",
    "In OpenMetrics, the bounds of buckets are `1.0` and `10.0` in the label `le`, in the text format `1`",
    "and `10`. Prometheus 3 writes them as `1.0` and `10.0` in both cases. Without `--otlp-endpoint`,",
    "every scraper gets the text format.",
    "",
    "## File descriptors, memory and CPU",
    "",
    "Without all permissions, Deno reads neither `/proc` nor cgroup files, so there are no",
    "`process_open_fds` and `process_max_fds`. Use `container_file_descriptors`,",
    "`container_ulimits_soft` and `container_spec_memory_limit_bytes` of the kubelet (cAdvisor), and",
    "of the proxy `pingress_connections_open`, `pingress_descriptors_exhausted_total` and",
    "`pingress_limit`.",
    "",
    "Proxies have no CPU limit, only a request. If you set one, compare `process_cpu_seconds_total` with",
    "`container_spec_cpu_quota` divided by `container_spec_cpu_period`, and watch",
    "`container_cpu_cfs_throttled_periods_total`.",
    "",
    "## Error codes",
    "",
    "In `pingress_request_errors_total`, in the access log's `error` and in events' `code`. *Whose*",
    "names the side that caused it: the client (`downstream`), the backend (`upstream`), or the",
    "configuration or the proxy itself (`internal`).",
    "",
    "| code | status | whose | meaning |",
    "| --- | --- | --- | --- |",
    ...Object.entries(ERROR_KINDS).map(([code, { status, side, text }]) =>
      `| \`${code}\` | ${status || "–"} | ${side} | ${cell(text)} |`
    ),
    "",
    "## The controller",
    "",
    "The controller serves `/metrics` on its own admin port. Each replica counts for itself; only the",
    "leader counts writes. The bounds of durations are 1 ms to 10 s.",
    "",
    ...metricsTable(CONTROLLER_METRICS),
    "",
  ].join("\n");
}

function metricsTable(metrics: Readonly<Record<string, MetricSpec>>): string[] {
  const rows = Object.entries(metrics).map(([name, { type, help, labels = {} }]) =>
    `| \`${name}\` | ${type} | ${cell(help)} | ${
      Object.entries(labels).map(([label, values]) => `\`${label}\`: ${cell(values)}.`).join(" ") ||
      "–"
    } |`
  );
  return ["| metric | type | meaning | labels |", "| --- | --- | --- | --- |", ...rows];
}

/** One row a field, in the order of a line. */
export function accessLogPage(): string {
  return [
    "# Access log",
    "",
    MADE,
    "",
    "One line per request on standard output, interleaved with log messages; `--access-log=false`",
    "disables it. Lines are written in batches, every 100 ms or 64 KiB. Lines that standard output",
    "does not accept in time are dropped, counted in `pingress_log_lines_dropped_total` and reported",
    "in the log; they never delay traffic. In a cluster, `--proxy-arg` of the controller sets the flags",
    "of the proxies: `--proxy-arg=--access-log-ratio=0.1`.",
    "",
    "## JSON",
    "",
    "By default a line is a JSON object. `--access-log-fields=time,method,path,status` chooses its",
    "fields and their order; without `log`, lines are hard to tell from log messages. Empty fields are",
    "omitted. Control characters, quotes and bidirectional control characters are escaped; each byte",
    "above ASCII is written as one character (latin1). Values are truncated after 1 KiB, including",
    "escapes, and then end in `…` and their length, as in `… (30000 characters)`.",
    "",
    "| field | meaning |",
    "| --- | --- |",
    ...Object.entries(ACCESS_LOG_FIELDS).map(([name, text]) => `| \`${name}\` | ${cell(text)} |`),
    "",
    "## The format of nginx",
    "",
    "With `--access-log-format=nginx`, a line has the format `combined` of nginx and Apache, for",
    "programs that read their logs:",
    "",
    "```",
    `192.0.2.7 - - [26/Nov/2026:16:28:17 +0000] "GET /a HTTP/1.1" 200 612 "https://a.test/" "curl/8.5.0"`,
    "```",
    "",
    'Values are escaped as with `escape=default`: `"`, `\\` and all bytes but visible ASCII and blanks',
    "are written as `\\x` and two hexadecimal digits. What is different from nginx:",
    "",
    "- The user (`$remote_user`) is always `-`: names of users are not logged.",
    "- Times are in UTC.",
    "- The request has its query only with `--access-log-query`. The same holds for the referer, which",
    "  never has a user or password.",
    "- A request line that is refused is written as it came, as nginx does, but without a query and",
    "  without user and password. The request is `-` if nothing came. Of an absolute target",
    "  (`GET http://a.test/a HTTP/1.1`) that is served, the path alone is written.",
    "- The status is 499 for every request whose client closed before the response.",
    "- Empty headers are `-`, as missing ones, and values are cut off after 1 KiB.",
    "",
    "## Sampling",
    "",
    "`--access-log-ratio=0.1` writes a line for about one request in ten, chosen by a hash of",
    "`requestId`: proxies that pass an id on choose the same requests. Requests that failed always have",
    "a line: those with a 5xx response, and those with an `error`. The annotation",
    '`enable-access-log: "false"` still leaves out all lines of its paths.',
    "",
  ].join("\n");
}

/** Text that a table cell shows as it stands; what is in backquotes stays code. */
function cell(text: string): string {
  return text.replace(/[\\|<*]/g, "\\$&");
}
