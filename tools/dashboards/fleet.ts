/**
 * The dashboard of the proxies. In: nothing. Out: its panels: utilization, saturation and errors of processes
 * and workers, and the configuration that each serves.
 */
import {
  aggregate,
  changes,
  increase,
  is,
  type Label,
  matches,
  rate,
  series,
  sum,
} from "../promql.ts";
import type { DashboardSpec } from "./dashboard.ts";
import { installation, OF_INSTALLATION } from "./installation.ts";
import { graph, stat, WINDOW } from "./panels.ts";
import { among, bottom, orZero, top } from "./traffic.ts";

const CHOSEN = { ...OF_INSTALLATION, instance: matches("$instance") };
const BY_PROXY: readonly Label[] = ["pod", "instance"];
const PROXY = "{{pod}} {{instance}}";
/** Every proxy has it, and no controller. */
const IS_PROXY = series("pingress_workers");

const MEMORY = among(series("process_resident_memory_bytes", CHOSEN), IS_PROXY);
const CONNECTIONS = series("pingress_connections_open", CHOSEN);
const CONNECTION_LIMIT = series("pingress_limit", { ...CHOSEN, name: is("connections") });
const BUSY = aggregate(
  "max",
  rate(series("pingress_worker_cpu_seconds_total", CHOSEN), WINDOW),
  BY_PROXY,
);

/** Per second, of one counter. */
function perSecond(selector: string, by: readonly Label[] = BY_PROXY): string {
  return sum(rate(selector, WINDOW), by);
}

export const FLEET: DashboardSpec = {
  name: "fleet",
  title: "Proxies",
  description: "Utilization, saturation and errors of proxies and their workers.",
  variables: [installation(IS_PROXY), {
    name: "instance",
    label: "Proxy",
    of: "instance",
    series: series("pingress_workers", OF_INSTALLATION),
  }],
  rows: [{
    title: "Now",
    panels: [
      stat({
        title: "Proxies",
        description: "Proxies that are scraped.",
        unit: "short",
        expression: aggregate("count", series("pingress_workers", CHOSEN)),
      }),
      stat({
        title: "Busiest worker",
        description: "The share of time for which a worker's thread is busy. From 1 on, " +
          "requests wait: add proxies or workers.",
        unit: "percentunit",
        expression: aggregate("max", BUSY),
        levels: { orange: 0.7, red: 0.9 },
      }),
      stat({
        title: "Connections",
        description: "The share of the connection limit that is in use, of the fullest proxy.",
        unit: "percentunit",
        expression: aggregate(
          "max",
          `${CONNECTIONS} / on (job, instance) ${CONNECTION_LIMIT}`,
        ),
        levels: { orange: 0.7, red: 0.9 },
      }),
      stat({
        title: "Behind the controller",
        description: "The time since a proxy was last in sync with a controller, of the latest.",
        unit: "s",
        expression: aggregate("max", series("pingress_stream_sync_age_seconds", CHOSEN)),
        levels: { orange: 30, red: 60 },
      }),
      stat({
        title: "Restarts of workers",
        description: "In the last hour.",
        unit: "short",
        expression: sum(increase(series("pingress_worker_restarts_total", CHOSEN), "1h")),
        levels: { red: 1 },
      }),
      stat({
        title: "Versions",
        description: "Versions of proxies in use; more than one during a rollout.",
        unit: "short",
        expression: aggregate(
          "count",
          aggregate("count", among(series("pingress_build_info", CHOSEN), IS_PROXY), ["version"]),
        ),
        levels: { orange: 2, red: 3 },
      }),
    ],
  }, {
    title: "Utilization",
    panels: [
      graph({
        title: "Busy ratio of workers",
        description: "The ten busiest; 1 is fully busy. If one worker is much busier than the " +
          "others, it has long-lived connections with much traffic.",
        unit: "percentunit",
        queries: [{
          expression: top(rate(series("pingress_worker_cpu_seconds_total", CHOSEN), WINDOW)),
          legend: `${PROXY} worker {{worker}}`,
        }],
      }),
      graph({
        title: "CPU of processes",
        description: "In cores: workers, supervisor and runtime; the ten busiest proxies.",
        unit: "short",
        queries: [{
          expression: top(
            among(rate(series("process_cpu_seconds_total", CHOSEN), WINDOW), IS_PROXY),
          ),
          legend: PROXY,
        }],
      }),
      graph({
        title: "Memory",
        description:
          "Resident memory of the ten largest proxies, and `--memory-limit` if there is " +
          "one.",
        unit: "bytes",
        queries: [
          { expression: top(MEMORY), legend: PROXY },
          {
            expression: aggregate(
              "min",
              series("pingress_limit", { ...CHOSEN, name: is("memory_bytes") }),
            ),
            legend: "limit",
          },
        ],
      }),
      graph({
        title: "JavaScript heap of workers",
        description:
          "The ten largest. It grows with routes and certificates; a steady rise without " +
          "these is a leak.",
        unit: "bytes",
        queries: [{
          expression: top(series("pingress_worker_heap_bytes", CHOSEN)),
          legend: `${PROXY} worker {{worker}}`,
        }],
      }),
      graph({
        title: "Client connections",
        description: "Open ones of the ten proxies with the most, and the limit of a proxy.",
        unit: "short",
        queries: [
          { expression: top(CONNECTIONS), legend: PROXY },
          { expression: aggregate("min", CONNECTION_LIMIT), legend: "limit" },
        ],
      }),
      graph({
        title: "New connections",
        description:
          "Per second: of clients, those of them that were upgraded, and to endpoints. " +
          "Attempts on a connection that was already open need none.",
        unit: "short",
        queries: [
          {
            expression: perSecond(series("pingress_connections_total", CHOSEN), []),
            legend: "clients",
          },
          {
            expression: perSecond(series("pingress_tunnels_total", CHOSEN), []),
            legend: "upgraded",
          },
          {
            expression: perSecond(
              series("pingress_upstream_connects_total", CHOSEN),
              ["result"],
            ),
            legend: "endpoints, {{result}}",
          },
          {
            expression: perSecond(
              series("pingress_upstream_connections_reused_total", CHOSEN),
              [],
            ),
            legend: "reused",
          },
        ],
      }),
    ],
  }, {
    title: "Saturation",
    panels: [
      graph({
        title: "Delay of event loops",
        description:
          "The longest of the last minute: so long a request has waited for its worker. " +
          "The ten workers with the longest.",
        unit: "s",
        queries: [{
          expression: top(series("pingress_worker_delay_seconds", CHOSEN)),
          legend: `${PROXY} worker {{worker}}`,
        }],
      }),
      graph({
        title: "Requests in progress",
        description: "Of clients, those that wait for an endpoint, and upgraded connections.",
        unit: "short",
        queries: [
          { expression: sum(series("pingress_requests_active", CHOSEN)), legend: "in progress" },
          { expression: sum(series("pingress_requests_held", CHOSEN)), legend: "held" },
          { expression: sum(series("pingress_tunnels_open", CHOSEN)), legend: "upgraded" },
        ],
      }),
      graph({
        title: "Shed connections",
        description: "Refused or closed because of a limit.",
        unit: "short",
        queries: [{
          expression: perSecond(series("pingress_connections_shed_total", CHOSEN), ["reason"]),
          legend: "{{reason}}",
        }],
      }),
      graph({
        title: "Requests that waited for an endpoint",
        description: "Per second, by outcome; with `--hold-timeout`.",
        unit: "reqps",
        queries: [{
          expression: perSecond(series("pingress_holds_total", CHOSEN), ["outcome"]),
          legend: "{{outcome}}",
        }],
      }),
      graph({
        title: "Lost signals",
        description: "Log lines, scrapes and spans that were dropped. If there are any, what " +
          "logs and traces show is incomplete.",
        unit: "short",
        queries: [
          {
            expression: perSecond(series("pingress_log_lines_dropped_total", CHOSEN), []),
            legend: "log lines",
          },
          {
            expression: perSecond(series("pingress_scrapes_aborted_total", CHOSEN), []),
            legend: "scrapes",
          },
          {
            expression: orZero(perSecond(series("pingress_spans_dropped_total", CHOSEN), [])),
            legend: "spans",
          },
          {
            expression: sum(series("pingress_metrics_entries", { ...CHOSEN, state: is("other") })),
            legend: "hosts and Services without series",
          },
        ],
      }),
      graph({
        title: "Spans",
        description: "Per second, with `--otlp-endpoint`: those that the collector has accepted, " +
          "and those that were lost or not made, by reason.",
        unit: "short",
        queries: [
          {
            expression: perSecond(series("pingress_spans_exported_total", CHOSEN), []),
            legend: "exported",
          },
          {
            expression: perSecond(series("pingress_spans_dropped_total", CHOSEN), ["reason"]),
            legend: "{{reason}}",
          },
        ],
      }),
    ],
  }, {
    title: "Errors",
    panels: [
      graph({
        title: "Workers and processes",
        description: "Stalls: a worker did not respond for 2 s. Restarts of workers: it was " +
          "replaced; of processes: all of them, within the same pod. The ten proxies with the " +
          "most of each.",
        unit: "short",
        queries: [
          {
            expression: top(sum(
              increase(series("pingress_worker_stalls_total", CHOSEN), WINDOW),
              BY_PROXY,
            )),
            legend: `${PROXY} stalls`,
          },
          {
            expression: top(sum(
              increase(series("pingress_worker_restarts_total", CHOSEN), WINDOW),
              BY_PROXY,
            )),
            legend: `${PROXY} restarts of workers`,
          },
          {
            expression: top(
              among(changes(series("process_start_time_seconds", CHOSEN), WINDOW), IS_PROXY),
            ),
            legend: `${PROXY} restarts of the process`,
          },
        ],
      }),
      graph({
        title: "Client connections",
        description: "Failed handshakes and accepts, and exhausted file descriptors.",
        unit: "short",
        queries: [
          {
            expression: perSecond(series("pingress_tls_handshake_errors_total", CHOSEN), []),
            legend: "TLS handshakes",
          },
          {
            expression: perSecond(series("pingress_accept_errors_total", CHOSEN), []),
            legend: "accepts",
          },
          {
            expression: perSecond(series("pingress_descriptors_exhausted_total", CHOSEN), []),
            legend: "no descriptors",
          },
        ],
      }),
      graph({
        title: "Closed HTTP/2 connections",
        description: "Because of the client's behaviour: attacks, or broken clients.",
        unit: "short",
        queries: [{
          expression: perSecond(
            series("pingress_http2_connections_ended_total", CHOSEN),
            ["reason"],
          ),
          legend: "{{reason}}",
        }],
      }),
      graph({
        title: "Ejected endpoints",
        description: "Ejections by outlier detection, and failed connections to endpoints.",
        unit: "short",
        queries: [
          {
            expression: perSecond(
              series("pingress_upstream_ejections_total", CHOSEN),
              ["reason"],
            ),
            legend: "ejected, {{reason}}",
          },
          {
            expression: perSecond(
              series("pingress_upstream_connects_total", { ...CHOSEN, result: is("failed") }),
              [],
            ),
            legend: "failed connections",
          },
        ],
      }),
    ],
  }, {
    title: "Configuration",
    panels: [
      graph({
        title: "Time since the last sync",
        description:
          "With a controller; the ten longest. Beyond some seconds, changes do not arrive.",
        unit: "s",
        queries: [{
          expression: top(series("pingress_stream_sync_age_seconds", CHOSEN)),
          legend: PROXY,
        }],
      }),
      graph({
        title: "Updates",
        description: "Received by the stream. Refused: the proxy keeps what it serves.",
        unit: "short",
        queries: [
          {
            expression: perSecond(
              series("pingress_stream_updates_total", CHOSEN),
              ["kind", "result"],
            ),
            legend: "{{kind}} {{result}}",
          },
          {
            expression: perSecond(
              series("pingress_snapshot_loads_total", { ...CHOSEN, result: is("refused") }),
              [],
            ),
            legend: "configurations refused",
          },
        ],
      }),
      graph({
        title: "Connected to a controller",
        description: "1 while connected; ten proxies, those that are not connected first.",
        unit: "short",
        max: 1,
        queries: [{
          expression: bottom(series("pingress_stream_connected", CHOSEN)),
          legend: PROXY,
        }],
      }),
      graph({
        title: "Attempts to connect to a controller",
        description: "Per second. Failed ones go on until a controller is reached; see the log " +
          "of the proxy.",
        unit: "short",
        queries: [{
          expression: perSecond(series("pingress_stream_connects_total", CHOSEN), ["result"]),
          legend: "{{result}}",
        }],
      }),
      graph({
        title: "Routes",
        description:
          "Of the active snapshot, of the ten proxies with the fewest. All have the same " +
          "soon after a change.",
        unit: "short",
        queries: [{
          expression: bottom(series("pingress_snapshot_routes", CHOSEN)),
          legend: PROXY,
        }],
      }),
    ],
  }],
};
