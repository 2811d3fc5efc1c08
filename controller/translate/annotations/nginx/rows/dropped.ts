/** Annotations that ingress-nginx had dropped before it was archived; manifests still have them. */
import { always, flag, type Group, instead, NOT_YET, OFF_BY_DEFAULT, row } from "./row.ts";
import { BOOL, int, LINE, NETWORKS } from "./value.ts";

const DROPPED_ROW = {
  risk: null,
  scope: "path",
  value: LINE,
  invalid: "default",
  protects: false,
  verdict: NOT_YET,
  does: "has no effect in its last versions",
} as const;

export const DROPPED = {
  "global-rate-limit": row({
    ...DROPPED_ROW,
    value: int(0),
    invalid: "close",
    protects: true,
    does: "limited the requests of one client over all replicas",
  }),
  "global-rate-limit-window": row({
    ...DROPPED_ROW,
    does: "was the time of global-rate-limit",
  }),
  "global-rate-limit-key": row({
    ...DROPPED_ROW,
    does: "was what global-rate-limit counts by",
  }),
  "global-rate-limit-ignored-cidrs": row({
    ...DROPPED_ROW,
    value: NETWORKS,
    does: "exempted networks from global-rate-limit",
  }),
  "grpc-backend": row({
    ...DROPPED_ROW,
    value: BOOL,
    verdict: instead("Write appProtocol: kubernetes.io/h2c at the Service's port"),
  }),
  "secure-backends": row({
    ...DROPPED_ROW,
    value: BOOL,
    verdict: instead("Write appProtocol: https at the Service's port"),
  }),
  "secure-verify-ca-secret": row({
    ...DROPPED_ROW,
    verdict: instead("Annotate the Service with pingress.io/upstream-tls-ca"),
  }),
  "session-cookie-hash": row({ ...DROPPED_ROW }),
  "upstream-keepalive-connections": row({
    ...DROPPED_ROW,
    verdict: flag("The proxy's --upstream-idle-limit (320) stands in for it"),
  }),
  "upstream-keepalive-requests": row({
    ...DROPPED_ROW,
    verdict: flag(
      "The proxy's --upstream-connection-age (1h) bounds how long a connection is used",
    ),
  }),
  "upstream-keepalive-timeout": row({
    ...DROPPED_ROW,
    verdict: flag("The proxy's --upstream-idle-timeout (50s) stands in for it"),
  }),
  "websocket-services": row({
    ...DROPPED_ROW,
    verdict: always("WebSockets need no annotation"),
  }),
  "enable-influxdb": row({ ...DROPPED_ROW, value: BOOL, ...OFF_BY_DEFAULT }),
  "influxdb-host": row({ ...DROPPED_ROW }),
  "influxdb-measurement": row({ ...DROPPED_ROW }),
  "influxdb-port": row({ ...DROPPED_ROW }),
  "influxdb-server-name": row({ ...DROPPED_ROW }),
  "enable-opentracing": row({ ...DROPPED_ROW, value: BOOL, ...OFF_BY_DEFAULT }),
  "opentracing-trust-incoming-span": row({ ...DROPPED_ROW, value: BOOL }),
} satisfies Group;
