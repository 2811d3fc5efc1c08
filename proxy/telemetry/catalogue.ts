/**
 * Every metric there is. In: nothing. Out: name, type, labels and meaning of each, from which both
 * `/metrics` and `docs/metrics.md` are made, so that no one is exposed without a row there.
 */

import type { MetricSpec } from "../../shared/metric_spec.ts";

const ROUTE = "A route's id, or `none`, `default` or `other`; see below";

export const METRICS = {
  pingress_requests_total: {
    type: "counter",
    help: "Requests that have ended, refused ones included.",
    labels: {
      route: ROUTE,
      method: "`GET`, `HEAD`, `POST`, `PUT`, `PATCH`, `DELETE`, `OPTIONS`, or `OTHER`",
      status: "`1xx` (tunnels) to `5xx`; `none`: the client was gone before an answer",
    },
  },
  pingress_request_duration_seconds: {
    type: "histogram",
    help: "From a request's first byte to its answer's last; tunnels are left out.",
    labels: { route: ROUTE },
  },
  pingress_request_bytes_total: {
    type: "counter",
    help: "Bytes of requests that have ended: heads and bodies, without the framing of chunks.",
    labels: { route: ROUTE },
  },
  pingress_response_bytes_total: {
    type: "counter",
    help: "Bytes of answers to requests that have ended, as they left.",
    labels: { route: ROUTE },
  },
  pingress_upstream_retries_total: {
    type: "counter",
    help: "Further times that an endpoint was asked for the same request.",
    labels: { route: ROUTE },
  },
  pingress_request_errors_total: {
    type: "counter",
    help: "Requests that ended with an error.",
    labels: { code: "The error's code, as in the access log" },
  },
  pingress_connections_total: {
    type: "counter",
    help: "Connections of clients that were served.",
  },
  pingress_connections_open: {
    type: "gauge",
    help: "Connections of clients that are open.",
  },
  pingress_connections_shed_total: {
    type: "counter",
    help: "Connections of clients that were refused, or closed while idle, for want of room.",
    labels: {
      reason: "`connection_limit`, `address_limit`, `overload` (refused); `idle` (closed)",
    },
  },
  pingress_http2_connections_ended_total: {
    type: "counter",
    help: "HTTP/2 connections of clients that were ended (GOAWAY) for what the client did.",
    labels: {
      reason: "Past a limit: `resets`, `control_frames`, `unread_acks`, `empty_frames`, " +
        "`tiny_frames`, `continuations`, `large_heads`. Against RFC 9113: `protocol_error`, " +
        "`flow_control_error`, `stream_closed`, `frame_size_error`, `compression_error`",
    },
  },
  pingress_accept_errors_total: {
    type: "counter",
    help: "Connections that the system could not hand over, mostly for want of descriptors.",
  },
  pingress_tls_handshake_errors_total: {
    type: "counter",
    help: "TLS handshakes with clients that failed.",
  },
  pingress_tunnels_total: {
    type: "counter",
    help: "Connections that became a WebSocket or another protocol.",
  },
  pingress_tunnels_open: {
    type: "gauge",
    help: "Such connections that are open.",
  },
  pingress_upstream_connects_total: {
    type: "counter",
    help: "Attempts to connect to an endpoint.",
    labels: { result: "`ok` or `failed`" },
  },
  pingress_upstream_connections_reused_total: {
    type: "counter",
    help: "Times that an endpoint was asked on a connection that was open already.",
  },
  pingress_upstream_ejections_total: {
    type: "counter",
    help: "Times that an endpoint was left out for a while because it kept failing.",
    labels: {
      reason: "`no_answer`: no connection, no TLS or no answer; `gateway_error`: it kept " +
        "answering 502, 503 or 504",
    },
  },
  pingress_requests_held: {
    type: "gauge",
    help: "Requests that wait for a Service to get an endpoint; see `--hold-timeout`.",
  },
  pingress_holds_total: {
    type: "counter",
    help: "Times that a request was to wait for an endpoint, by what became of it.",
    labels: {
      outcome:
        "`served`: the list had some in time; `timeout`; `client_gone`; `no_room`: not held, " +
        "for `--hold-limit`; `ended`: the Service went, or this proxy stopped",
    },
  },
  pingress_upstream_retries_denied_total: {
    type: "counter",
    help: "Failures that were answered because `--retry-budget` was used up.",
  },
  pingress_stream_connected: {
    type: "gauge",
    help: "1 while a controller serves the stream, else 0; only with `--controller`.",
  },
  pingress_stream_connects_total: {
    type: "counter",
    help: "Times that a stream was asked for; only with `--controller`.",
    labels: { result: "`ok` or `failed`" },
  },
  pingress_stream_updates_total: {
    type: "counter",
    help: "Configurations that came by the stream; only with `--controller`.",
    labels: {
      kind: "`snapshot` (whole), `delta` (what has changed) or `same` (as it is in force)",
      result:
        "`applied`; `refused`: the last good one stays in force; `lost`: it did not fit, so " +
        "the whole was asked for",
    },
  },
  pingress_stream_sync_age_seconds: {
    type: "gauge",
    help:
      "Time since a controller last said anything while what it had sent was in force: seconds " +
      "while all is well. Only with `--controller`, once there was a first time.",
  },
  pingress_snapshot_loads_total: {
    type: "counter",
    help: "Configurations read, the first included; a refused one leaves the last good in force.",
    labels: { result: "`applied` or `refused`" },
  },
  pingress_snapshot_age_seconds: {
    type: "gauge",
    help: "Time since the snapshot in force was applied.",
  },
  pingress_snapshot_info: {
    type: "gauge",
    help: "Always 1: which cluster the snapshot in force is of.",
    labels: { epoch: "UID of the namespace kube-system, or `file`" },
  },
  pingress_snapshot_resource_version: {
    type: "gauge",
    help: "Highest resourceVersion that the snapshot in force has seen.",
    labels: { kind: "Kind of Kubernetes objects" },
  },
  pingress_snapshot_routes: {
    type: "gauge",
    help: "Routes of the snapshot in force.",
  },
  pingress_snapshot_upstreams: {
    type: "gauge",
    help: "Upstreams of the snapshot in force.",
  },
  pingress_certificate_days_left: {
    type: "gauge",
    help: "Days until a certificate in use expires; negative afterwards.",
    labels: {
      hosts: "The hosts that it is used for, ten at most, an asterisk before them if it is the " +
        "default; none where only backends see it",
      certificate: "Where it comes from: `namespace/name` of a Secret, or the path of a file",
    },
  },
  pingress_certificates_refused: {
    type: "gauge",
    help:
      "Certificates of the snapshot in force that cannot be used, though a last good one may stay.",
  },
  pingress_workers: {
    type: "gauge",
    help: "Event loops that serve traffic, a stuck one included.",
  },
  pingress_worker_restarts_total: {
    type: "counter",
    help: "Workers that failed and were replaced.",
  },
  pingress_worker_stalls_total: {
    type: "counter",
    help:
      "Times that a worker did not answer for 2 s: a lack of CPU, or something that holds its event loop.",
  },
  pingress_log_lines_dropped_total: {
    type: "counter",
    help: "Lines of the access log and of the event log that standard output did not take in time.",
  },
  pingress_build_info: {
    type: "gauge",
    help: "Always 1: what is running.",
    labels: { version: "Of Pingress", deno: "Of Deno" },
  },
  process_start_time_seconds: {
    type: "gauge",
    help: "When the process started, in seconds since the epoch.",
  },
  process_resident_memory_bytes: {
    type: "gauge",
    help: "Memory of the process that is in use.",
  },
} as const satisfies Readonly<Record<string, MetricSpec>>;

export type MetricName = keyof typeof METRICS;
