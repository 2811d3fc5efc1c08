/**
 * What the controller counts. In: what happens. Out: the text of `/metrics`. Every metric stands in
 * the catalogue, from which `docs/metrics.md` is made too; values of labels come from fixed sets and
 * from the kinds that are watched, so no user can add series.
 */
import { Counter, Gauge, Histogram, Registry } from "prom-client";
import type { CallReport } from "./kube/client.ts";
import { type MetricSpec, PROCESS_METRICS } from "../shared/metric_spec.ts";
import type { Problem } from "../shared/problem.ts";
import { VERSION } from "../shared/version.ts";

const JOB = "`authority`, `publish`, `workload` or `cleanup`";

/** The jobs that write to the API server, as the label `job` names them. */
export type JobName = "authority" | "publish" | "workload" | "cleanup";

/** In the order of the page. */
export const CONTROLLER_METRICS = {
  pingress_config_problems: {
    type: "gauge",
    help: "Current problems of users' objects.",
    labels: { reason: "The problem's reason, as in Events" },
  },
  pingress_controller_ingresses: {
    type: "gauge",
    help: "Ingresses of the served classes.",
    labels: { accepted: "`all`: served as written; `partly`; `none`" },
  },
  pingress_controller_gateways: {
    type: "gauge",
    help: "Gateways of the served classes with a listener that is served.",
  },
  pingress_controller_reconciles_total: {
    type: "counter",
    help: "Translations of all objects.",
    labels: { result: "`changed`, `same`, or `failed`: the published configuration stays" },
  },
  pingress_controller_reconcile_failed: {
    type: "gauge",
    help: "1 if the last translation failed, else 0.",
  },
  pingress_controller_reconcile_duration_seconds: {
    type: "histogram",
    help: "Duration of a translation, including the wait for Secrets.",
  },
  pingress_controller_changes_waiting_seconds: {
    type: "gauge",
    help: "Age of the oldest change that is not translated yet; 0 if there is none.",
  },
  pingress_controller_job_runs_total: {
    type: "counter",
    help: "Runs of the jobs that write to the API server.",
    labels: { job: JOB, result: "`done`, `again`: more is left to do later, or `failed`" },
  },
  pingress_controller_job_failed: {
    type: "gauge",
    help: "1 if the last run of a job failed, else 0; 0 on replicas that do not lead.",
    labels: { job: JOB },
  },
  pingress_controller_job_duration_seconds: {
    type: "histogram",
    help: "Duration of a run of a job.",
    labels: { job: JOB },
  },
  pingress_controller_writes_waiting: {
    type: "gauge",
    help: "Users' objects in the work queues for writes.",
    labels: { of: "`status`, `events`, `finalizers` or, for Gateway API, `gateways`" },
  },
  pingress_controller_published_bytes: {
    type: "gauge",
    help: "Size of the last published configuration, in bytes.",
    labels: { kind: "`ConfigMap` or `Secret`" },
  },
  pingress_controller_published_timestamp_seconds: {
    type: "gauge",
    help:
      "When this replica last published a configuration with another content, in seconds since the " +
      "Unix epoch; missing until it has.",
  },
  pingress_controller_objects: {
    type: "gauge",
    help: "Objects in the informers' stores.",
    labels: { resource: "The kind's name in the API, such as `ingresses`" },
  },
  pingress_controller_watch_restarts_total: {
    type: "counter",
    help: "Watches that ended and were restarted.",
    labels: {
      resource: "The kind's name in the API",
      reason:
        "`ended` in order, `silent`, `broken`, `refused`, `expired`, `garbled`, or `asked`: restarted on request",
    },
  },
  pingress_controller_api_requests_total: {
    type: "counter",
    help:
      "Completed calls to the API server, without the answers 403 and 404 to whether it serves " +
      "Gateway API and allows to list it.",
    labels: {
      verb: "`get`, `list`, `watch`, `create`, `update`, `apply`, `patch` or `delete`",
      resource: "The kind's name in the API, with its subresource",
      code: "The status code, or `0` if there was no complete response",
    },
  },
  pingress_controller_api_request_duration_seconds: {
    type: "histogram",
    help: "Duration of calls to the API server, without watches.",
    labels: { verb: "As above" },
  },
  pingress_controller_leader: {
    type: "gauge",
    help: "1 if this replica is the leader, else 0.",
  },
  pingress_controller_synced: {
    type: "gauge",
    help: "1 if every watched kind has been listed completely, else 0.",
  },
  pingress_controller_proxies: {
    type: "gauge",
    help: "Pods of the proxy workload.",
    labels: { state: "`desired`, `updated` or `ready`" },
  },
  pingress_controller_stream_proxies: {
    type: "gauge",
    help: "Proxies connected to this replica's stream.",
    labels: {
      state:
        "`connected`, or `in-sync`: serving the newest configuration; `relayed`: connected to " +
        "another replica, which relays what they acknowledge to this one, the leader",
    },
  },
  pingress_controller_stream_updates_total: {
    type: "counter",
    help: "Updates sent to proxies.",
    labels: {
      kind: "`snapshot` (full), `delta` (changes) or `same` (the proxy was already up to date)",
    },
  },
  pingress_controller_stream_sent_bytes_total: {
    type: "counter",
    help: "Bytes sent to proxies, before encryption.",
  },
  pingress_controller_stream_refused_updates_total: {
    type: "counter",
    help: "Updates rejected by proxies.",
    labels: { code: "`older`, `empty`, `invalid`, `loss` or `failed`" },
  },
  pingress_controller_stream_lost_total: {
    type: "counter",
    help: "Requests of proxies for a full snapshot after a delta that did not apply.",
  },
  pingress_controller_stream_refusals_total: {
    type: "counter",
    help: "Rejected requests for a stream.",
    labels: { status: "Status code of the response, such as `401`" },
  },
  pingress_controller_stream_ends_total: {
    type: "counter",
    help: "Streams that ended, by reason.",
    labels: {
      reason:
        "`closed` by the proxy or the network, `replaced` by a newer stream of the same pod, " +
        "`aged`, `draining`, `behind`: this replica is cut off from the API server and the proxy is newer, " +
        "`silent`, `slow`, `expired`: its token, `pod_gone`: the pod of its token was deleted, `flooding`, " +
        "`garbled`, or `failed` because of a bug",
    },
  },
  pingress_controller_stream_propagation_seconds: {
    type: "histogram",
    help: "Time from the end of a translation until a proxy reports it as applied.",
  },
  pingress_controller_token_reviews_total: {
    type: "counter",
    help: "Reviews of proxies' tokens.",
    labels: {
      result:
        "`good`, `bad` or `unknown`: verdict of the API server; without a call to it: `cached`, " +
        "`limited` by the rate limit, `malformed`",
    },
  },
  pingress_controller_event_loop_delay_seconds: {
    type: "gauge",
    help: "Longest delay of the event loop in the last minute.",
  },
  pingress_controller_memory_bytes: {
    type: "gauge",
    help: "Resident memory of the process; the same as `process_resident_memory_bytes`.",
  },
  pingress_controller_info: {
    type: "gauge",
    help: "Always 1; the label is the running version.",
    labels: { version: "Version of Pingress" },
  },
  ...PROCESS_METRICS,
} as const satisfies Record<string, MetricSpec>;

export type MetricName = keyof typeof CONTROLLER_METRICS;

/** Seconds. */
const BOUNDS = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

export const RECONCILE_RESULTS = ["changed", "same", "failed"] as const;
export type ReconcileResult = (typeof RECONCILE_RESULTS)[number];

const JOB_RESULTS = ["done", "again", "failed"] as const;
/** Of a run that did something. */
export type JobResult = (typeof JOB_RESULTS)[number];

export class ControllerMetrics {
  readonly #registry = new Registry();
  readonly #metrics = new Map<MetricName, Counter | Gauge | Histogram>();
  readonly #reasons = new Set<string>();

  constructor() {
    for (const [name, spec] of Object.entries(CONTROLLER_METRICS) as [MetricName, MetricSpec][]) {
      const { type, help, labels = {} } = spec;
      const configuration = {
        name,
        help,
        labelNames: Object.keys(labels),
        registers: [this.#registry],
      };
      const metric = type === "counter"
        ? new Counter(configuration)
        : type === "gauge"
        ? new Gauge(configuration)
        : new Histogram({ ...configuration, buckets: BOUNDS });
      this.#metrics.set(name, metric);
    }
    // prom-client begins gauges without labels with 0, which would be 1970.
    (this.#metrics.get("pingress_controller_published_timestamp_seconds") as Gauge).remove();
    this.set("pingress_controller_info", 1, { version: VERSION });
    this.set("pingress_build_info", 1, { version: VERSION, deno: Deno.version.deno });
    this.set("process_start_time_seconds", Date.now() / 1000);
    this.#preset(
      "pingress_controller_reconciles_total",
      RECONCILE_RESULTS.map((result) => ({ result })),
    );
  }

  get contentType(): string {
    return this.#registry.contentType;
  }

  /** The text format of Prometheus. */
  text(): Promise<string> {
    return this.#registry.metrics();
  }

  count(name: MetricName, labels: Record<string, string> = {}): void {
    (this.#metrics.get(name) as Counter).inc(labels);
  }

  /** @param milliseconds of a translation that ended just now. */
  reconciled(result: ReconcileResult, milliseconds: number): void {
    this.count("pingress_controller_reconciles_total", { result });
    this.set("pingress_controller_reconcile_failed", Number(result === "failed"));
    this.time("pingress_controller_reconcile_duration_seconds", milliseconds);
  }

  /** A job that will run. */
  hasJob(job: JobName): void {
    this.#preset(
      "pingress_controller_job_runs_total",
      JOB_RESULTS.map((result) => ({ job, result })),
    );
    this.set("pingress_controller_job_failed", 0, { job });
  }

  /** @param result `idle`: it was not this replica's to do. @param milliseconds of a run that ended just now. */
  ran(job: JobName, result: JobResult | "idle", milliseconds: number): void {
    this.set("pingress_controller_job_failed", Number(result === "failed"), { job });
    if (result === "idle") return;
    this.count("pingress_controller_job_runs_total", { job, result });
    this.time("pingress_controller_job_duration_seconds", milliseconds, { job });
  }

  /** A series that begins with its first event has no increase for it. */
  #preset(name: MetricName, all: readonly Record<string, string>[]): void {
    const counter = this.#metrics.get(name) as Counter;
    for (const labels of all) counter.inc(labels, 0);
  }

  /** Sets a counter that is kept elsewhere, and has no labels. */
  total(name: MetricName, value: number): void {
    const counter = this.#metrics.get(name) as Counter;
    counter.reset();
    counter.inc(value);
  }

  set(name: MetricName, value: number, labels: Record<string, string> = {}): void {
    (this.#metrics.get(name) as Gauge).set(labels, value);
  }

  /** @param milliseconds of what ended just now. */
  time(name: MetricName, milliseconds: number, labels: Record<string, string> = {}): void {
    (this.#metrics.get(name) as Histogram).observe(labels, milliseconds / 1000);
  }

  called({ verb, resource, code, milliseconds }: CallReport): void {
    this.count("pingress_controller_api_requests_total", { verb, resource, code: String(code) });
    if (verb === "watch") return;
    this.time("pingress_controller_api_request_duration_seconds", milliseconds, { verb });
  }

  /** What informers have counted themselves. */
  watches(
    all: readonly {
      readonly resource: string;
      readonly stats: {
        readonly objects: number;
        readonly restarts: Readonly<Record<string, number>>;
      };
    }[],
  ): void {
    const objects = new Map<string, number>();
    const restarts = new Map<string, number>();
    for (const { resource, stats } of all) {
      objects.set(resource, (objects.get(resource) ?? 0) + stats.objects);
      for (const [reason, count] of Object.entries(stats.restarts)) {
        const key = JSON.stringify([resource, reason]);
        restarts.set(key, (restarts.get(key) ?? 0) + count);
      }
    }
    for (const [resource, count] of objects) {
      this.set("pingress_controller_objects", count, { resource });
    }
    const metric = this.#metrics.get("pingress_controller_watch_restarts_total") as Counter;
    metric.reset();
    for (const [key, count] of restarts) {
      const [resource, reason] = JSON.parse(key);
      metric.inc({ resource, reason }, count);
    }
  }

  /** A reason that has no problem any more goes to 0, so that alerts on it end. */
  problems(problems: readonly Problem[]): void {
    const counts = new Map([...this.#reasons].map((reason) => [reason, 0]));
    for (const { reason } of problems) counts.set(reason, (counts.get(reason) ?? 0) + 1);
    for (const [reason, count] of counts) {
      this.#reasons.add(reason);
      this.set("pingress_config_problems", count, { reason });
    }
  }
}
