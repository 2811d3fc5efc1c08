/** Annotations about time-outs, retries and buffers of one request. */
import { differs, flag, type Group, HONOURED, row, STREAMED } from "./row.ts";
import { int, listOf, ON_OFF, SECONDS, SIZE, SOME_SECONDS } from "./value.ts";

const TIMING = { scope: "path", invalid: "default", protects: false } as const;
const BUFFER = { ...TIMING, verdict: STREAMED } as const;

export const TIMEOUTS = {
  "proxy-connect-timeout": row({
    ...TIMING,
    risk: "Low",
    value: SOME_SECONDS,
    verdict: differs("the status is 502, not 504, if no endpoint accepts the connection in time"),
    does: "limits the time to connect to an endpoint",
  }),
  "proxy-read-timeout": row({
    ...TIMING,
    risk: "Low",
    value: SOME_SECONDS,
    verdict: HONOURED,
    does:
      "limits the time between two reads of the backend's response, and the silence of WebSockets",
  }),
  "proxy-send-timeout": row({
    ...TIMING,
    risk: "Low",
    value: SOME_SECONDS,
    verdict: differs(
      "the proxy's --write-timeout is the limit for a connection of HTTP/2 as a whole",
    ),
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
    verdict: differs(
      "retries go to other endpoints, within the proxy's --retry-budget; request bodies up to " +
        "client-body-buffer-size (16k) are sent again; a connection that cannot be made in time " +
        "is an error; PUT, DELETE, GET, HEAD and OPTIONS are idempotent; a connection that the " +
        'backend closes as idle is replaced once, also with "off"',
    ),
    does: "says after which failures the request is retried at another endpoint",
  }),
  "proxy-next-upstream-timeout": row({
    ...TIMING,
    risk: "Low",
    value: SECONDS,
    verdict: HONOURED,
    does: "limits the time for retries",
  }),
  "proxy-next-upstream-tries": row({
    ...TIMING,
    risk: "Low",
    value: int(0),
    verdict: differs(
      "0 and more than 10 are 10; endpoints that refuse the connection are not counted, up to 16",
    ),
    does: "limits the number of attempts, 0 for no limit",
  }),
} satisfies Group;

export const BUFFERS = {
  "client-body-buffer-size": row({
    ...BUFFER,
    risk: "Low",
    value: SIZE,
    verdict: differs(
      "so much of a request body is kept for a retry, at most 1m; bodies are streamed, never written to files",
    ),
    does: "sets how much of a request body is kept in memory",
  }),
  "proxy-buffering": row({
    ...BUFFER,
    risk: "Low",
    value: ON_OFF,
    verdict: differs('responses are streamed, as with "off"'),
    isSame: (isOn) => !isOn,
    does: "reads the backend's response ahead of the client; on by default",
  }),
  "proxy-request-buffering": row({
    ...BUFFER,
    risk: "Low",
    value: ON_OFF,
    verdict: differs(
      'with "on", client-body-buffer-size (64k, at most 1m) is read before the backend is contacted, ' +
        "and the rest of a longer body streamed; without the annotation, with Expect: 100-continue " +
        "and for gRPC, bodies are streamed",
    ),
    isSame: (isOn) => !isOn,
    does: "reads the whole request body before the backend is contacted; on by default",
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
