/** Annotations about time-outs, retries and buffers of one request. */
import { flag, type Group, row, STREAMED } from "./row.ts";
import { int, listOf, ON_OFF, SECONDS, SIZE } from "./value.ts";

const TIMING = { scope: "path", invalid: "default", protects: false } as const;
const BUFFER = { ...TIMING, verdict: STREAMED } as const;

export const TIMEOUTS = {
  "proxy-connect-timeout": row({
    ...TIMING,
    risk: "Low",
    value: SECONDS,
    verdict: flag("The proxy's --connect-timeout (3s) stands in for it"),
    does: "limits the time to connect to an endpoint",
  }),
  "proxy-read-timeout": row({
    ...TIMING,
    risk: "Low",
    value: SECONDS,
    verdict: flag(
      "The proxy's --response-head-timeout (1m) and --response-body-timeout (1m) stand in for it, and --tunnel-idle-timeout (1h) for WebSockets",
    ),
    does: "limits the time between two reads of the backend's response",
  }),
  "proxy-send-timeout": row({
    ...TIMING,
    risk: "Low",
    value: SECONDS,
    verdict: flag("The proxy's --write-timeout (30s) stands in for it"),
    does: "limits the time between two writes to the backend",
  }),
  "proxy-next-upstream": row({
    ...TIMING,
    risk: "Medium",
    value: listOf(
      [
        ...["error", "timeout", "invalid_header", "http_500", "http_502", "http_503", "http_504"],
        ...["http_403", "http_404", "http_429", "non_idempotent", "off"],
      ],
      " ",
      'failures such as "error timeout", or "off"',
    ),
    verdict: flag(
      "Another endpoint is tried where that does no harm (the proxy's --tries); which failures count cannot be chosen",
    ),
    does: "says after which failures the request is retried at another endpoint",
  }),
  "proxy-next-upstream-timeout": row({
    ...TIMING,
    risk: "Low",
    value: SECONDS,
    verdict: flag(
      "The proxy's --tries and --connect-timeout bound the time that it takes to find an endpoint",
    ),
    does: "limits the time for retries",
  }),
  "proxy-next-upstream-tries": row({
    ...TIMING,
    risk: "Low",
    value: int(0),
    verdict: flag(
      "The proxy's --tries (2) stands in for it, and --retry-budget bounds tries in all",
    ),
    does: "limits the number of attempts",
  }),
} satisfies Group;

export const BUFFERS = {
  "client-body-buffer-size": row({
    ...BUFFER,
    risk: "Low",
    value: SIZE,
    does: "sets how much of a request body is kept in memory",
  }),
  "proxy-buffering": row({
    ...BUFFER,
    risk: "Low",
    value: ON_OFF,
    does: "reads the backend's response ahead of the client",
  }),
  "proxy-request-buffering": row({
    ...BUFFER,
    risk: "Low",
    value: ON_OFF,
    does: "reads the whole request body before the backend is contacted",
  }),
  "proxy-buffer-size": row({
    ...BUFFER,
    risk: "Low",
    value: SIZE,
    verdict: flag(
      "The proxy's --response-head-limit (64 KiB) bounds an answer's head; bodies are streamed",
    ),
    does: "limits the header of the backend's response",
  }),
  "proxy-buffers-number": row({
    ...BUFFER,
    risk: "Low",
    value: int(0),
    does: "sets the number of buffers for the backend's response",
  }),
  "proxy-busy-buffers-size": row({
    ...BUFFER,
    risk: "Low",
    value: SIZE,
    does: "limits the buffers that are being sent to the client",
  }),
  "proxy-max-temp-file-size": row({
    ...BUFFER,
    risk: "Low",
    value: SIZE,
    does: "limits the temporary file of a response",
  }),
} satisfies Group;
