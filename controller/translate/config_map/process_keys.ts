/** Keys about nginx's processes, logs and traces, and those that ingress-nginx had dropped. */
import { always, flag, NOT_YET, type Verdict } from "../annotations/nginx/rows/row.ts";
import { BOOL, int, LINE } from "../annotations/nginx/rows/value.ts";
import { type ConfigKey, type KeyGroup, NGINX_ONLY, plain } from "./key.ts";

const TUNES: Readonly<ConfigKey<string>> = plain(LINE, NGINX_ONLY, "tunes nginx");
const STREAM: Readonly<ConfigKey<string>> = plain(LINE, NGINX_ONLY, "is a setting for TCP and UDP");

export const PROCESS_KEYS = {
  "worker-processes": plain(
    LINE,
    flag("The proxy has --workers"),
    "sets the number of processes",
  ),
  "worker-cpu-affinity": TUNES,
  "worker-shutdown-timeout": plain(
    LINE,
    flag("The controller has --proxy-drain-timeout"),
    "says how long a process that ends waits for its connections",
  ),
  "enable-serial-reloads": plain(
    BOOL,
    always("nothing is ever reloaded"),
    "lets one reload wait for the other",
  ),
  "enable-multi-accept": TUNES,
  "max-worker-connections": plain(
    int(0),
    flag("The proxy has --connection-limit"),
    "limits the connections of a process",
  ),
  "max-worker-open-files": TUNES,
  "map-hash-bucket-size": TUNES,
  "server-name-hash-bucket-size": TUNES,
  "server-name-hash-max-size": TUNES,
  "proxy-headers-hash-bucket-size": TUNES,
  "proxy-headers-hash-max-size": TUNES,
  "variables-hash-bucket-size": TUNES,
  "variables-hash-max-size": TUNES,
  "enable-aio-write": TUNES,
  "reuse-port": TUNES,
  "disable-ipv6": plain(BOOL, NOT_YET, "does not listen on IPv6"),
  "disable-ipv6-dns": plain(BOOL, NOT_YET, "looks names up for IPv4 alone"),
  "nginx-status-ipv4-whitelist": plain(
    LINE,
    always("the status is on the admin port alone"),
    "lists who may read the status",
  ),
  "nginx-status-ipv6-whitelist": plain(
    LINE,
    always("the status is on the admin port alone"),
    "lists who may read the status",
  ),
  "proxy-stream-timeout": STREAM,
  "proxy-stream-next-upstream": STREAM,
  "proxy-stream-next-upstream-timeout": STREAM,
  "proxy-stream-next-upstream-tries": STREAM,
  "proxy-stream-responses": STREAM,
} satisfies KeyGroup;

const LOG: Readonly<Verdict> = flag("The proxy has --access-log, and logs to standard output");
const LOG_FORMAT: Readonly<Verdict> = flag(
  "The proxy has --access-log-format and --access-log-fields",
);

export const LOG_KEYS = {
  "access-log-params": plain(LINE, LOG, "sets how the access log is written"),
  "access-log-path": plain(LINE, LOG, "names the file of the access log"),
  "http-access-log-path": plain(LINE, LOG, "names that of HTTP"),
  "stream-access-log-path": plain(LINE, LOG, "names that of TCP and UDP"),
  "enable-access-log-for-default-backend": plain(BOOL, LOG, "logs its requests too"),
  "enable-auth-access-log": plain(BOOL, LOG, "logs the subrequests of auth-url"),
  "disable-access-log": plain(BOOL, LOG, "writes no access log"),
  "disable-http-access-log": plain(BOOL, LOG, "writes none of HTTP"),
  "disable-stream-access-log": plain(BOOL, LOG, "writes none of TCP and UDP"),
  "skip-access-log-urls": plain(LINE, LOG, "leaves paths that begin so out of the access log"),
  "log-format-escape-json": plain(BOOL, LOG_FORMAT, "escapes values for JSON"),
  "log-format-escape-none": plain(BOOL, LOG_FORMAT, "does not escape values"),
  "log-format-upstream": plain(LINE, LOG_FORMAT, "sets the format of the access log"),
  "log-format-stream": plain(LINE, LOG, "sets that of TCP and UDP"),
  "error-log-level": plain(LINE, flag("The proxy has --log-level"), "sets the level of the log"),
  "error-log-path": plain(LINE, LOG, "names the file of the log"),
  "enable-syslog": plain(BOOL, NOT_YET, "sends logs to a syslog server"),
  "syslog-host": plain(LINE, NOT_YET, "names the server"),
  "syslog-port": plain(LINE, NOT_YET, "sets its port"),
  "debug-connections": plain(LINE, NOT_YET, "logs more of these clients"),
} satisfies KeyGroup;

const TRACES: Readonly<ConfigKey<string>> = plain(
  LINE,
  flag("The proxy has --otlp-endpoint, --trace-ratio and --trace-service-name"),
  "is a setting of traces",
);

export const TRACE_KEYS = {
  "enable-opentelemetry": plain(
    BOOL,
    flag("The proxy has --otlp-endpoint"),
    "records a span for each request",
  ),
  "opentelemetry-config": TRACES,
  "opentelemetry-operation-name": TRACES,
  "opentelemetry-trust-incoming-span": TRACES,
  "otel-max-export-batch-size": TRACES,
  "otel-max-queuesize": TRACES,
  "otel-sampler": TRACES,
  "otel-sampler-parent-based": TRACES,
  "otel-sampler-ratio": TRACES,
  "otel-schedule-delay-millis": TRACES,
  "otel-service-name": TRACES,
  "otlp-collector-host": TRACES,
  "otlp-collector-port": TRACES,
} satisfies KeyGroup;

const DROPPED: Readonly<ConfigKey<string>> = plain(
  LINE,
  always("ingress-nginx has dropped it"),
  "has no effect any more",
);

/** Still in its documentation. */
export const DROPPED_KEYS = {
  "use-geoip": DROPPED,
  "datadog-collector-host": DROPPED,
  "datadog-collector-port": DROPPED,
  "datadog-environment": DROPPED,
  "datadog-operation-name-override": DROPPED,
  "datadog-priority-sampling": DROPPED,
  "datadog-sample-rate": DROPPED,
  "datadog-service-name": DROPPED,
  "jaeger-baggage-header": DROPPED,
  "jaeger-collector-host": DROPPED,
  "jaeger-collector-port": DROPPED,
  "jaeger-debug-header": DROPPED,
  "jaeger-endpoint": DROPPED,
  "jaeger-propagation-format": DROPPED,
  "jaeger-sampler-host": DROPPED,
  "jaeger-sampler-param": DROPPED,
  "jaeger-sampler-port": DROPPED,
  "jaeger-sampler-type": DROPPED,
  "jaeger-service-name": DROPPED,
  "jaeger-trace-baggage-header-prefix": DROPPED,
  "jaeger-trace-context-header-name": DROPPED,
} satisfies KeyGroup;
