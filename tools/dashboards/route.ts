/** The dashboard of one host. In: nothing. Out: its panels: the host's requests, its Services, and its routes. */
import { aggregate, increase, is, rate, ratio, series, sum } from "../promql.ts";
import type { DashboardSpec } from "./dashboard.ts";
import { graph, heatmap, table, WINDOW } from "./panels.ts";
import {
  attemptRate,
  attemptTime,
  bottom,
  BY_SERVICE,
  failedAttemptShare,
  failedShare,
  HOST,
  NAMESPACE,
  OF_HOSTS,
  OF_SERVICES,
  requestRate,
  requestTime,
  retryRate,
  SERVICE,
  SERVICE_LEGEND,
  top,
} from "./traffic.ts";

const CLIENT_ERRORS = series("pingress_requests_total", { ...OF_HOSTS, status: is("4xx") });
const NEEDS_ROUTES = "Needs `--metrics-by=route` of the proxies.";

export const ROUTE: DashboardSpec = {
  name: "route",
  title: "Host and routes",
  description: "Requests of one host, the Services that respond to them, and its routes.",
  variables: [NAMESPACE, { ...HOST, hasNoAll: true }, SERVICE],
  rows: [{
    title: "Requests",
    panels: [
      graph({
        title: "Requests by status",
        description: "`none`: the client closed the connection before the response.",
        unit: "reqps",
        isStacked: true,
        queries: [{ expression: requestRate(["status"]), legend: "{{status}}" }],
      }),
      graph({
        title: "Errors",
        description: "The share of requests with such a response.",
        unit: "percentunit",
        queries: [
          { expression: failedShare(), legend: "5xx" },
          { expression: ratio(sum(rate(CLIENT_ERRORS, WINDOW)), requestRate()), legend: "4xx" },
        ],
      }),
      graph({
        title: "Duration",
        description: "From the first byte of a request to the last byte of its response. Points " +
          "are traced requests, if there are traces.",
        unit: "s",
        queries: [
          { expression: requestTime(0.5), legend: "p50" },
          { expression: requestTime(0.9), legend: "p90" },
          { expression: requestTime(0.99), legend: "p99", exemplars: true },
        ],
      }),
      heatmap({
        title: "Durations",
        description: "How many requests took how long.",
        unit: "s",
        expression: sum(
          increase(series("pingress_request_duration_seconds_bucket", OF_HOSTS), WINDOW),
          ["le"],
        ),
      }),
      graph({
        title: "Requests by method",
        description: "Completed requests.",
        unit: "reqps",
        queries: [{ expression: requestRate(["method"]), legend: "{{method}}" }],
      }),
      graph({
        title: "Bytes",
        description: "Of completed requests: heads and bodies.",
        unit: "binBps",
        queries: [
          {
            expression: sum(rate(series("pingress_request_bytes_total", OF_HOSTS), WINDOW)),
            legend: "requests",
          },
          {
            expression: sum(rate(series("pingress_response_bytes_total", OF_HOSTS), WINDOW)),
            legend: "responses",
          },
        ],
      }),
    ],
  }, {
    title: "Services",
    panels: [
      graph({
        title: "Attempts by status",
        description: "Of the chosen Services, for all hosts: the ten most frequent. `none`: " +
          "without a response.",
        unit: "reqps",
        queries: [{
          expression: top(attemptRate([...BY_SERVICE, "status"])),
          legend: `${SERVICE_LEGEND} {{status}}`,
        }],
      }),
      graph({
        title: "Failed attempts",
        description: "The share of attempts without a response, or with a 5xx one; the ten " +
          "chosen Services with the largest.",
        unit: "percentunit",
        queries: [{ expression: top(failedAttemptShare(BY_SERVICE)), legend: SERVICE_LEGEND }],
      }),
      graph({
        title: "Time to the response",
        description: "From the first byte of the request to the head of the response; the ten " +
          "slowest of the chosen Services. What the duration has beyond it are bodies, retries and " +
          "the proxy.",
        unit: "s",
        queries: [
          { expression: top(attemptTime(0.5, BY_SERVICE)), legend: `${SERVICE_LEGEND} p50` },
          { expression: top(attemptTime(0.99, BY_SERVICE)), legend: `${SERVICE_LEGEND} p99` },
        ],
      }),
      graph({
        title: "Endpoints and retries",
        description:
          "The fewest ready endpoints that a proxy has, of the ten chosen Services with " +
          "the fewest; and retries per second.",
        unit: "short",
        queries: [
          {
            expression: bottom(aggregate(
              "min",
              series("pingress_endpoints", { ...OF_SERVICES, state: is("ready") }),
              BY_SERVICE,
            )),
            legend: `${SERVICE_LEGEND} ready`,
          },
          { expression: retryRate(), legend: "retries" },
        ],
      }),
    ],
  }, {
    title: "Routes",
    panels: [
      graph({
        title: "Requests by route",
        description: `The ten routes with the most requests. ${NEEDS_ROUTES}`,
        unit: "reqps",
        queries: [{ expression: top(requestRate(["route"])), legend: "{{route}}" }],
      }),
      graph({
        title: "Duration by route, p99",
        description: `The ten slowest routes. ${NEEDS_ROUTES}`,
        unit: "s",
        queries: [{ expression: top(requestTime(0.99, ["route"])), legend: "{{route}}" }],
      }),
      table({
        title: "Objects",
        description: `Where each route comes from. ${NEEDS_ROUTES}`,
        expression: aggregate(
          "max",
          series("pingress_route_info", OF_HOSTS),
          ["namespace", "host", "route", "kind", "name", "service"],
        ),
      }),
    ],
  }],
};
