/** Alerts of proxies: their process, their workers and their configuration. Out: the group. */
import type { AlertGroup } from "./alert.ts";
import { aggregate, increase, is, matches, rate, sum } from "../promql.ts";
import { reasons } from "./reasons.ts";
import type { Scope } from "./scope.ts";
import { threshold } from "./thresholds.ts";
import { vanished } from "./vanished.ts";

/** The pod's name, where Prometheus knows it. */
const PROXY = "{{ or $labels.pod $labels.instance }}";

const BY_PROXY = ["namespace", "pod", "instance"] as const;

/** Pods of the workload, as the controller sees it. */
function proxiesIn(
  scope: Scope,
  state: "desired" | "ready",
  by: readonly "namespace"[],
): string {
  const proxies = scope.series("pingress_controller_proxies", { state: is(state) });
  return aggregate("max", proxies, by);
}

/**
 * Above 0 where somebody needs proxies: no node may match them, and without Ingresses and Gateways there are
 * none. A controller of the version before has no series of Gateways: then Ingresses decide.
 */
function wanted(scope: Scope, by: readonly "namespace"[]): string {
  const ingresses = scope.series("pingress_controller_ingresses");
  const gateways = scope.series("pingress_controller_gateways");
  return `${proxiesIn(scope, "desired", by)} + ${
    aggregate("max", `${ingresses} or ${gateways}`, by)
  }`;
}

function noReadyProxy(scope: Scope): string {
  const workers = scope.series("pingress_workers");
  const [of, ofAny] = [wanted(scope, ["namespace"]), wanted(scope, [])];
  return [
    `(${proxiesIn(scope, "ready", ["namespace"])} == 0 and ${of} > 0)`,
    `or (${vanished(workers)} unless on (namespace) ${of} == 0)`,
    `or (absent(${workers}) unless on () (${vanished(workers)}) unless on () ${ofAny} == 0)`,
  ].join("\n");
}

function shedding(scope: Scope): string {
  const shed = scope.series("pingress_connections_shed_total", {
    reason: matches("connection_limit|overload"),
  });
  const overloaded = scope.series("pingress_request_errors_total", { code: is("overloaded") });
  return [
    sum(rate(shed, "5m"), BY_PROXY),
    `+ ${sum(rate(overloaded, "5m"), BY_PROXY)}`,
    `> ${threshold("shedRate")}`,
  ].join("\n");
}

/**
 * For how much longer than its last change a proxy that follows its files lacks one, in seconds: below 0 where
 * it has all. The controller that has published may have been replaced since.
 */
function lackOfFiles(scope: Scope): string {
  const published = scope.series("pingress_controller_published_timestamp_seconds");
  const newest = aggregate("max", `max_over_time(${published}[1d])`, ["namespace"]);
  const age = scope.series("pingress_files_applied_age_seconds");
  return `${newest} - on (namespace) group_right () (timestamp(${age}) - ${age})`;
}

/** The proxy that has the fewest is compared; one that runs without a configuration has none. */
function routesDropped(scope: Scope): string {
  const routes = scope.series("pingress_snapshot_routes");
  const orNone = `${routes} or 0 * ${scope.series("pingress_workers")}`;
  const fewest = aggregate("min", orNone, ["namespace"]);
  const most = aggregate("max", `max_over_time(${routes}[1h])`, ["namespace"]);
  return [`${fewest} < ${threshold("keptRoutes")} * ${most}`, `and ${most} >= 20`].join("\n");
}

export const PROXY_ALERTS: AlertGroup = {
  name: "proxies",
  title: "Proxies",
  alerts: [
    {
      name: "PingressNoReadyProxy",
      severity: "critical",
      hold: "1m",
      expression: noReadyProxy,
      summary: "No proxy is ready",
      description: "The workload of the proxies has no ready pod, or Prometheus scrapes no proxy.",
      runbook: {
        meaning: "The status of the DaemonSet or Deployment `pingress-proxy-server` has no ready " +
          "pod though there are Ingresses or Gateways; or no proxy of an installation returns metrics any more, or " +
          "no proxy at all.",
        impact: "No request is served, unless only the scrape fails.",
        diagnosis: [
          "[`pingress check`](check.md) lists the pods of the proxies and what keeps each from being " +
          "ready; `kubectl -n pingress-system get pods -o wide` has their states.",
          "`kubectl -n pingress-system logs -l app.kubernetes.io/name=pingress-proxy-server " +
          "--previous` shows why a proxy ended.",
          "If pods are ready, see *Targets* of Prometheus: a " +
          "[network policy](security.md#network-policies) may keep it from port 9090.",
        ],
        remedy: [
          "Follow the remedy of the [problem of the workload](workload.md#problems-of-the-workload).",
          "If proxies wait for a configuration, start the controller: its ConfigMap and Secrets are " +
          "missing.",
          "If only the scrape fails, label the namespace of Prometheus with " +
          "`pingress.io/metrics=allowed`.",
        ],
      },
    },
    {
      name: "PingressProxyMemoryHigh",
      severity: "warning",
      hold: "5m",
      expression: (scope) =>
        `${scope.series("process_resident_memory_bytes")} / ignoring (name) ${
          scope.series("pingress_limit", { name: is("memory_bytes") })
        } > ${threshold("memoryRatio")}`,
      summary: `Proxy ${PROXY} is close to its memory limit`,
      description: `Proxy ${PROXY} uses {{ $value | humanizePercentage }} of its --memory-limit. ` +
        "From 92 % on it closes idle connections, and from 95 % on it rejects requests.",
      runbook: {
        meaning:
          "The resident memory of a proxy exceeds `memoryRatio` of `--memory-limit`, which " +
          "the controller sets to the limit of the container.",
        impact:
          "None yet. From 92 %, connections are closed after their response, and idle ones at " +
          "once; from 95 %, new requests get 503; beyond the limit of the container, the kernel " +
          "ends the process.",
        diagnosis: [
          "`pingress_connections_open`, `pingress_requests_active` and `pingress_tunnels_open` of " +
          "the proxy: many connections, or slow requests with bodies, take memory.",
          "`pingress_snapshot_routes` and `pingress_snapshot_upstreams`: compare with the " +
          "[table of sizes](workload.md#memory).",
          "If neither grows and `pingress_worker_heap_bytes` does, report it.",
        ],
        remedy: [
          "Raise the memory limit of the proxies ([pod template](workload.md#custom-pod-template)), " +
          "or add proxies.",
          "Lower `--connection-limit`, or limit clients with `--connections-per-address`.",
        ],
      },
    },
    {
      name: "PingressProxyShedding",
      severity: "critical",
      hold: "2m",
      expression: shedding,
      summary: `Proxy ${PROXY} rejects clients`,
      description: `Proxy ${PROXY} rejects {{ $value | humanize }} connections and requests per ` +
        "second because it is at its connection limit or short of memory.",
      runbook: {
        meaning:
          "A proxy is at `--connection-limit`, or at 95 % of `--memory-limit`, and rejects " +
          "more than `shedRate` connections and requests per second. Limits per client address are " +
          "not part of it.",
        impact: "Some clients get 503, or a connection that is closed at once.",
        diagnosis: [
          "`sum by (reason) (rate(pingress_connections_shed_total[5m]))`: `connection_limit` is the " +
          "number of connections, `overload` is memory.",
          '`pingress_connections_open` beside `pingress_limit{name="connections"}`; ' +
          "`rate(pingress_connections_total[5m])` shows a flood.",
          "The [access log](access-log.md) counts requests by `client`.",
        ],
        remedy: [
          "Add proxies, or raise the limit and the memory of the proxies.",
          "If few addresses hold most connections, limit them with `--connections-per-address` " +
          "or at the load balancer.",
        ],
      },
    },
    {
      name: "PingressWorkerStalled",
      severity: "warning",
      hold: "0s",
      expression: (scope) =>
        `${increase(scope.series("pingress_worker_stalls_total"), "15m")} > ${
          threshold("workerStalls")
        }`,
      summary: `A worker of proxy ${PROXY} stalled`,
      description: `A worker of proxy ${PROXY} did not respond for 2 s or more.`,
      runbook: {
        meaning:
          "A worker, one of the threads that serve, did not respond to the main thread for " +
          "2 s. It lacks CPU, or a request keeps it busy; one that is stuck never responds again.",
        impact: "Connections of the worker wait, and hang if it is stuck. Other workers serve.",
        diagnosis: [
          "The log of the proxy has `Worker stalled`, and then `Worker responds again` or " +
          "[`Worker stuck`](operations.md#stalled-workers).",
          "`rate(container_cpu_cfs_throttled_periods_total[5m])` of the pod, and the CPU of its node: " +
          "without CPU every program stalls.",
        ],
        remedy: [
          "If the CPU is throttled, remove the CPU limit of the proxies, or raise it.",
          "If it is not, save the access log of that moment and report it; delete the pod if the " +
          "worker is stuck.",
        ],
      },
    },
    {
      name: "PingressWorkerRestarted",
      severity: "warning",
      hold: "0s",
      expression: (scope) =>
        `${increase(scope.series("pingress_worker_restarts_total"), "15m")} > 0`,
      summary: `A worker of proxy ${PROXY} failed`,
      description: `A worker of proxy ${PROXY} failed and was replaced.`,
      runbook: {
        meaning: "A worker ended because of an exception that nothing caught. This is a bug.",
        impact: "The connections of the worker were closed. Its replacement serves.",
        diagnosis: [
          "The log of the proxy has `Worker replaced` with the `reason`, and before it the exception.",
        ],
        remedy: [
          "Report it with the log. If it repeats, go back to the previous version " +
          "([versions](versions.md)).",
        ],
      },
    },
    {
      name: "PingressConfigurationStale",
      severity: "warning",
      hold: "5m",
      expression: (scope) =>
        [
          `${scope.series("pingress_stream_sync_age_seconds")} > ${threshold("staleSeconds")}`,
          `or ${scope.series("pingress_stream_connected")} == 0`,
          `or ${lackOfFiles(scope)} > ${threshold("staleSeconds")}`,
        ].join("\n"),
      summary: `Proxy ${PROXY} is behind the controller`,
      description:
        `Proxy ${PROXY} has no stream from a controller, or lacks changes that are older than ` +
        "${staleSeconds} s.",
      runbook: {
        meaning:
          "A proxy is not connected to the stream of a controller, or what it serves is not " +
          "the newest configuration. One that follows its files (`--proxy-updates=files`) lacks a " +
          "change that the controller has published.",
        impact:
          "Traffic is served with the last configuration. Changes of routes, certificates and " +
          "endpoints are late: without a stream they come by the mounted files, a minute later; if " +
          "the controller is down they do not come at all, and requests go to pods that are gone.",
        diagnosis: [
          "[`pingress check`](check.md) lists proxies that are behind, and why.",
          "The log of the proxy has `No stream from the controller` with a reason: " +
          "[troubleshooting](operations.md#proxy) has the action for each.",
          "If all proxies have this alert, see PingressNoLeader.",
          "Without a stream, compare `pingress_files_applied_age_seconds` of the proxies with " +
          "`time() - pingress_controller_published_timestamp_seconds`. The kubelet of a node writes changed " +
          "files after up to 90 s: if all proxies of one node lack a change, see its kubelet.",
        ],
        remedy: [
          "Follow the action of the reason.",
          "After a restore of etcd, [restart the proxies](operations.md#after-restoring-etcd).",
        ],
      },
    },
    {
      name: "PingressConfigurationRejected",
      severity: "critical",
      hold: "5m",
      expression: (scope) =>
        [
          `${
            aggregate(
              "max",
              scope.series("pingress_config_problems", {
                reason: reasons("ConfigurationRejected"),
              }),
              ["namespace"],
            )
          } > 0`,
          `or ${scope.series("pingress_snapshot_refused")} == 1`,
        ].join("\n"),
      summary: "A proxy rejects the configuration",
      description: "A proxy rejects the configuration of the controller, or of its file, and " +
        "serves the last good one.",
      runbook: {
        meaning: "A proxy received a configuration that it cannot or may not apply: it is older, " +
          "invalid, empty, too large for its memory, or loses too many routes.",
        impact:
          "Traffic is served with the last good configuration. No change reaches the proxy, " +
          "endpoints included.",
        diagnosis: [
          "[`pingress check`](check.md) names proxies that reject a configuration, with the reason; " +
          "so does the Event `ConfigurationRejected` of the workload.",
          "`/configuration` of the proxy has it in `stream.refused` " +
          "([troubleshooting](operations.md#inspect-the-active-configuration)); its log has " +
          "`Configuration rejected, keeping the active one` with `problem` and `remedy`.",
        ],
        remedy: [
          "Follow the remedy of [`ConfigurationRejected`](codes.md#configurationrejected).",
          "If it is `older` after a restore of etcd, " +
          "[restart the proxies](operations.md#after-restoring-etcd).",
          "If it is too large, raise the memory limit of the proxies.",
        ],
      },
    },
    {
      name: "PingressRoutesDropped",
      severity: "warning",
      hold: "5m",
      expression: routesDropped,
      summary: "Many routes are gone",
      description:
        "A proxy has {{ $value }} routes, less than ${keptRoutes} times what proxies had within " +
        "the last hour.",
      runbook: {
        meaning:
          "A proxy has fewer than half of the routes (`keptRoutes`) that proxies had within the " +
          "last hour: they left the configuration, or this proxy alone lacks them. One without any " +
          "configuration has none.",
        impact: "If it was not on purpose, requests of many hosts get 404.",
        diagnosis: [
          "`bottomk(5, pingress_snapshot_routes)` shows whether all proxies have the same. If one " +
          "differs, its log and `/configuration` " +
          "([troubleshooting](operations.md#inspect-the-active-configuration)) show what it has; a " +
          "proxy that rejects a configuration keeps its routes, see PingressConfigurationRejected.",
          "`count(pingress_workers unless on (job, instance) pingress_snapshot_routes)` counts " +
          "proxies without a configuration: their logs have `Waiting for the configuration`.",
          "`kubectl get ingress -A` and the deployments of the last hour: was a namespace, a chart " +
          "or an IngressClass deleted?",
          "[`pingress check`](check.md) lists Ingresses that nobody serves, and problems of classes.",
          "[`pingress diff`](diff.md) compares the manifests of a repository with the cluster.",
        ],
        remedy: [
          "Apply the deleted objects again. Proxies serve them within a second.",
          "If one proxy alone lacks routes, save its log, and delete its pod.",
          "To keep such a change from proxies, start them with `--max-route-loss` " +
          "([flags](flags.md)).",
        ],
      },
    },
  ],
};
