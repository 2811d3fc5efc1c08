/** Annotations about TLS of a host, logs and traces. */
import { always, type Group, HONOURED, NOT_YET, row } from "./row.ts";
import { BOOL, text } from "./value.ts";

const HOST_TLS = { scope: "host", invalid: "close", protects: true, verdict: NOT_YET } as const;
const LOG = { scope: "path", invalid: "default", protects: false, verdict: NOT_YET } as const;

export const SERVER_TLS = {
  "ssl-ciphers": row({
    ...HOST_TLS,
    risk: "Low",
    value: text(/^[A-Za-z\d+:_!@=-]+$/, "list of ciphers, as OpenSSL writes it"),
    verdict: always(
      "TLS 1.2 and 1.3 with the ciphers of Mozilla's intermediate profile are taken",
    ),
    does: "lists the ciphers of TLS 1.2",
  }),
  "ssl-prefer-server-ciphers": row({
    ...HOST_TLS,
    risk: "Low",
    value: BOOL,
    invalid: "default",
    protects: false,
    verdict: always("all ciphers that are taken are good ones, so the client chooses"),
    does: "says whether the server's order of ciphers counts",
  }),
  "ssl-passthrough": row({
    ...HOST_TLS,
    risk: "Low",
    value: BOOL,
    does: "passes TLS connections of the host to the backend undecrypted",
  }),
  "http2-push-preload": row({
    ...LOG,
    risk: "Low",
    value: BOOL,
    verdict: always("browsers no longer take what is pushed"),
    does: "pushes what Link of the response preloads",
  }),
} satisfies Group;

export const TELEMETRY = {
  "enable-access-log": row({
    ...LOG,
    risk: "Low",
    value: BOOL,
    verdict: HONOURED,
    does: '"false" leaves the paths out of the access log',
  }),
  "enable-rewrite-log": row({
    ...LOG,
    risk: "Low",
    value: BOOL,
    does: "logs how paths are rewritten",
  }),
  "enable-opentelemetry": row({
    ...LOG,
    risk: "Low",
    value: BOOL,
    does: "records a span for each request",
  }),
  "opentelemetry-operation-name": row({
    ...LOG,
    risk: "Medium",
    value: text(/^[A-Za-z\d_${}-]+$/, "letters, digits and -_${}"),
    does: "sets the name of the span",
  }),
  "opentelemetry-trust-incoming-span": row({
    ...LOG,
    risk: "Low",
    value: BOOL,
    does: "makes the span a child of the client's",
  }),
} satisfies Group;
