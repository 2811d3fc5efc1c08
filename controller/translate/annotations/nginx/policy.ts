/**
 * Time-outs, retries and limits of routes. In: annotations of one Ingress. Out: what its policy says;
 * nothing where all is as in the process.
 */
import {
  MAX_RETRY_BODY,
  MAX_TIMEOUT,
  MAX_TRIES,
} from "../../../../shared/snapshot/setting_values.ts";
import type { Policy } from "../../../../shared/snapshot/types.ts";
import type { PolicySpec } from "../../model/route_settings.ts";
import type { NginxAnnotations } from "./nginx_annotations.ts";
import { BACKENDS } from "./rows/backends.ts";
import { BUFFERS, TIMEOUTS } from "./rows/buffers.ts";
import { LIMITS } from "./rows/limits.ts";
import { PATHS } from "./rows/paths.ts";
import { TELEMETRY } from "./rows/server.ts";

type Condition = NonNullable<NonNullable<Policy["retry"]>["on"]>[number];

export function readPolicy(annotations: NginxAnnotations): PolicySpec {
  const timeouts = readTimeouts(annotations);
  const tries = annotations.valueOf(TIMEOUTS, "proxy-next-upstream-tries");
  const retry = readRetry(annotations);
  const bodyLimit = annotations.valueOf(LIMITS, "proxy-body-size");
  return {
    ...timeouts === null ? {} : { timeouts },
    ...tries === null ? {} : { tries: tries === 0 ? MAX_TRIES : Math.min(tries, MAX_TRIES) },
    ...retry === null ? {} : { retry },
    ...bodyLimit === null ? {} : { bodyLimit },
    ...readRequestBuffer(annotations),
    ...closesConnections(annotations) ? { upstreamKeepAlive: false } : {},
    ...annotations.valueOf(TELEMETRY, "enable-access-log") === false ? { accessLog: false } : {},
    ...readTracing(annotations),
  };
}

function readTracing(annotations: NginxAnnotations): Pick<PolicySpec, "tracing"> {
  const isOff = annotations.valueOf(TELEMETRY, "enable-opentelemetry") === false;
  const name = annotations.valueOf(TELEMETRY, "opentelemetry-operation-name");
  const trust = annotations.valueOf(TELEMETRY, "opentelemetry-trust-incoming-span");
  if (isOff) return { tracing: { enabled: false } };
  if (name === null && trust === null) return {};
  return {
    tracing: { ...name === null ? {} : { name }, ...trust === null ? {} : { trust } },
  };
}

function readTimeouts(annotations: NginxAnnotations): Policy["timeouts"] | null {
  const connect = annotations.valueOf(TIMEOUTS, "proxy-connect-timeout");
  const send = annotations.valueOf(TIMEOUTS, "proxy-send-timeout");
  const read = annotations.valueOf(TIMEOUTS, "proxy-read-timeout");
  if (connect === null && send === null && read === null) return null;
  return {
    ...connect === null ? {} : { connect: milliseconds(connect) },
    ...send === null ? {} : { send: milliseconds(send) },
    // nginx has one timeout for reads: of heads, of bodies and, after an upgrade, in both directions.
    ...read === null ? {} : {
      responseHead: milliseconds(read),
      responseBody: milliseconds(read),
      tunnelIdle: milliseconds(read),
    },
  };
}

function readRetry(annotations: NginxAnnotations): Policy["retry"] | null {
  const failures = annotations.valueOf(TIMEOUTS, "proxy-next-upstream");
  const timeout = annotations.valueOf(TIMEOUTS, "proxy-next-upstream-timeout") ?? 0;
  const bodyBytes = annotations.valueOf(BUFFERS, "client-body-buffer-size");
  if (failures === null && timeout === 0 && bodyBytes === null) return null;
  return {
    ...failures === null ? {} : { on: conditionsOf(failures) },
    ...timeout === 0 ? {} : { timeout: milliseconds(timeout) },
    ...bodyBytes === null ? {} : { bodyBytes: Math.min(bodyBytes, MAX_RETRY_BODY) },
  };
}

/** Held for each upload in progress; most forms and API requests are smaller. */
const DEFAULT_REQUEST_BUFFER = 64 * 1024;

function readRequestBuffer(annotations: NginxAnnotations): Pick<PolicySpec, "requestBuffer"> {
  if (annotations.valueOf(BUFFERS, "proxy-request-buffering") !== true) return {};
  const size = annotations.valueOf(BUFFERS, "client-body-buffer-size") || DEFAULT_REQUEST_BUFFER;
  return { requestBuffer: Math.min(size, MAX_RETRY_BODY) };
}

const CONDITIONS: ReadonlyMap<string, Condition> = new Map([
  ["error", "error"],
  ["timeout", "timeout"],
  ["invalid_header", "malformed"],
  ["non_idempotent", "non-idempotent"],
  ...(["403", "404", "429", "500", "502", "503", "504"] as const)
    .map((status) => [`http_${status}`, status] as const),
]);

/** `off` counts beside others, too, as in nginx. */
function conditionsOf(failures: readonly string[]): Condition[] {
  if (failures.includes("off")) return [];
  return [...CONDITIONS].flatMap(([failure, condition]) =>
    failures.includes(failure) ? condition : []
  );
}

function closesConnections(annotations: NginxAnnotations): boolean {
  return annotations.valueOf(BACKENDS, "proxy-http-version") === "1.0" ||
    annotations.valueOf(PATHS, "connection-proxy-header") === "close";
}

function milliseconds(seconds: number): number {
  return Math.min(seconds * 1000, MAX_TIMEOUT);
}
