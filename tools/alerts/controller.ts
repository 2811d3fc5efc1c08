/** Alerts of the controller and of what it publishes. In: the catalogue. Out: the group. */
import type { AlertGroup } from "./alert.ts";
import { aggregate, increase, is, type Matcher, matches, sum } from "../promql.ts";
import { reasons } from "./reasons.ts";
import type { Scope } from "./scope.ts";
import { threshold } from "./thresholds.ts";
import { vanished } from "./vanished.ts";

/** What keeps all changes from proxies. */
const NOT_PUBLISHED = reasons(
  "ConfigurationNotPublished",
  "ConfigurationTooLarge",
  "ConfigurationTooLargeForStream",
  "KeysTooLarge",
);

/** What keeps a part of the objects from proxies: a bound, or a translation of them that fails. */
const LEFT_OUT = reasons(
  "ClusterLimitExceeded",
  "NamespaceLimitExceeded",
  "ObjectTooLarge",
  "EndpointLimitExceeded",
  "Quarantined",
);

const BY_REPLICA = ["namespace", "pod", "instance"] as const;

/** Objects with a problem of such a reason. */
function problems(scope: Scope, reason: Matcher): string {
  return aggregate("max", scope.series("pingress_config_problems", { reason }), [
    "namespace",
    "reason",
  ]);
}

function noLeader(scope: Scope): string {
  const leader = scope.series("pingress_controller_leader");
  return [
    `${sum(leader, ["namespace"])} == 0`,
    `or (${vanished(leader)})`,
    `or (absent(${leader}) unless on () (${vanished(leader)}))`,
  ].join("\n");
}

const CONTROLLER = "{{ or $labels.pod $labels.instance }}";

export const CONTROLLER_ALERTS: AlertGroup = {
  name: "controller",
  title: "Controller and configuration",
  alerts: [
    {
      name: "PingressNoLeader",
      severity: "critical",
      hold: "2m",
      expression: noLeader,
      summary: "No controller leads",
      description: "No replica of the controller is the leader, or Prometheus scrapes none.",
      runbook: {
        meaning:
          "No replica of an installation holds the Lease, or none returns metrics any more; or no " +
          "controller at all returns any.",
        impact:
          "Proxies serve their last configuration. Replicas that run go on streaming changes " +
          "to proxies; status, Events, the published ConfigMap and Secrets, and the workload of the " +
          "proxies do not change. Without any replica no change reaches a proxy, and requests go to " +
          "pods that are gone.",
        diagnosis: [
          "`kubectl -n pingress-system get pods,lease` shows replicas and who holds the Lease; " +
          "[`pingress check`](check.md) names the cause.",
          "The log of a replica says why it does not become the leader: usually the API server does " +
          "not respond, or a right on Leases is missing.",
          "If pods are ready, see *Targets* of Prometheus: a " +
          "[network policy](security.md#network-policies) may keep it from port 9091.",
        ],
        remedy: [
          "Start the controller: `kubectl -n pingress-system rollout restart " +
          "deployment/pingress-controller`.",
          "Apply the manifests or the chart again if rights are missing.",
        ],
      },
    },
    {
      name: "PingressWatchesFailing",
      severity: "warning",
      hold: "5m",
      expression: (scope) =>
        [
          `${
            sum(
              increase(
                scope.series("pingress_controller_watch_restarts_total", {
                  reason: matches("broken|refused|silent|garbled"),
                }),
                "10m",
              ),
              [...BY_REPLICA, "resource"],
            )
          } > ${threshold("watchRestarts")}`,
          `or ${scope.series("pingress_controller_synced")} == 0`,
        ].join("\n"),
      summary: `Controller ${CONTROLLER} cannot watch the cluster`,
      description: `Watches of controller ${CONTROLLER} fail again and again` +
        "{{ with $labels.resource }} ({{ . }}){{ end }}, or a kind of object was never listed.",
      runbook: {
        meaning:
          "A replica of the controller cannot follow a kind of object: the API server does " +
          "not respond, ends watches, or denies them.",
        impact: "Proxies serve their last configuration. Changes of that kind are late or do not " +
          "reach them; endpoints are the first that matter.",
        diagnosis: [
          "`sum by (resource, reason) (increase(pingress_controller_watch_restarts_total[10m]))`: if " +
          "all kinds fail, it is the API server or the network; if one fails, it is a right.",
          "`sum by (code, resource) (rate(pingress_controller_api_requests_total[5m]))`: `403` is a " +
          "missing right, `429` an overloaded API server, `0` no response.",
          "[`pingress check`](check.md) lists the rights that the controller's account lacks.",
        ],
        remedy: [
          "Restore the API server, or the way to it.",
          "If a right is missing, apply the manifests or the chart of this version again.",
        ],
      },
    },
    {
      name: "PingressConfigurationNotPublished",
      severity: "critical",
      hold: "5m",
      expression: (scope) =>
        [
          `${problems(scope, NOT_PUBLISHED)} > 0`,
          `or ${
            aggregate(
              "max",
              scope.series("pingress_controller_job_failed", { job: is("publish") }),
              BY_REPLICA,
            )
          } == 1`,
          `or ${
            aggregate("max", scope.series("pingress_controller_reconcile_failed"), BY_REPLICA)
          } == 1`,
        ].join("\n"),
      summary: "The controller does not publish the configuration",
      description: "The controller cannot translate or publish the configuration" +
        "{{ with $labels.reason }}: {{ . }}{{ end }}. The last published one stays.",
      runbook: {
        meaning: "The configuration does not fit into its ConfigMap and Secrets, or into the " +
          "stream; the API server rejects every write of it; or the last translation failed, which is a bug.",
        impact:
          "Proxies serve the last published configuration. With a problem of size or a failed " +
          "translation, no change reaches them. If only writes fail, changes still come by the " +
          "stream, but a proxy that starts without a controller has an old configuration.",
        diagnosis: [
          "[`pingress check`](check.md) lists the problem with its remedy. The label `reason` of " +
          "the alert is explained in [codes](codes.md).",
          '`sum by (result) (increase(pingress_controller_job_runs_total{job="publish"}[10m]))` and ' +
          "the log of the leader show failed writes.",
        ],
        remedy: [
          "If it is too large, see [size limits](configuration.md#size-limits): divide the load " +
          "among several controllers, or bound namespaces.",
          "If rights are missing, apply the manifests or the chart of this version again.",
          "If a translation fails, report it with the log of the controller.",
        ],
      },
    },
    {
      name: "PingressRoutesLeftOut",
      severity: "warning",
      hold: "5m",
      expression: (scope) => `${problems(scope, LEFT_OUT)} > 0`,
      summary: "Objects are left out of the configuration",
      description: "{{ $value }} objects are left out of the configuration, or in part: " +
        "{{ $labels.reason }}.",
      runbook: {
        meaning:
          "Objects exceed a [bound](tenants.md#bounds) of a namespace, of the cluster or of " +
          "one object, or their translation fails (`Quarantined`), which is a bug. What was published " +
          "of them stays; what is new is left out.",
        impact: "New or changed Ingresses of these namespaces are not served as written. Others " +
          "are not concerned.",
        diagnosis: [
          "[`pingress check`](check.md) and `/problems` of the controller list the objects; " +
          "[`pingress status -A`](check.md#status) has a column with their problems.",
          "`pingress_snapshot_routes` and `pingress_controller_published_bytes` show the size of the " +
          "configuration.",
        ],
        remedy: [
          "Ask the owner of the namespace to delete routes, or to split large objects.",
          "Raise the bound of namespaces (`--max-namespace-routes` and others, [flags](flags.md)), " +
          "or for `ClusterLimitExceeded` the memory limit of the proxies.",
          "Report `Quarantined` with the log of the controller, and change the object that it names.",
        ],
      },
    },
  ],
};
