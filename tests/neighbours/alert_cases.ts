/**
 * Series for which each alert fires, and for which it stays silent. In: nothing. Out: the cases, a
 * minute for each value, as `promtool test rules` reads them.
 */

import {
  AT,
  attempts,
  certificate,
  DAY,
  GONE,
  HOST,
  INSTANCE,
  jobFailed,
  LONG_LIVED,
  ofFiles,
  OTHER,
  otherProxy,
  problem,
  proxies,
  reconcileFailed,
  requests,
  restarts,
  routes,
  type Series,
  shed,
  SHOP,
  SYSTEM,
  TARGET,
  WORKERS,
} from "./alert_series.ts";

export interface AlertCase {
  readonly alert: string;
  /** What the series are of. */
  readonly what: string;
  readonly series: Series;
  readonly at: string;
  /** Of those that fire, without `severity`; none where the alert stays silent. */
  readonly fires: readonly Readonly<Record<string, string>>[];
}

type Row = readonly [
  what: string,
  series: Series,
  at: string,
  ...fires: AlertCase["fires"],
];

const ROWS: Readonly<Record<string, readonly Row[]>> = {
  PingressErrorBudgetBurnFast: [
    ["3 % of the requests fail for an hour", requests("0+58x70", "0+2x70"), "60m", SHOP],
    ["1 % of the requests fail", requests("0+594x70", "0+6x70"), "60m"],
    ["failures ended 10 minutes ago", requests("0+58x70", "0+2x50 100x20"), "63m"],
    ["5 % fail for two minutes after an hour", requests("0+57x70", "_x60 0+3x10"), "62m"],
    ["requests of no host fail", {
      ...LONG_LIVED,
      [`pingress_requests_total{${INSTANCE},namespace="",host="none",status="2xx"}`]: "0+58x70",
      [`pingress_requests_total{${INSTANCE},namespace="",host="none",status="5xx"}`]: "0+2x70",
    }, "60m"],
    ["requests of no route fail, counted by route", {
      ...LONG_LIVED,
      [`pingress_requests_total{${INSTANCE},namespace="",host="",route="none",status="2xx"}`]:
        "0+58x70",
      [`pingress_requests_total{${INSTANCE},namespace="",host="",route="none",status="5xx"}`]:
        "0+2x70",
    }, "60m"],
    [
      "requests of a route fail, counted by route",
      {
        ...LONG_LIVED,
        [`pingress_requests_total{${HOST},route="r",status="2xx"}`]: "0+58x70",
        [`pingress_requests_total{${HOST},route="r",status="5xx"}`]: "0+2x70",
      },
      "60m",
      SHOP,
    ],
    ["one of two requests a minute fails", requests("0+1x70", "0+1x70"), "60m"],
  ],
  PingressErrorBudgetBurnSlow: [
    ["1 % of the requests fail for six hours", requests("0+594x400", "0+6x400"), "390m", SHOP],
    ["0.5 % of the requests fail", requests("0+597x400", "0+3x400"), "390m"],
    ["failures ended an hour ago", requests("0+594x400", "0+6x330 1980x70"), "390m"],
  ],
  PingressBackendLatencyHigh: [
    ["5 % of the attempts are slow", attempts("0+57x60", "0+60x60"), "30m", {
      namespace: "shop",
      service: "web",
    }],
    ["0.5 % of the attempts are slow", attempts("0+597x60", "0+600x60"), "30m"],
    ["one slow attempt a minute", attempts("0x60", "0+1x60"), "30m"],
  ],
  PingressNoReadyProxy: [
    ["no pod of two is ready", { ...proxies(2, 0), ...WORKERS }, "5m", SYSTEM],
    ["no node matches the proxies", { ...proxies(0, 0), ...WORKERS }, "5m", SYSTEM],
    [
      "no node matches the proxies of a Gateway",
      { ...proxies(0, 0, 0, 1), ...WORKERS },
      "5m",
      SYSTEM,
    ],
    [
      "no node matches the proxies of a controller that does not count Gateways",
      {
        [`pingress_controller_proxies{${AT},state="desired"}`]: "0x60",
        [`pingress_controller_proxies{${AT},state="ready"}`]: "0x60",
        [`pingress_controller_ingresses{${AT},accepted="all"}`]: "3x60",
        ...WORKERS,
      },
      "5m",
      SYSTEM,
    ],
    ["no proxy is scraped", proxies(2, 2), "5m", {}],
    ["neither proxy nor controller is scraped", {}, "5m", {}],
    [
      "one of two installations is not scraped any more",
      { [`pingress_workers{${AT}}`]: GONE, ...OTHER },
      "20m",
      SYSTEM,
    ],
    [
      "the only proxy is not scraped any more",
      { ...proxies(2, 2), [`pingress_workers{${AT}}`]: GONE },
      "20m",
      SYSTEM,
    ],
    [
      "one of two installations has nothing to serve any more",
      { ...proxies(0, 0, 0), [`pingress_workers{${AT}}`]: GONE, ...OTHER },
      "20m",
    ],
    ["one of two is ready", { ...proxies(2, 1), ...WORKERS }, "5m"],
    ["there is nothing to serve", proxies(0, 0, 0), "5m"],
    [
      "proxies of a Gateway that is deleted now",
      { ...proxies(0, 0, 0, 0), ...WORKERS },
      "5m",
    ],
    ["a proxy of a Gateway is ready", { ...proxies(1, 1, 0, 1), ...WORKERS }, "5m"],
    ["proxies without a controller", WORKERS, "5m"],
  ],
  PingressProxyMemoryHigh: [
    [
      "90 % of the limit are used",
      {
        [`process_resident_memory_bytes{${AT}}`]: "900000000x60",
        [`pingress_limit{${AT},name="memory_bytes"}`]: "1000000000x60",
      },
      "10m",
      TARGET,
    ],
    ["80 % of the limit are used", {
      [`process_resident_memory_bytes{${AT}}`]: "800000000x60",
      [`pingress_limit{${AT},name="memory_bytes"}`]: "1000000000x60",
    }, "10m"],
    ["a proxy without a limit", {
      [`process_resident_memory_bytes{${AT}}`]: "900000000x60",
      [`pingress_limit{${AT},name="connections"}`]: "1000x60",
    }, "10m"],
  ],
  PingressProxyShedding: [
    ["connections are rejected", shed("connection_limit", "0+60x60"), "10m", TARGET],
    ["memory is short", shed("overload", "0+60x60"), "10m", TARGET],
    ["requests are rejected", shed("overload", "0x60", "0+60x60"), "10m", TARGET],
    ["one address has too many connections", shed("address_limit", "0+60x60"), "10m"],
    ["idle connections are closed", shed("idle", "0+60x60"), "10m"],
    ["logins wait for room", {
      ...shed("overload", "0x60"),
      [`pingress_request_errors_total{${AT},code="logins_busy"}`]: "0+60x60",
    }, "10m"],
    ["one connection was rejected", shed("connection_limit", "0x5 1x60"), "10m"],
  ],
  PingressWorkerStalled: [
    [
      "a worker stalled",
      {
        [`pingress_worker_stalls_total{${AT}}`]: "0x10 1x50",
      },
      "15m",
      TARGET,
    ],
    ["no worker stalled", { [`pingress_worker_stalls_total{${AT}}`]: "1x60" }, "15m"],
    ["a worker stalled long ago", {
      [`pingress_worker_stalls_total{${AT}}`]: "0x10 1x50",
    }, "40m"],
  ],
  PingressWorkerRestarted: [
    [
      "a worker was replaced",
      {
        [`pingress_worker_restarts_total{${AT}}`]: "0x10 1x50",
      },
      "15m",
      TARGET,
    ],
    ["no worker was replaced", { [`pingress_worker_restarts_total{${AT}}`]: "0x60" }, "15m"],
  ],
  PingressConfigurationStale: [
    [
      "a proxy is behind",
      {
        [`pingress_stream_sync_age_seconds{${AT}}`]: "90x60",
        [`pingress_stream_connected{${AT}}`]: "1x60",
      },
      "10m",
      TARGET,
    ],
    [
      "a proxy was never connected",
      {
        [`pingress_stream_connected{${AT}}`]: "0x60",
      },
      "10m",
      TARGET,
    ],
    [
      "a proxy that follows its files lacks a change",
      ofFiles("0x20 1200x40", "_ 0+60x60"),
      "30m",
      TARGET,
    ],
    [
      "a proxy that follows its files lacks a change, and the controller was replaced since",
      ofFiles("0x20 1200x3 stale", "_ 0+60x60"),
      "40m",
      TARGET,
    ],
    ["a proxy that follows its files has each change a minute later", {
      ...ofFiles("0+60x60", "60x60"),
    }, "50m"],
    [
      "a proxy that follows its files has the last change",
      ofFiles("_x10 600x50", "_x11 0+60x50"),
      "50m",
    ],
    ["a proxy that follows its files has no controller", {
      [`pingress_files_applied_age_seconds{${AT}}`]: "0+60x60",
    }, "50m"],
    ["a proxy is up to date", {
      [`pingress_stream_sync_age_seconds{${AT}}`]: "3x60",
      [`pingress_stream_connected{${AT}}`]: "1x60",
    }, "10m"],
    ["a proxy connects again", {
      [`pingress_stream_connected{${AT}}`]: "0 0 0 1x60",
    }, "10m"],
  ],
  PingressConfigurationRejected: [
    ["the controller reports it", problem("ConfigurationRejected"), "10m", SYSTEM],
    [
      "a proxy rejects its file",
      {
        [`pingress_snapshot_refused{${AT},source="file"}`]: "0x5 1x60",
      },
      "40m",
      { ...TARGET, source: "file" },
    ],
    ["another problem", problem("PathInvalid"), "10m"],
    ["a proxy rejected its file for two minutes", {
      [`pingress_snapshot_refused{${AT},source="file"}`]: "0x5 1 1 0x60",
    }, "12m"],
  ],
  PingressRoutesDropped: [
    ["60 of 100 routes are gone", { [`pingress_snapshot_routes{${AT}}`]: "100x50 40x60" }, "60m", {
      ...SYSTEM,
    }],
    ["40 of 100 routes are gone", { [`pingress_snapshot_routes{${AT}}`]: "100x50 60x60" }, "60m"],
    ["8 of 10 routes are gone", { [`pingress_snapshot_routes{${AT}}`]: "10x50 2x60" }, "60m"],
    [
      "60 of 100 routes are gone from one of two proxies",
      { ...routes("100x50 40x60"), ...otherProxy("100x110") },
      "60m",
      SYSTEM,
    ],
    [
      "the only proxy starts again without a configuration",
      routes("100x50 stale", "4x50 0x60"),
      "60m",
      SYSTEM,
    ],
    [
      "one of two proxies starts again without a configuration",
      { ...routes("100x50 stale", "4x50 0x60"), ...otherProxy("100x110") },
      "60m",
      SYSTEM,
    ],
    ["the only proxy reads its configuration two minutes after a restart", {
      ...routes("100x50 stale _x1 100x60"),
    }, "55m"],
    ["a proxy of two is not scraped any more", {
      ...routes("100x50 stale", "4x50 stale"),
      ...otherProxy("100x110"),
    }, "60m"],
    ["a proxy is added, and has all routes in a minute", {
      ...routes("_x50 0 100x60", "_x50 4x60"),
      ...otherProxy("100x110"),
    }, "56m"],
  ],
  PingressCertificateExpiresSoon: [
    ["10 days are left", certificate(10), "20m", {
      namespace: "shop",
      certificate: "shop/web-tls",
      hosts: "a.test",
    }],
    [
      "10 days are left of a file",
      {
        [`pingress_certificate_expiration_timestamp_seconds{${AT},hosts="*",certificate="/tls/tls.crt"}`]:
          `${10 * DAY}x60`,
      },
      "20m",
      { certificate: "/tls/tls.crt", hosts: "*" },
    ],
    ["20 days are left", certificate(20), "20m"],
    ["2 days are left", certificate(2), "20m"],
  ],
  PingressCertificateNearlyExpired: [
    ["2 days are left", certificate(2), "20m", {
      namespace: "shop",
      certificate: "shop/web-tls",
      hosts: "a.test",
    }],
    ["it has expired", certificate(0), "20m", {
      namespace: "shop",
      certificate: "shop/web-tls",
      hosts: "a.test",
    }],
    ["10 days are left", certificate(10), "20m"],
  ],
  PingressNoLeader: [
    [
      "neither of two leads",
      {
        'pingress_controller_leader{namespace="pingress-system",pod="a"}': "0x60",
        'pingress_controller_leader{namespace="pingress-system",pod="b"}': "0x60",
      },
      "5m",
      SYSTEM,
    ],
    ["no controller is scraped", WORKERS, "5m", {}],
    ["one of two leads", {
      'pingress_controller_leader{namespace="pingress-system",pod="a"}': "0x60",
      'pingress_controller_leader{namespace="pingress-system",pod="b"}': "1x60",
    }, "5m"],
    [
      "one of two installations is not scraped any more",
      { [`pingress_controller_leader{${AT}}`]: GONE, ...OTHER },
      "20m",
      SYSTEM,
    ],
    [
      "the only controller is not scraped any more",
      { [`pingress_controller_leader{${AT}}`]: GONE },
      "20m",
      SYSTEM,
    ],
    ["both of two installations are led", {
      [`pingress_controller_leader{${AT}}`]: "1x60",
      ...OTHER,
    }, "20m"],
    ["leadership changes", {
      'pingress_controller_leader{namespace="pingress-system",pod="a"}': "1 1 0x60",
      'pingress_controller_leader{namespace="pingress-system",pod="b"}': "0 0 0 1x60",
    }, "5m"],
  ],
  PingressWatchesFailing: [
    ["a watch breaks twice a minute", restarts("broken", "0+2x60"), "15m", {
      ...TARGET,
      resource: "ingresses",
    }],
    ["a watch is refused", restarts("refused", "0+1x60"), "15m", {
      ...TARGET,
      resource: "ingresses",
    }],
    ["a kind was never listed", { [`pingress_controller_synced{${AT}}`]: "0x60" }, "15m", TARGET],
    ["watches end in order", restarts("ended", "0+2x60"), "15m"],
    ["a watch broke three times", restarts("broken", "0x5 1 2 3x60"), "15m"],
    ["all kinds are listed", { [`pingress_controller_synced{${AT}}`]: "1x60" }, "15m"],
  ],
  PingressConfigurationNotPublished: [
    ["keys do not fit", problem("KeysTooLarge"), "10m", { ...SYSTEM, reason: "KeysTooLarge" }],
    ["writes fail", jobFailed("publish", "0 1x60"), "15m", TARGET],
    ["translations fail", reconcileFailed("0 1x60"), "15m", TARGET],
    ["writes succeed", jobFailed("publish", "0x60"), "15m"],
    ["one write failed", jobFailed("publish", "0x5 1 0x60"), "11m"],
    ["one translation failed", reconcileFailed("0x5 1 0x60"), "11m"],
    ["writes of the workload fail", jobFailed("workload", "1x60"), "15m"],
    ["the configuration is nearly too large", problem("ConfigurationNearlyTooLarge"), "10m"],
  ],
  PingressRoutesLeftOut: [
    ["a namespace is over its limit", problem("NamespaceLimitExceeded"), "10m", {
      ...SYSTEM,
      reason: "NamespaceLimitExceeded",
    }],
    ["the cluster is over its limit", problem("ClusterLimitExceeded"), "10m", {
      ...SYSTEM,
      reason: "ClusterLimitExceeded",
    }],
    ["an object is quarantined", problem("Quarantined"), "10m", {
      ...SYSTEM,
      reason: "Quarantined",
    }],
    ["a path is invalid", problem("PathInvalid"), "10m"],
  ],
};

export const ALERT_CASES: readonly AlertCase[] = Object.entries(ROWS).flatMap(([alert, rows]) =>
  rows.map(([what, series, at, ...fires]) => ({ alert, what, series, at, fires }))
);
