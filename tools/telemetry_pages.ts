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
import { MAX_SLOTS } from "../proxy/telemetry/route_slots.ts";

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
    "Values are summed over all workers, and counters survive the replacement of a worker. Label",
    "values come from the configuration and from fixed sets, so clients cannot add series. A route",
    "has series from its first request on, until it is deleted. Metrics by route are counted when a",
    "request ends.",
    "",
    ...metricsTable(METRICS),
    "",
    "## The label `route`",
    "",
    "A route's id is its host, path type and path: `app.example.com Prefix /api`. `none` is for",
    "requests that matched no route or were rejected before the match, `default` for those of the",
    `default backend, \`other\` for routes beyond the first ${MAX_SLOTS.toLocaleString("en")}`,
    "and for requests whose route was deleted while they were in progress.",
    "",
    "## Durations",
    "",
    `The bounds of \`pingress_request_duration_seconds\` are ${
      DURATION_BOUNDS.join(", ")
    } and +Inf.`,
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
    "- The request is `-` if no request line could be read.",
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
