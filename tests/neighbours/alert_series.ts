/**
 * Series of metrics that alerts are tested with. In: what has happened. Out: values by selector, in the
 * notation of promtool.
 */

/** By selector: `0+60x30` grows by 60 each minute, 30 times. */
export type Series = Readonly<Record<string, string>>;

/** Of the installation that the series are of. */
export const OWN_NAMESPACE = "pingress-system";

export const TARGET = { namespace: OWN_NAMESPACE, pod: "proxy-1", instance: "10.0.0.1:9090" };
export const AT = 'namespace="pingress-system",pod="proxy-1",instance="10.0.0.1:9090"';
export const SYSTEM = { namespace: OWN_NAMESPACE };
export const INSTANCE = 'instance="10.0.0.1:9090"';
export const HOST = `namespace="shop",host="a.test",method="GET",${INSTANCE}`;
export const SHOP = { namespace: "shop", host: "a.test" };
const SERVICE = `namespace="shop",service="web",${INSTANCE}`;
const CERTIFICATE = `${AT},hosts="a.test",certificate="shop/web-tls"`;
export const DAY = 86_400;

/** The proxy that has series of routes and Services. */
export const LONG_LIVED = { [`pingress_workers{${AT}}`]: "4x400" };

export function requests(good: string, failed: string): Series {
  return {
    [`pingress_requests_total{${HOST},status="2xx"}`]: good,
    [`pingress_requests_total{${HOST},status="5xx"}`]: failed,
    ...LONG_LIVED,
  };
}

/** Of all attempts, those within 1 s. */
export function attempts(fast: string, all: string): Series {
  return {
    [`pingress_upstream_duration_seconds_bucket{${SERVICE},le="1"}`]: fast,
    [`pingress_upstream_duration_seconds_bucket{${SERVICE},le="2.5"}`]: all,
    [`pingress_upstream_duration_seconds_bucket{${SERVICE},le="10"}`]: all,
    [`pingress_upstream_duration_seconds_bucket{${SERVICE},le="+Inf"}`]: all,
    [`pingress_upstream_duration_seconds_count{${SERVICE}}`]: all,
    ...LONG_LIVED,
  };
}

export function proxies(
  desired: number,
  ready: number,
  ingresses = 3,
  gateways = 0,
): Series {
  return {
    [`pingress_controller_proxies{${AT},state="desired"}`]: `${desired}x60`,
    [`pingress_controller_proxies{${AT},state="ready"}`]: `${ready}x60`,
    [`pingress_controller_ingresses{${AT},accepted="all"}`]: `${ingresses}x60`,
    [`pingress_controller_ingresses{${AT},accepted="none"}`]: "0x60",
    [`pingress_controller_gateways{${AT}}`]: `${gateways}x60`,
  };
}

/** Of another installation. */
export const OTHER_NAMESPACE = "edge-2";

/** In another namespace, of which all is well. */
export const OTHER: Series = {
  [`pingress_workers{namespace="${OTHER_NAMESPACE}",pod="proxy-1"}`]: "4x400",
  [`pingress_controller_leader{namespace="${OTHER_NAMESPACE}",pod="a"}`]: "1x400",
};

/** Scraped for ten minutes. */
export const GONE = "1x10 _x50";

export const WORKERS = { [`pingress_workers{${AT}}`]: "4x60" };

export function shed(reason: string, values: string, overloaded = "0x60"): Series {
  return {
    [`pingress_connections_shed_total{${AT},reason="connection_limit"}`]: "0x60",
    [`pingress_connections_shed_total{${AT},reason="overload"}`]: "0x60",
    [`pingress_connections_shed_total{${AT},reason="${reason}"}`]: values,
    [`pingress_request_errors_total{${AT},code="overloaded"}`]: overloaded,
  };
}

export function certificate(days: number): Series {
  return {
    // Time begins at 0 there.
    [`pingress_certificate_expiration_timestamp_seconds{${CERTIFICATE}}`]: `${days * DAY}x60`,
  };
}

/** Of a proxy. */
export function routes(values: string, workers = "4x110"): Series {
  return {
    [`pingress_snapshot_routes{${AT}}`]: values,
    [`pingress_workers{${AT}}`]: workers,
  };
}

/** Of a second one. */
export function otherProxy(values: string): Series {
  return Object.fromEntries(
    Object.entries(routes(values)).map(([series, values]) => [
      series.replace("proxy-1", "proxy-2").replace("10.0.0.1", "10.0.0.2"),
      values,
    ]),
  );
}

/** When the controller has published a change, and how long ago a proxy has applied one. */
export function ofFiles(published: string, age: string): Series {
  return {
    'pingress_controller_published_timestamp_seconds{namespace="pingress-system",pod="a"}':
      published,
    [`pingress_files_applied_age_seconds{${AT}}`]: age,
  };
}

export const problem = (reason: string) => ({
  [`pingress_config_problems{${AT},reason="${reason}"}`]: "1x60",
});

export const restarts = (reason: string, values: string) => ({
  [`pingress_controller_watch_restarts_total{${AT},resource="ingresses",reason="${reason}"}`]:
    values,
});

export const jobFailed = (job: string, values: string) => ({
  [`pingress_controller_job_failed{${AT},job="${job}"}`]: values,
});

export const reconcileFailed = (values: string) => ({
  [`pingress_controller_reconcile_failed{${AT}}`]: values,
});
