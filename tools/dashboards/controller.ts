/**
 * The dashboard of the controller. In: nothing. Out: its panels: the leader, how fast changes arrive, the
 * stream to proxies, and the API server as the controller sees it.
 */
import {
  aggregate,
  changes,
  increase,
  is,
  type Label,
  quantile,
  rate,
  series,
  sum,
} from "../promql.ts";
import type { DashboardSpec } from "./dashboard.ts";
import { installation, OF_INSTALLATION } from "./installation.ts";
import { graph, stat, WINDOW } from "./panels.ts";
import { among, orZero } from "./traffic.ts";

const BY_REPLICA: readonly Label[] = ["pod", "instance"];
const REPLICA = "{{pod}} {{instance}}";
/** Every controller has it, and no proxy. */
const IS_CONTROLLER = series("pingress_controller_leader", OF_INSTALLATION);

function perSecond(selector: string, by: readonly Label[]): string {
  return sum(rate(selector, WINDOW), by);
}

export const CONTROLLER: DashboardSpec = {
  name: "controller",
  title: "Controller",
  description: "Leader, changes, stream and API server.",
  variables: [installation(series("pingress_controller_leader"))],
  rows: [{
    title: "Now",
    panels: [
      stat({
        title: "Leaders",
        description: "1 in normal operation. Without a leader, statuses and published " +
          "configurations are not written; proxies are still updated.",
        unit: "short",
        expression: sum(series("pingress_controller_leader", OF_INSTALLATION)),
        levels: { red: 1, lower: true },
      }),
      stat({
        title: "Replicas",
        description: "Replicas of the controller that are scraped.",
        unit: "short",
        expression: aggregate("count", series("pingress_controller_leader", OF_INSTALLATION)),
      }),
      stat({
        title: "Synced",
        description: "1 if every replica has listed all watched kinds.",
        unit: "short",
        expression: aggregate("min", series("pingress_controller_synced", OF_INSTALLATION)),
        levels: { red: 1, lower: true },
      }),
      stat({
        title: "Ready proxies",
        description: "The share of the proxies that should be there.",
        unit: "percentunit",
        expression: `${
          aggregate(
            "max",
            series("pingress_controller_proxies", { ...OF_INSTALLATION, state: is("ready") }),
          )
        } / ${
          aggregate(
            "max",
            series("pingress_controller_proxies", { ...OF_INSTALLATION, state: is("desired") }),
          )
        }`,
        levels: { orange: 1, red: 0.5, lower: true },
      }),
      stat({
        title: "Oldest change",
        description: "The age of the oldest change that is not translated yet.",
        unit: "s",
        expression: aggregate(
          "max",
          series("pingress_controller_changes_waiting_seconds", OF_INSTALLATION),
        ),
        levels: { orange: 5, red: 30 },
      }),
      stat({
        title: "Problems",
        description: "Problems of users' objects; `pingress status` lists them.",
        unit: "short",
        expression: orZero(
          sum(aggregate("max", series("pingress_config_problems", OF_INSTALLATION), ["reason"])),
        ),
        levels: { orange: 1, red: 100 },
      }),
    ],
  }, {
    title: "Changes",
    panels: [
      graph({
        title: "Translations",
        description: "Failed: the published configuration stays; see the log.",
        unit: "short",
        queries: [{
          expression: perSecond(series("pingress_controller_reconciles_total", OF_INSTALLATION), [
            "result",
          ]),
          legend: "{{result}}",
        }],
      }),
      graph({
        title: "Time until proxies have a change",
        description: "From the end of a translation until a proxy reports it as applied.",
        unit: "s",
        queries: ([0.5, 0.99] as const).map((share) => ({
          expression: quantile(share, "pingress_controller_stream_propagation_seconds_bucket", {
            matchers: OF_INSTALLATION,
            window: WINDOW,
          }),
          legend: `p${share * 100}`,
        })),
      }),
      graph({
        title: "Duration of translations",
        description: "With the wait for Secrets.",
        unit: "s",
        queries: ([0.5, 0.99] as const).map((share) => ({
          expression: quantile(share, "pingress_controller_reconcile_duration_seconds_bucket", {
            matchers: OF_INSTALLATION,
            window: WINDOW,
          }),
          legend: `p${share * 100}`,
        })),
      }),
      graph({
        title: "Problems",
        description: "By reason; docs/codes.md explains each.",
        unit: "short",
        queries: [{
          expression: orZero(
            aggregate("max", series("pingress_config_problems", OF_INSTALLATION), ["reason"]),
          ),
          legend: "{{reason}}",
        }],
      }),
      graph({
        title: "Ingresses",
        description: "Of the served classes. Partly: some of their paths return errors.",
        unit: "short",
        isStacked: true,
        queries: [{
          expression: aggregate("max", series("pingress_controller_ingresses", OF_INSTALLATION), [
            "accepted",
          ]),
          legend: "{{accepted}}",
        }],
      }),
      graph({
        title: "Gateways",
        description: "Of the served classes, with a listener that is served.",
        unit: "short",
        queries: [{
          expression: aggregate("max", series("pingress_controller_gateways", OF_INSTALLATION)),
          legend: "Gateways",
        }],
      }),
      graph({
        title: "Objects",
        description: "In the stores of the watches.",
        unit: "short",
        queries: [{
          expression: aggregate("max", series("pingress_controller_objects", OF_INSTALLATION), [
            "resource",
          ]),
          legend: "{{resource}}",
        }],
      }),
      graph({
        title: "Size of the configuration",
        description: "As published. Beyond 1 MiB it is split into several objects.",
        unit: "bytes",
        queries: [{
          expression: aggregate(
            "max",
            series("pingress_controller_published_bytes", OF_INSTALLATION),
            ["kind"],
          ),
          legend: "{{kind}}",
        }],
      }),
    ],
  }, {
    title: "Proxies",
    panels: [
      graph({
        title: "Pods of proxies",
        description: "As the Kubernetes workload has them.",
        unit: "short",
        queries: [{
          expression: aggregate("max", series("pingress_controller_proxies", OF_INSTALLATION), [
            "state",
          ]),
          legend: "{{state}}",
        }],
      }),
      graph({
        title: "Proxies on the stream",
        description: "All replicas together. Those that are connected and not in sync are behind.",
        unit: "short",
        queries: [{
          expression: sum(series("pingress_controller_stream_proxies", OF_INSTALLATION), ["state"]),
          legend: "{{state}}",
        }],
      }),
      graph({
        title: "Updates sent",
        description: "`snapshot` is a whole configuration: many of them are many new proxies.",
        unit: "short",
        queries: [{
          expression: perSecond(
            series("pingress_controller_stream_updates_total", OF_INSTALLATION),
            ["kind"],
          ),
          legend: "{{kind}}",
        }],
      }),
      graph({
        title: "Refused updates and ended streams",
        description:
          "A proxy that refuses an update keeps what it serves; see its log. One to which " +
          "a delta did not apply gets a full snapshot.",
        unit: "short",
        queries: [
          {
            expression: orZero(
              perSecond(
                series("pingress_controller_stream_refused_updates_total", OF_INSTALLATION),
                ["code"],
              ),
            ),
            legend: "refused {{code}}",
          },
          {
            expression: perSecond(
              series("pingress_controller_stream_lost_total", OF_INSTALLATION),
              [],
            ),
            legend: "delta did not apply",
          },
          {
            expression: orZero(
              perSecond(series("pingress_controller_stream_ends_total", OF_INSTALLATION), [
                "reason",
              ]),
            ),
            legend: "ended {{reason}}",
          },
          {
            expression: orZero(
              perSecond(series("pingress_controller_stream_refusals_total", OF_INSTALLATION), [
                "status",
              ]),
            ),
            legend: "rejected {{status}}",
          },
        ],
      }),
    ],
  }, {
    title: "API server",
    panels: [
      graph({
        title: "Calls",
        description: "By status code; 0: there was no complete response.",
        unit: "reqps",
        queries: [{
          expression: perSecond(
            series("pingress_controller_api_requests_total", OF_INSTALLATION),
            ["verb", "code"],
          ),
          legend: "{{verb}} {{code}}",
        }],
      }),
      graph({
        title: "Duration of calls, p99",
        description: "Without watches.",
        unit: "s",
        queries: [{
          expression: quantile(
            0.99,
            "pingress_controller_api_request_duration_seconds_bucket",
            { matchers: OF_INSTALLATION, by: ["verb"], window: WINDOW },
          ),
          legend: "{{verb}}",
        }],
      }),
      graph({
        title: "Restarted watches",
        description:
          "The API server ends each in order from time to time; other reasons are faults.",
        unit: "short",
        queries: [{
          expression: orZero(
            sum(
              increase(series("pingress_controller_watch_restarts_total", OF_INSTALLATION), WINDOW),
              [
                "resource",
                "reason",
              ],
            ),
          ),
          legend: "{{resource}} {{reason}}",
        }],
      }),
      graph({
        title: "Waiting writes",
        description: "Objects whose status or Events are to be written.",
        unit: "short",
        queries: [{
          expression: aggregate(
            "max",
            series("pingress_controller_writes_waiting", OF_INSTALLATION),
            ["of"],
          ),
          legend: "{{of}}",
        }],
      }),
      graph({
        title: "Jobs",
        description: "Runs that write to the API server, of the leader.",
        unit: "short",
        queries: [{
          expression: perSecond(series("pingress_controller_job_runs_total", OF_INSTALLATION), [
            "job",
            "result",
          ]),
          legend: "{{job}} {{result}}",
        }],
      }),
      graph({
        title: "Duration of jobs, p99",
        description: "Of runs that wrote or tried to.",
        unit: "s",
        queries: [{
          expression: quantile(0.99, "pingress_controller_job_duration_seconds_bucket", {
            matchers: OF_INSTALLATION,
            by: ["job"],
            window: WINDOW,
          }),
          legend: "{{job}}",
        }],
      }),
    ],
  }, {
    title: "Processes",
    panels: [
      graph({
        title: "CPU",
        description: "In cores.",
        unit: "short",
        queries: [{
          expression: among(
            rate(series("process_cpu_seconds_total", OF_INSTALLATION), WINDOW),
            IS_CONTROLLER,
          ),
          legend: REPLICA,
        }],
      }),
      graph({
        title: "Memory",
        description: "Resident memory.",
        unit: "bytes",
        queries: [{
          expression: among(
            series("process_resident_memory_bytes", OF_INSTALLATION),
            IS_CONTROLLER,
          ),
          legend: REPLICA,
        }],
      }),
      graph({
        title: "Delay of the event loop",
        description: "The longest of the last minute.",
        unit: "s",
        queries: [{
          expression: aggregate(
            "max",
            series("pingress_controller_event_loop_delay_seconds", OF_INSTALLATION),
            BY_REPLICA,
          ),
          legend: REPLICA,
        }],
      }),
      graph({
        title: "Restarts",
        description: "Of the process, within the same pod.",
        unit: "short",
        queries: [{
          expression: among(
            changes(series("process_start_time_seconds", OF_INSTALLATION), WINDOW),
            IS_CONTROLLER,
          ),
          legend: REPLICA,
        }],
      }),
    ],
  }],
};
