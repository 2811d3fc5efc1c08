/** Annotations about TLS of a host, logs and traces. */
import { always, differs, type Group, HONOURED, NOT_YET, OFF_BY_DEFAULT, row } from "./row.ts";
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
    ...OFF_BY_DEFAULT,
    does: "logs how paths are rewritten",
  }),
  "enable-opentelemetry": row({
    ...LOG,
    risk: "Low",
    value: BOOL,
    verdict: differs(
      'proxies with --otlp-endpoint make spans of all paths without "false", others of none',
    ),
    does: '"false" makes no spans of requests, and passes trace headers unchanged',
  }),
  "opentelemetry-operation-name": row({
    ...LOG,
    risk: "Medium",
    value: text(/^[A-Za-z\d_{}-]{1,256}$/, "up to 256 letters, digits and -_{}, no variables"),
    verdict: differs("a name with variables is not used: names of spans are to be few"),
    does: "sets the name of the span",
  }),
  "opentelemetry-trust-incoming-span": row({
    ...LOG,
    risk: "Low",
    value: BOOL,
    verdict: differs("without it, the spans of trusted proxies are parents, and no others"),
    does: "says whether the span is a child of the client's, whoever that is",
  }),
} satisfies Group;
