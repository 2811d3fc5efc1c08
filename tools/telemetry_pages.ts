/**
 * The pages of what programs tell. In: the catalogues of metrics, and the fields of the access log.
 * Out: the text of `docs/metrics.md` and `docs/access-log.md`.
 */
import { ACCESS_LOG_FIELDS } from "../proxy/telemetry/access_log.ts";
import { CONTROLLER_METRICS } from "../controller/metrics.ts";
import { ERROR_KINDS } from "../proxy/errors.ts";
import { DURATION_BOUNDS } from "../proxy/telemetry/block.ts";
import { METRICS } from "../proxy/telemetry/catalogue.ts";
import type { MetricSpec } from "../shared/metric_spec.ts";
import { MAX_SLOTS } from "../proxy/telemetry/route_slots.ts";

/** Where the pages stand, relative to the repository. */
export const METRICS_PAGE = "docs/metrics.md";
export const ACCESS_LOG_PAGE = "docs/access-log.md";

const MADE = "Made from the program itself by `deno task docs:update`; do not edit.";

/** One row a metric, in the order of the catalogue. */
export function metricsPage(): string {
  return [
    "# Metrics",
    "",
    MADE,
    "",
    "## The proxy",
    "",
    "`GET /metrics` on the admin port, for anyone who reaches it, in the text format 0.0.4 of",
    "Prometheus. Numbers are summed over all workers, and counters stay when a worker is replaced.",
    "Values of labels come from the configuration and from fixed sets, so no client can add series.",
    "A route that has had no request has no series; when it goes, its series go. What is counted",
    "by route is counted when a request ends.",
    "",
    ...metricsTable(METRICS),
    "",
    "## The label `route`",
    "",
    "A route's id is its host, path type and path: `app.example.com Prefix /api`. `none` is for",
    "requests that no route took or that were refused before one was looked for, `default` for those",
    `of the default backend, \`other\` for routes beyond the first ${
      MAX_SLOTS.toLocaleString("en")
    }`,
    "and for requests whose route went while they were under way.",
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
    "says which side it was: the client's (`downstream`), the backend's (`upstream`), or the",
    "configuration's or ours (`internal`).",
    "",
    "| code | status | whose | meaning |",
    "| --- | --- | --- | --- |",
    ...Object.entries(ERROR_KINDS).map(([code, { status, side, text }]) =>
      `| \`${code}\` | ${status || "–"} | ${side} | ${cell(text)} |`
    ),
    "",
    "## The controller",
    "",
    "Its admin port has a `/metrics` of its own. Each replica counts for itself; what is written is",
    "counted by the one that leads. The bounds of durations are 1 ms to 10 s.",
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
  return ["| metric | type | what it says | labels |", "| --- | --- | --- | --- |", ...rows];
}

/** One row a field, in the order of a line. */
export function accessLogPage(): string {
  return [
    "# Access log",
    "",
    MADE,
    "",
    "One JSON object a line on standard output, between the lines of events; `--access-log=false`",
    "turns it off. A field that has nothing to say is left out. Control characters, quotes and what",
    "turns the direction of text are escaped, bytes above ASCII stand as one character each",
    "(latin1). Of each value 1 KiB is written at most, escapes included; a value that is cut ends in",
    "`…` and its length, as in `… (30000 characters)`. Lines leave in batches, every 100 ms or 64 KiB.",
    "What standard output does not take in time is dropped, counted in",
    "`pingress_log_lines_dropped_total` and told of in the log: it never holds up traffic.",
    "",
    "| field | what it says |",
    "| --- | --- |",
    ...Object.entries(ACCESS_LOG_FIELDS).map(([name, text]) => `| \`${name}\` | ${cell(text)} |`),
    "",
  ].join("\n");
}

/** Text that a table cell shows as it stands; what is in backquotes stays code. */
function cell(text: string): string {
  return text.replace(/[\\|<*]/g, "\\$&");
}
