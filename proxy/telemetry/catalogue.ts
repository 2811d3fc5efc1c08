/**
 * Every metric there is. In: nothing. Out: name, type, labels and meaning of each, from which both
 * `/metrics` and `docs/metrics.md` are made, so that no one is exposed without a row there.
 */

import { type MetricSpec, PROCESS_METRICS } from "../../shared/metric_spec.ts";

/** Of everything that is counted by host or by route. */
const SERIES = {
  namespace: "Namespace of the route, empty for the three words below",
  host: "Host as routes name it, or `none`, `default` or `other`; see below",
  route: "Only with `--metrics-by=route`: the route's id, or one of the three words; see below",
};

/** Of everything that is counted by Service. */
const SERVICE = {
  namespace: "Namespace of the Service",
  service: "Its name, or `other`; see below",
};

const WORKER = { worker: "Number of the worker, from 0; its replacement has the same" };

const HOSTS = "Its hosts, ten at most, with a leading asterisk for the default certificate; " +
  "empty for a client certificate sent to backends";
const CERTIFICATE = "Its source: `namespace/name` of a Secret, or the path of a file";

export const METRICS = {
  pingress_requests_total: {
    type: "counter",
    help: "Completed requests, including rejected ones.",
    labels: {
      ...SERIES,
      method: "`GET`, `HEAD`, `POST`, `PUT`, `PATCH`, `DELETE`, `OPTIONS`, or `OTHER`",
      status: "`1xx` (tunnels) to `5xx`, which calls of gRPC have too that the proxy failed; " +
        "`none`: the client closed before the response",
    },
  },
  pingress_request_duration_seconds: {
    type: "histogram",
    help:
      "Time from the first byte of a request to the last byte of its response, without tunnels.",
    labels: SERIES,
  },
  pingress_request_bytes_total: {
    type: "counter",
    help: "Bytes of completed requests: heads and bodies, without chunk framing.",
    labels: SERIES,
  },
  pingress_response_bytes_total: {
    type: "counter",
    help: "Bytes sent in responses to completed requests.",
    labels: SERIES,
  },
  pingress_upstream_retries_total: {
    type: "counter",
    help: "Retries: attempts after the first one of a request.",
    labels: SERIES,
  },
  pingress_requests_active: {
    type: "gauge",
    help: "Requests in progress, upgraded connections included.",
  },
  pingress_route_info: {
    type: "gauge",
    help: "Always 1; the labels are what a route is and where it comes from. Only with " +
      "`--metrics-by=route`.",
    labels: {
      namespace: "Namespace of the object",
      host: "Host as the route names it",
      route: "The route's id",
      kind: "Kind of the object, such as `Ingress` or `HTTPRoute`",
      name: "Name of the object",
      service: "Services of its backends, separated by commas",
    },
  },
  pingress_metrics_entries: {
    type: "gauge",
    help: "Hosts (or routes) and Services in metrics; see `--metrics-limit`.",
    labels: {
      of: "`service`, and `host` or, with `--metrics-by=route`, `route`",
      state: "`own`: has series of its own; `other`: beyond the limit, so counted as `other`",
    },
  },
  pingress_filter_replies_total: {
    type: "counter",
    help: "Responses of filters, such as redirects and rejections, in place of the backend's.",
    labels: {
      filter:
        "Kind of the filter, such as `access`, `blocked-clients`, `https-redirect`, `redirect`",
      status: "`3xx`, `4xx` or `5xx`",
    },
  },
  pingress_request_errors_total: {
    type: "counter",
    help: "Requests that failed, by error code.",
    labels: { code: "The error's code, as in the access log" },
  },
  pingress_connections_total: {
    type: "counter",
    help: "Client connections accepted.",
  },
  pingress_connections_open: {
    type: "gauge",
    help: "Open client connections.",
  },
  pingress_connections_shed_total: {
    type: "counter",
    help: "Client connections rejected, or closed while idle, because a limit was reached.",
    labels: {
      reason: "`connection_limit`, `address_limit`, `overload` (refused); `idle` (closed)",
    },
  },
  pingress_http2_connections_ended_total: {
    type: "counter",
    help: "Client HTTP/2 connections closed with GOAWAY because of the client's behaviour.",
    labels: {
      reason: "Limit exceeded: `resets`, `control_frames`, `unread_acks`, `empty_frames`, " +
        "`tiny_frames`, `continuations`, `large_heads`. Violation of RFC 9113: `protocol_error`, " +
        "`flow_control_error`, `stream_closed`, `frame_size_error`, `compression_error`",
    },
  },
  pingress_descriptors_exhausted_total: {
    type: "counter",
    help: "Times that a worker found no free file descriptor, and closed idle connections.",
  },
  pingress_accept_errors_total: {
    type: "counter",
    help: "Failed calls of accept, usually because there are no free file descriptors.",
  },
  pingress_tls_handshake_errors_total: {
    type: "counter",
    help: "Failed TLS handshakes with clients.",
  },
  pingress_tunnels_total: {
    type: "counter",
    help: "Connections upgraded to WebSocket or another protocol.",
  },
  pingress_tunnels_open: {
    type: "gauge",
    help: "Open upgraded connections.",
  },
  pingress_upstream_requests_total: {
    type: "counter",
    help: "Attempts at endpoints, without those that the client broke off.",
    labels: {
      ...SERVICE,
      status: "Of the response: `1xx` (tunnels) to `5xx`; `none`: the attempt failed without one",
    },
  },
  pingress_upstream_duration_seconds: {
    type: "histogram",
    help: "Time of an attempt from the first byte of the request to the head of the response.",
    labels: SERVICE,
  },
  pingress_endpoints: {
    type: "gauge",
    help: "Endpoints of the active snapshot, without those behind DNS names.",
    labels: {
      ...SERVICE,
      state: "`ready`; `ejected` by outlier detection: the most of any worker, missing for none",
    },
  },
  pingress_upstream_connects_total: {
    type: "counter",
    help: "Connection attempts to endpoints.",
    labels: { result: "`ok` or `failed`" },
  },
  pingress_upstream_connections_reused_total: {
    type: "counter",
    help: "Attempts sent on a connection that was already open.",
  },
  pingress_upstream_ejections_total: {
    type: "counter",
    help: "Ejections of endpoints by outlier detection.",
    labels: {
      reason: "`no_answer`: connection or TLS handshake failed, or no response; `gateway_error`: " +
        "repeated 502, 503 or 504 responses",
    },
  },
  pingress_requests_held: {
    type: "gauge",
    help: "Pending requests that wait for an endpoint of a Service; see `--hold-timeout`.",
  },
  pingress_holds_total: {
    type: "counter",
    help: "Requests that found no endpoint and had to wait, by outcome.",
    labels: {
      outcome:
        "`served`: an endpoint became ready in time; `timeout`; `client_gone`; `no_room`: rejected " +
        "because of `--hold-limit`; `ended`: the Service was deleted, or this proxy stopped",
    },
  },
  pingress_upstream_retries_denied_total: {
    type: "counter",
    help: "Failed attempts that were not retried because `--retry-budget` was exhausted.",
  },
  pingress_stream_connected: {
    type: "gauge",
    help: "1 while connected to a controller's stream, else 0. Only with `--controller`.",
  },
  pingress_stream_connects_total: {
    type: "counter",
    help: "Connection attempts to the stream. Only with `--controller`.",
    labels: { result: "`ok` or `failed`" },
  },
  pingress_stream_updates_total: {
    type: "counter",
    help: "Updates received by the stream. Only with `--controller`.",
    labels: {
      kind: "`snapshot` (full), `delta` (changes) or `same` (the active snapshot is current)",
      result:
        "`applied`; `refused`: rejected, the active snapshot stays; `lost`: the delta did not " +
        "apply, so a full snapshot was requested",
    },
  },
  pingress_stream_sync_age_seconds: {
    type: "gauge",
    help:
      "Time since a controller last sent a message while the proxy was in sync; a few seconds in " +
      "normal operation. Only with `--controller`, from the first sync on.",
  },
  pingress_files_applied_age_seconds: {
    type: "gauge",
    help: "Time since a configuration of the files was last applied. Only without `--controller`.",
  },
  pingress_snapshot_loads_total: {
    type: "counter",
    help: "Configurations read, including the first; the active snapshot stays if one is rejected.",
    labels: { result: "`applied` or `refused`" },
  },
  pingress_snapshot_refused: {
    type: "gauge",
    help:
      "1 while the newest configuration of a source is rejected, and an older one stays active; else 0.",
    labels: { source: "`file`, or with `--controller` also `stream`" },
  },
  pingress_snapshot_age_seconds: {
    type: "gauge",
    help: "Time since the active snapshot was applied.",
  },
  pingress_snapshot_info: {
    type: "gauge",
    help: "Always 1; the label is the cluster of the active snapshot.",
    labels: { epoch: "UID of the namespace kube-system, or `file`" },
  },
  pingress_snapshot_resource_version: {
    type: "gauge",
    help: "Highest resourceVersion in the active snapshot.",
    labels: { kind: "The kind of Kubernetes objects" },
  },
  pingress_snapshot_routes: {
    type: "gauge",
    help: "Routes of the active snapshot.",
  },
  pingress_snapshot_upstreams: {
    type: "gauge",
    help: "Upstreams of the active snapshot.",
  },
  pingress_certificate_expiration_timestamp_seconds: {
    type: "gauge",
    help: "When a certificate in use expires, in seconds since the Unix epoch.",
    labels: { hosts: HOSTS, certificate: CERTIFICATE },
  },
  pingress_certificate_days_left: {
    type: "gauge",
    help: "Days until a certificate in use expires; negative once it has expired.",
    labels: { hosts: HOSTS, certificate: CERTIFICATE },
  },
  pingress_certificates_refused: {
    type: "gauge",
    help: "Invalid certificates of the active snapshot; the last good one may still be in use.",
  },
  pingress_workers: {
    type: "gauge",
    help: "Workers that serve traffic, including stuck ones.",
  },
  pingress_worker_restarts_total: {
    type: "counter",
    help: "Workers replaced after a failure.",
  },
  pingress_worker_stalls_total: {
    type: "counter",
    help:
      "Stalls: a worker did not respond for 2 s, for lack of CPU or because its event loop was blocked.",
  },
  pingress_worker_cpu_seconds_total: {
    type: "counter",
    help: "CPU time of a worker's thread, updated every second. Its rate is the worker's busy " +
      "ratio: 1 is fully busy.",
    labels: WORKER,
  },
  pingress_worker_delay_seconds: {
    type: "gauge",
    help: "Longest delay of a worker's event loop in the last minute.",
    labels: WORKER,
  },
  pingress_worker_heap_bytes: {
    type: "gauge",
    help: "JavaScript heap in use by a worker.",
    labels: WORKER,
  },
  pingress_limit: {
    type: "gauge",
    help: "Limits that this proxy was started with.",
    labels: {
      name:
        "`connections`: `--connection-limit`; `memory_bytes`: `--memory-limit`, missing for none",
    },
  },
  pingress_scrapes_aborted_total: {
    type: "counter",
    help: "Scrapes of these metrics whose client closed the connection or did not read in time.",
  },
  pingress_log_lines_dropped_total: {
    type: "counter",
    help: "Lines of the access log and of the log dropped because standard output was too slow.",
  },
  pingress_spans_exported_total: {
    type: "counter",
    help: "Spans that the collector has accepted. Only with `--otlp-endpoint`.",
  },
  pingress_spans_dropped_total: {
    type: "counter",
    help: "Spans that were lost or not made. Only with `--otlp-endpoint`.",
    labels: {
      reason: "`queue_full`: more than 4 MiB of spans waited; `rejected`: by the collector; " +
        "`unavailable`: the collector accepted nothing for too long; `error_limit`: more than 50 per " +
        "second and worker of failed requests that are not sampled",
    },
  },
  ...PROCESS_METRICS,
} as const satisfies Readonly<Record<string, MetricSpec>>;

export type MetricName = keyof typeof METRICS;
