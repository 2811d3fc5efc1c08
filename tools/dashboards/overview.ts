/** The dashboard of all traffic. In: nothing. Out: its panels: rate, errors and durations of hosts and Services. */
import { aggregate, is, rate, series, sum } from "../promql.ts";
import type { DashboardSpec } from "./dashboard.ts";
import { idOf } from "./dashboard.ts";
import { graph, stat, WINDOW } from "./panels.ts";
import {
  attemptRate,
  attemptTime,
  bottom,
  BY_HOST,
  BY_SERVICE,
  failedAttemptShare,
  failedShare,
  HOST,
  HOST_LEGEND,
  NAMESPACE,
  OF_HOSTS,
  OF_SERVICES,
  orZero,
  requestRate,
  requestTime,
  retryRate,
  SERVICE,
  SERVICE_LEGEND,
  top,
} from "./traffic.ts";

const TO_HOST = {
  title: "Show this host",
  url: `/d/${idOf("route")}?var-datasource=\${datasource}&var-host=\${__field.labels.host}`,
};

export const OVERVIEW: DashboardSpec = {
  name: "overview",
  title: "Overview",
  description: "Requests, errors and durations of all hosts and Services.",
  variables: [NAMESPACE, HOST, SERVICE],
  rows: [{
    title: "Now",
    panels: [
      stat({
        title: "Requests",
        description: "Completed requests per second.",
        unit: "reqps",
        expression: requestRate(),
      }),
      stat({
        title: "5xx responses",
        description: "The share of requests with a 5xx response, whoever caused it.",
        unit: "percentunit",
        expression: failedShare(),
        levels: { orange: 0.001, red: 0.01 },
      }),
      stat({
        title: "Duration, p99",
        description: "99 of 100 requests take at most this long, body included.",
        unit: "s",
        expression: requestTime(0.99),
        levels: { orange: 1, red: 2.5 },
      }),
      stat({
        title: "In progress",
        description: "Requests in progress of all hosts, upgraded connections included.",
        unit: "short",
        expression: sum(series("pingress_requests_active")),
      }),
      stat({
        title: "Proxies",
        description: "Proxies that are scraped.",
        unit: "short",
        expression: aggregate("count", series("pingress_workers")),
      }),
      stat({
        title: "Problems",
        description: "Problems of Ingresses and other objects; `pingress status` lists them.",
        unit: "short",
        expression: orZero(
          sum(aggregate("max", series("pingress_config_problems"), ["reason"])),
        ),
        levels: { orange: 1, red: 100 },
      }),
    ],
  }, {
    title: "Hosts",
    panels: [
      graph({
        title: "Requests by status",
        description: "`none`: the client closed the connection before the response.",
        unit: "reqps",
        isStacked: true,
        queries: [{ expression: requestRate(["status"]), legend: "{{status}}" }],
      }),
      graph({
        title: "Requests by host",
        description: "The ten hosts with the most requests.",
        unit: "reqps",
        queries: [{ expression: top(requestRate(BY_HOST)), legend: HOST_LEGEND }],
        link: TO_HOST,
      }),
      graph({
        title: "5xx responses by host",
        description: "The share of a host's requests; the ten hosts with the largest.",
        unit: "percentunit",
        queries: [{ expression: top(failedShare(BY_HOST)), legend: HOST_LEGEND }],
        link: TO_HOST,
      }),
      graph({
        title: "Duration by host, p99",
        description: "The ten slowest hosts. Points are traced requests, if there are traces.",
        unit: "s",
        queries: [{
          expression: top(requestTime(0.99, BY_HOST)),
          legend: HOST_LEGEND,
          exemplars: true,
        }],
        link: TO_HOST,
      }),
    ],
  }, {
    title: "Services",
    panels: [
      graph({
        title: "Attempts by Service",
        description: "Requests to endpoints, retries included; the ten Services with the most.",
        unit: "reqps",
        queries: [{ expression: top(attemptRate(BY_SERVICE)), legend: SERVICE_LEGEND }],
      }),
      graph({
        title: "Failed attempts by Service",
        description: "The share of attempts without a response, or with a 5xx one; the ten " +
          "Services with the largest.",
        unit: "percentunit",
        queries: [{ expression: top(failedAttemptShare(BY_SERVICE)), legend: SERVICE_LEGEND }],
      }),
      graph({
        title: "Time to the response by Service, p99",
        description: "From the first byte of the request to the head of the response; the ten " +
          "slowest Services.",
        unit: "s",
        queries: [{ expression: top(attemptTime(0.99, BY_SERVICE)), legend: SERVICE_LEGEND }],
      }),
      graph({
        title: "Endpoints by Service",
        description: "The fewest ready ones that a proxy has, and the most that one has ejected: " +
          "the ten Services with the fewest, and the ten with the most.",
        unit: "short",
        queries: [{
          expression: bottom(aggregate(
            "min",
            series("pingress_endpoints", { ...OF_SERVICES, state: is("ready") }),
            BY_SERVICE,
          )),
          legend: `${SERVICE_LEGEND} ready`,
        }, {
          expression: top(aggregate(
            "max",
            series("pingress_endpoints", { ...OF_SERVICES, state: is("ejected") }),
            BY_SERVICE,
          )),
          legend: `${SERVICE_LEGEND} ejected`,
        }],
      }),
    ],
  }, {
    title: "Errors and bytes",
    panels: [
      graph({
        title: "Errors by code",
        description: "Of all hosts. docs/metrics.md says whose error each code is.",
        unit: "reqps",
        queries: [{
          expression: top(
            `${sum(rate(series("pingress_request_errors_total"), WINDOW), ["code"])} > 0`,
          ),
          legend: "{{code}}",
        }],
      }),
      graph({
        title: "Responses of filters",
        description: "Redirects, rejections and other responses in place of the backend's.",
        unit: "reqps",
        queries: [{
          expression: sum(
            rate(series("pingress_filter_replies_total"), WINDOW),
            ["filter", "status"],
          ),
          legend: "{{filter}} {{status}}",
        }],
      }),
      graph({
        title: "Retries",
        description: "Denied: the retry budget of the proxy was exhausted (all hosts).",
        unit: "reqps",
        queries: [
          { expression: retryRate(), legend: "retries" },
          {
            expression: sum(rate(series("pingress_upstream_retries_denied_total"), WINDOW)),
            legend: "denied",
          },
        ],
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
  }],
};
