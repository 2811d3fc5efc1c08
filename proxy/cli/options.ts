/**
 * The proxy's command line. In: arguments. Out: typed options with the limits among them, a help
 * text, or what is wrong. The flags stand in `option_specs.ts` and `limit_specs.ts`.
 */
import { type Address } from "../../shared/net/address.ts";
import { type CidrList } from "../../shared/net/cidr.ts";
import { isInRange, parsePortRange, type PortRange } from "../../shared/net/port_range.ts";
import { PRIVILEGED_PORTS, PROXY_PORTS } from "../../shared/net/proxy_ports.ts";
import { type LogFormat, type LogLevel } from "../../shared/log.ts";
import { defineOptions, parseOptions, type Program } from "../../shared/options.ts";
import type { Balance } from "../../shared/snapshot/types.ts";
import { LIMIT_OPTIONS } from "./limit_specs.ts";
import { type Limits } from "../http/limits.ts";
import { type ControllerOptions, parseControllerUrl } from "../config/stream/controller_address.ts";
import { type AccessLogOptions, ALL_FIELDS, parseFields } from "../telemetry/access_log/options.ts";
import {
  parseOtlpEndpoint,
  type TraceExport,
  type TraceOptions,
} from "../telemetry/traces/options.ts";
import { GENERAL_OPTIONS } from "./option_specs.ts";
import type { SeriesBy } from "../telemetry/series_options.ts";

export const PROXY_PROGRAM: Program = {
  name: "deno task proxy",
  summary: "The Pingress reverse proxy: serves the routes of one configuration file.",
};

/** In the order of help and documentation. */
export const PROXY_OPTIONS = defineOptions({ ...GENERAL_OPTIONS, ...LIMIT_OPTIONS });

export interface ProxyOptions {
  /** The configuration file. */
  readonly config: string;
  /** Folders whose changes lead to another read. */
  readonly watch: readonly string[];
  /** Null for files alone. */
  readonly controller: ControllerOptions | null;
  /** Null for what the controller says. */
  readonly zone: string | null;
  /** In percent of the routes in force; 0 is no limit. */
  readonly maxRouteLoss: number;
  readonly listenHttp: readonly Address[];
  readonly listenHttps: readonly Address[];
  /** Whether neither is named: see `privilegedPorts`. */
  readonly listensByDefault: boolean;
  /** For listeners of Gateways; null for none. */
  readonly listenRange: PortRange | null;
  /** HTTP/2 over TLS, and in plain text with prior knowledge. */
  readonly http2: boolean;
  readonly h2c: boolean;
  readonly sslRedirect: boolean;
  /** 0 is the port of the first HTTPS listener. */
  readonly sslRedirectPort: number;
  readonly admin: Address;
  /** 0 is one for each CPU. */
  readonly workers: number;
  readonly trustedProxies: CidrList;
  /** Empty for no bound. */
  readonly upstreamNetworks: CidrList;
  readonly allowLoopbackUpstreams: boolean;
  /** For upstreams that do not say how. */
  readonly balance: Balance;
  /** For upstreams of HTTP/2 that do not say whether gRPC-Web is translated. */
  readonly grpcWeb: boolean;
  readonly clusterDomain: string;
  readonly logLevel: LogLevel;
  readonly logFormat: LogFormat;
  /** Null writes none. */
  readonly accessLog: AccessLogOptions | null;
  /** Null makes none. */
  readonly traces: { readonly target: TraceExport; readonly spans: TraceOptions } | null;
  /** What requests are counted by. */
  readonly metricsBy: SeriesBy;
  /** Of those, and apart from them of Services, that have series of their own. */
  readonly metricsLimit: number;
  /** In ms. */
  readonly drainDelay: number;
  /** In ms, after the delay. */
  readonly drainTimeout: number;
  readonly limits: Limits;
}

export type ParsedProxyOptions =
  | { readonly kind: "ok"; readonly options: ProxyOptions }
  | { readonly kind: "help" | "error"; readonly text: string };

/** Ports from 1024 on need no privilege. */
const HTTP: Address = { hostname: "0.0.0.0", port: PROXY_PORTS.http };
const HTTPS: Address = { hostname: "0.0.0.0", port: PROXY_PORTS.https };

/** In place of those, where this process may listen on them. */
const PRIVILEGED = [
  ["--listen-http", { ...HTTP, port: PRIVILEGED_PORTS.http }],
  ["--listen-https", { ...HTTPS, port: PRIVILEGED_PORTS.https }],
] as const;

/** Never throws for what a user wrote. */
export function parseProxyOptions(args: readonly string[]): ParsedProxyOptions {
  const parsed = parseOptions(PROXY_PROGRAM, PROXY_OPTIONS, args);
  if (parsed.kind !== "ok") return parsed;
  const given = parsed.options;
  const controller = controllerOf(given);
  if (typeof controller === "string") return { kind: "error", text: controller };
  const listeners = listenersOf(given);
  const listenRange = given.listenRange === undefined ? null : parsePortRange(given.listenRange);
  const clash = clashIn(listenRange, [
    ...listeners.listenHttp.map((address) => ["--listen-http", address] as const),
    ...listeners.listenHttps.map((address) => ["--listen-https", address] as const),
    ["--admin", given.admin],
    ...(listeners.listensByDefault ? PRIVILEGED : []),
  ]);
  if (clash !== null) return { kind: "error", text: clash };
  const shared = sharedPort(listeners);
  if (shared !== null) return { kind: "error", text: shared };
  const accessLog = accessLogOf(given);
  if (typeof accessLog === "string") return { kind: "error", text: accessLog };
  return {
    kind: "ok",
    options: {
      config: given.config,
      watch: given.watch,
      controller,
      zone: given.zone ?? null,
      maxRouteLoss: given.maxRouteLoss,
      ...listeners,
      listenRange,
      http2: given.http2,
      h2c: given.h2c,
      sslRedirect: given.sslRedirect,
      sslRedirectPort: given.sslRedirectPort,
      admin: given.admin,
      workers: given.workers,
      trustedProxies: given.trustedProxies,
      upstreamNetworks: given.upstreamNetworks,
      allowLoopbackUpstreams: given.allowLoopbackUpstreams,
      balance: given.balance,
      grpcWeb: given.grpcWeb,
      clusterDomain: given.clusterDomain,
      logLevel: given.logLevel,
      logFormat: given.logFormat,
      accessLog,
      traces: tracesOf(given),
      metricsBy: given.metricsBy,
      metricsLimit: given.metricsLimit,
      drainDelay: given.drainDelay,
      drainTimeout: given.drainTimeout,
      limits: {
        requestHeadBytes: given.requestHeadLimit,
        requestFields: given.requestFieldLimit,
        mergeSlashes: given.mergeSlashes,
        refuseEscapedSlashes: given.refuseEscapedSlashes,
        requestHeadTimeout: given.requestHeadTimeout,
        bodyBytes: given.bodyLimit,
        bodyTimeout: given.bodyTimeout,
        bodyRate: given.bodyRate,
        clientIdleTimeout: given.clientIdleTimeout,
        requestsPerConnection: given.connectionRequestLimit,
        writeTimeout: given.writeTimeout,
        writeRate: given.writeRate,
        connections: given.connectionLimit,
        connectionsPerAddress: given.connectionsPerAddress,
        bodiesPerAddress: given.bodiesPerAddress,
        memoryBytes: given.memoryLimit,
        connectTimeout: given.connectTimeout,
        responseHeadTimeout: given.responseHeadTimeout,
        responseBodyTimeout: given.responseBodyTimeout,
        handshakeTimeout: given.handshakeTimeout,
        handshakes: given.handshakeLimit,
        tunnelIdleTimeout: given.tunnelIdleTimeout,
        responseHeadBytes: given.responseHeadLimit,
        responseFields: given.responseFieldLimit,
        tries: given.tries,
        retryBudget: given.retryBudget,
        ejectionFailures: given.ejectionFailures,
        ejectionAnswers: given.ejectionAnswers,
        ejectionTime: given.ejectionTime,
        holdTimeout: given.holdTimeout,
        holdLimit: given.holdLimit,
        http2Streams: given.http2StreamLimit,
        http2StreamWindow: given.http2StreamWindow,
        http2ConnectionWindow: given.http2ConnectionWindow,
        http2Resets: given.http2ResetLimit,
        http2ControlFrames: given.http2ControlLimit,
        http2UpstreamStreams: given.http2UpstreamStreams,
        http2PingTimeout: given.http2PingTimeout,
        upstreamIdleTimeout: given.upstreamIdleTimeout,
        upstreamIdleConnections: given.upstreamIdleLimit,
        upstreamConnectionAge: given.upstreamConnectionAge,
      },
    },
  };
}

/** What is wrong as a text: none of the three flags is of use without the others. */
function controllerOf(
  { controller, controllerCa, controllerToken }: {
    readonly controller?: string;
    readonly controllerCa?: string;
    readonly controllerToken?: string;
  },
): ControllerOptions | null | string {
  const address = controller === undefined ? null : parseControllerUrl(controller);
  if (address !== null && controllerCa !== undefined && controllerToken !== undefined) {
    return { address, ca: controllerCa, token: controllerToken };
  }
  const flags = { controller, "controller-ca": controllerCa, "controller-token": controllerToken };
  const lacks = Object.entries(flags).filter(([, value]) => value === undefined);
  if (lacks.length === 3) return null;
  const given = Object.entries(flags).find(([, value]) => value !== undefined)![0];
  const wanted = lacks.map(([flag]) => `--${flag}`).join(" and ");
  return `--${given} needs ${wanted} too: a proxy trusts one authority for the controller's stream ` +
    `and shows it a token\n${PROXY_PROGRAM.name} --help lists the flags`;
}

/** Null for none. What is wrong as a text. */
function accessLogOf(
  { accessLog, accessLogFormat: format, accessLogFields, accessLogQuery, accessLogRatio }: {
    readonly accessLog: boolean;
    readonly accessLogFormat: AccessLogOptions["format"];
    readonly accessLogFields?: string;
    readonly accessLogQuery: boolean;
    readonly accessLogRatio: number;
  },
): AccessLogOptions | null | string {
  if (!accessLog) return null;
  if (format === "nginx" && accessLogFields !== undefined) {
    return "--access-log-fields is for lines in JSON: remove it or --access-log-format=nginx\n" +
      `${PROXY_PROGRAM.name} --help lists the flags`;
  }
  const fields = accessLogFields === undefined ? ALL_FIELDS : parseFields(accessLogFields);
  if (typeof fields === "string") throw new TypeError(fields);
  return { format, fields, query: accessLogQuery, ratio: accessLogRatio };
}

/** Null for none. */
function tracesOf(
  { otlpEndpoint, traceRatio: ratio, traceServiceName: serviceName, accessLogQuery: query }: {
    readonly otlpEndpoint?: string;
    readonly traceRatio: number;
    readonly traceServiceName: string;
    readonly accessLogQuery: boolean;
  },
): ProxyOptions["traces"] {
  const url = otlpEndpoint === undefined ? null : parseOtlpEndpoint(otlpEndpoint);
  return url === null ? null : { target: { url, serviceName }, spans: { ratio, query } };
}

/** How many event loops carry traffic, at least one. */
export function workerCount({ workers }: Pick<ProxyOptions, "workers">): number {
  return workers || navigator.hardwareConcurrency;
}

/** What is wrong as a text: workers share ports, so the system would not refuse the second use. */
function clashIn(
  range: PortRange | null,
  addresses: readonly (readonly [flag: string, address: Address])[],
): string | null {
  if (range === null) return null;
  const clash = addresses.find(([, { port }]) => isInRange(range, port));
  if (clash === undefined) return null;
  const [flag, { port }] = clash;
  return `--listen-range contains ${port}, the port of ${flag}: write another range or port\n` +
    `${PROXY_PROGRAM.name} --help lists the flags`;
}

/**
 * What is wrong as a text. Workers share ports, so the system would not refuse the second use: it would
 * give each connection to HTTP or to HTTPS by chance.
 */
function sharedPort(
  { listenHttp, listenHttps }: Pick<ProxyOptions, "listenHttp" | "listenHttps">,
): string | null {
  const shared = listenHttps.find((one) => listenHttp.some((other) => isSameSocket(one, other)));
  if (shared === undefined) return null;
  return `--listen-http and --listen-https both have port ${shared.port}: give one of them another ` +
    `port\n${PROXY_PROGRAM.name} --help lists the flags`;
}

/** Whether some connection would be for both; each 0 is a port of its own. */
function isSameSocket(a: Address, b: Address): boolean {
  const names = [a, b].map(({ hostname }) => hostname === "localhost" ? "127.0.0.1" : hostname);
  return a.port === b.port && a.port !== 0 &&
    (names[0] === names[1] || names.some((name) => name === "0.0.0.0" || name === "::"));
}

function listenersOf(
  { listenHttp, listenHttps }: Pick<ProxyOptions, "listenHttp" | "listenHttps">,
): Pick<ProxyOptions, "listenHttp" | "listenHttps" | "listensByDefault"> {
  const listensByDefault = listenHttp.length + listenHttps.length === 0;
  return {
    listenHttp: listenHttp.length === 0 ? [HTTP] : listenHttp,
    listenHttps: listensByDefault ? [HTTPS] : listenHttps,
    listensByDefault,
  };
}
