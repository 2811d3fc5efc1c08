/**
 * The command line of `deno task dev`. In: arguments. Out: typed options, a help text, or what is wrong.
 * `explain` and `diff` take the flags that decide what is served, so that they show what `dev` does.
 */
import { OUTPUT_OPTION, withLongNames } from "../cli/output_option.ts";
import type { PathOptions } from "../shared/path/canonical_path.ts";
import {
  acceptCheck,
  namesOf,
  parseConfigMapName,
  parseDefaultBackend,
} from "../controller/cli/option_values.ts";
import { HOST_OWNERSHIPS, type HostOwnershipMode } from "../controller/translate/translator.ts";
import { isDnsName } from "../controller/base/names.ts";
import { type Backend, BACKENDS } from "../controller/cli/option_specs.ts";
import type { Address } from "../shared/net/address.ts";
import { LOG_LEVELS, type LogLevel } from "../shared/log.ts";
import {
  DEFAULT_LISTEN_RANGE,
  formatPortRange,
  isInRange,
  parsePortRange,
  type PortRange,
} from "../shared/net/port_range.ts";
import { defineOptions, parseOptions, type Program } from "../shared/options.ts";
import { parsePortOffset, type PortOffset } from "./listeners/port_offset.ts";
import { DEFAULT_FOLDER } from "./manifests/named_paths.ts";
import type { PlanOptions } from "./plan.ts";
import { parseServiceMapping, type ServiceMapping } from "./service_mapping.ts";
import { START_WITH_NETWORK, WITHOUT_DENO } from "./start_command.ts";

export const DEV_PROGRAM: Program = {
  name: "deno task dev",
  summary: "Serves the Ingresses and Gateways of a folder on this machine, without a cluster.",
  positionals: {
    name: "DIR…",
    help: `Folders or files of Kubernetes YAML or JSON. Default: ${DEFAULT_FOLDER}.`,
    min: 0,
    max: 1000,
  },
};

/** Which routes there are. */
export const PLAN_OPTIONS = defineOptions({
  ingressClass: {
    type: "string",
    value: "NAME",
    repeatable: true,
    check: (value) => isDnsName(value) ? null : "the name of an IngressClass",
    help:
      "Also serves Ingresses of this class. Those of class pingress and those without a class " +
      "are always served.",
  },
  nginxClass: {
    type: "string",
    value: "NAME",
    repeatable: true,
    check: (value) => isDnsName(value) ? null : "the name of an IngressClass",
    help: "Also serves Ingresses of this class, with the profile nginx.",
  },
  map: {
    type: "string",
    value: "NAMESPACE/SERVICE[:PORT]=HOST:PORT",
    repeatable: true,
    check: (value) => {
      const mapping = parseServiceMapping(value);
      return typeof mapping === "string" ? mapping : null;
    },
    help: "Forwards requests for a Service, or one of its ports, to a program on this machine: " +
      "default/web=127.0.0.1:3000. Takes precedence over the annotation " +
      "dev.pingress.io/endpoint.",
  },
  allowExternalName: {
    type: "boolean",
    reason: "such a Service makes this machine connect to any name in a manifest",
    help:
      "Allows Services of type ExternalName as backends. deno task dev may connect to this machine " +
      `only, so start it with ${START_WITH_NETWORK} --allow-external-name${WITHOUT_DENO}; ` +
      "deno task explain connects to nothing and needs no more.",
  },
  defaultBackend: {
    type: "string",
    value: "NAMESPACE/SERVICE:PORT",
    check: (value) => parseDefaultBackend(value) === null ? "of the form default/web:80" : null,
    help: "Receives requests that match no Ingress. Without the flag, they get 404.",
  },
  configmap: {
    type: "string",
    value: "NAMESPACE/NAME",
    check: (value) =>
      parseConfigMapName(value) === null
        ? "of the form ingress-nginx/ingress-nginx-controller"
        : null,
    help: "ConfigMap of ingress-nginx in the manifests, for all Ingresses of the profile nginx.",
  },
  hostOwnership: {
    type: "choice",
    choices: HOST_OWNERSHIPS,
    default: "namespace",
    reason: "as for a controller that serves class pingress",
    help:
      "As for the controller: namespace rejects rules of other namespaces for a host; shared, " +
      "as in ingress-nginx, gives each path to the oldest Ingress of any namespace.",
  },
  acceptUnsupported: {
    type: "string",
    value: "NAME,…",
    repeatable: true,
    check: acceptCheck,
    help:
      "Serves Ingresses with these unsupported annotations of ingress-nginx, such as limit-rps, " +
      "and ignores the annotations; those that only require the profile nginx apply without it. " +
      "Without the flag, their paths return 503.",
  },
  allowAcceptUnsupportedAnnotation: {
    type: "boolean",
    reason: "otherwise owners of Ingresses could drop protection that the operator relies on",
    help: "Allows the annotation pingress.io/accept-unsupported, by which an Ingress accepts " +
      "unsupported annotations for itself.",
  },
});

/** Of a machine's own ports: more than a folder has Gateways. */
const MAX_LISTEN_RANGE = 1024;

/** Whether Gateways share the addresses of the nodes; also of `lint`. */
export const BACKEND_OPTION = defineOptions({
  backend: {
    type: "choice",
    choices: BACKENDS,
    default: "HostPort",
    reason: "as in the manifests of an installation",
    help:
      "As for the controller: with HostPort, Gateways share the addresses of Ingresses on the " +
      "ports 80 and 443 unless a parameter says otherwise; with LoadBalancer, each has its own.",
  },
});

/** Where listeners of Gateways are served. */
export const GATEWAY_OPTIONS = defineOptions({
  listenRange: {
    type: "string",
    value: "FROM-TO",
    default: formatPortRange(DEFAULT_LISTEN_RANGE),
    reason: "as for proxies in a cluster",
    check: (value) => {
      const range = parsePortRange(value);
      return range !== null && range.to - range.from < MAX_LISTEN_RANGE
        ? null
        : `a range of up to ${MAX_LISTEN_RANGE} ports like 10000-10255`;
    },
    help:
      "Local ports for listeners of Gateways, of which free ones are used: on the address of the " +
      "first --listen-http if the task may use all of its ports, else on 127.0.0.1. Requests are " +
      "never forwarded to them.",
  },
  ...BACKEND_OPTION,
});

/** How paths are read. */
export const SLASH_OPTIONS = defineOptions({
  mergeSlashes: {
    type: "boolean",
    reason: "as for proxies",
    help: "Merges repeated slashes of paths, as proxies with --merge-slashes.",
  },
  refuseEscapedSlashes: {
    type: "boolean",
    reason: "as for proxies",
    help: "Rejects paths with escaped slashes, as proxies with --refuse-escaped-slashes.",
  },
});

/** Where a command has arguments without a flag for the same. */
export const FILE_OPTION = defineOptions({
  file: {
    type: "string",
    value: "DIR",
    repeatable: true,
    help: "The same as DIR without a flag; -f for short.",
  },
});

export const DEV_OPTIONS = defineOptions({
  listenHttp: {
    type: "address",
    repeatable: true,
    default: { hostname: "127.0.0.1", port: 8080 },
    reason: "only this machine can reach it",
    help: "Listens for HTTP on this address; port 0 is any free port. Replaces the default.",
  },
  listenHttps: {
    type: "address",
    repeatable: true,
    default: { hostname: "127.0.0.1", port: 8443 },
    reason: "only this machine can reach it",
    help: "Listens for HTTPS on this address, with the certificates of Secrets, and generated " +
      "certificates for other hosts. Replaces the default.",
  },
  sslRedirect: {
    type: "boolean",
    reason: "names that exist on this machine only are easier to try without TLS",
    help: "Redirects plain HTTP with 308 to HTTPS for hosts with a certificate, generated " +
      "certificates included. Proxies in a cluster redirect hosts with a certificate of their " +
      "own.",
  },
  admin: {
    type: "address",
    default: { hostname: "127.0.0.1", port: 9090 },
    help:
      "Serves /explain, /metrics, /ca.crt, /healthz and /readyz on this address, and a list of " +
      "them at /.",
  },
  portOffset: {
    type: "string",
    value: "N|auto",
    default: "0",
    reason: "commands on the pages of documentation name these ports",
    check: (value) => parsePortOffset(value) === null ? "a number of ports, or auto" : null,
    help: "Adds N to the ports of --listen-http, --listen-https and --admin. auto uses the " +
      "smallest N from 0 on at which all of them are free, so that several can run at once.",
  },
  output: {
    ...OUTPUT_OPTION,
    help: "Format of the output; -o for short. json prints an event a line.",
  },
  tap: {
    type: "boolean",
    reason: "a browser sends many requests for a page",
    help: "Prints a line for each request: method, host, path without query, status, duration, " +
      "backend, and the reason if the response is Pingress's own.",
  },
  ...GATEWAY_OPTIONS,
  ...SLASH_OPTIONS,
  ...PLAN_OPTIONS,
  verbose: {
    type: "boolean",
    reason: "files of other tools often stand beside manifests",
    help: "Also lists problems that need nothing to be done.",
  },
  logLevel: {
    type: "choice",
    choices: LOG_LEVELS,
    default: "warn",
    reason: "the table and the problems are always printed",
    help: "Lowest level of the proxy's log entries that are written.",
  },
  ...FILE_OPTION,
});

export interface DevOptions {
  /** Folders and files. */
  readonly paths: readonly string[];
  readonly listenHttp: readonly Address[];
  readonly listenHttps: readonly Address[];
  readonly sslRedirect: boolean;
  readonly pathOptions: PathOptions;
  readonly admin: Address;
  readonly portOffset: PortOffset;
  readonly format: "text" | "json";
  readonly tap: boolean;
  readonly plan: PlanOptions;
  /** Whether problems that need nothing are listed. */
  readonly verbose: boolean;
  readonly logLevel: LogLevel;
}

export type Parsed<T> =
  | { readonly kind: "ok"; readonly options: T }
  | { readonly kind: "help" | "error"; readonly text: string };

/** Never throws for what a user wrote. */
export function parseDevOptions(args: readonly string[]): Parsed<DevOptions> {
  const parsed = parseOptions(DEV_PROGRAM, DEV_OPTIONS, withLongNames(args));
  if (parsed.kind !== "ok") return parsed;
  const { options, positionals } = parsed;
  const paths = [...positionals, ...options.file];
  const plan = toPlanOptions(options);
  const clash = clashIn(plan);
  if (clash !== null) return { kind: "error", text: clash };
  return {
    kind: "ok",
    options: {
      paths: paths.length === 0 ? [DEFAULT_FOLDER] : paths,
      listenHttp: options.listenHttp,
      listenHttps: options.listenHttps,
      sslRedirect: options.sslRedirect,
      pathOptions: toPathOptions(options),
      admin: options.admin,
      portOffset: parsePortOffset(options.portOffset) ?? 0,
      format: options.output,
      tap: options.tap,
      plan,
      verbose: options.verbose,
      logLevel: options.logLevel,
    },
  };
}

/** Of `PLAN_OPTIONS` and `GATEWAY_OPTIONS`. */
export function toPlanOptions(options: {
  readonly ingressClass: readonly string[];
  readonly nginxClass: readonly string[];
  readonly map: readonly string[];
  readonly allowExternalName: boolean;
  readonly defaultBackend: string | undefined;
  readonly configmap: string | undefined;
  readonly listenRange: string;
  readonly backend: Backend;
  readonly hostOwnership: HostOwnershipMode;
  readonly acceptUnsupported: readonly string[];
  readonly allowAcceptUnsupportedAnnotation: boolean;
}): PlanOptions {
  const mappings = options.map.map(parseServiceMapping)
    .filter((mapping): mapping is ServiceMapping => typeof mapping !== "string");
  return {
    ingressClasses: options.ingressClass,
    nginxClasses: options.nginxClass,
    mappings,
    allowExternalName: options.allowExternalName,
    configMap: options.configmap === undefined ? null : parseConfigMapName(options.configmap),
    hostOwnership: options.hostOwnership,
    listenRange: options.listenRange === GATEWAY_OPTIONS.listenRange.default
      ? rangeBeside(mappings)
      : parsePortRange(options.listenRange) ?? DEFAULT_LISTEN_RANGE,
    backend: options.backend,
    acceptUnsupported: options.acceptUnsupported.flatMap(namesOf),
    allowAcceptUnsupportedAnnotation: options.allowAcceptUnsupportedAnnotation,
    defaultBackend: options.defaultBackend === undefined
      ? null
      : parseDefaultBackend(options.defaultBackend),
  };
}

/** The default range, or the next one of its size without a program that requests are sent to. */
function rangeBeside(mappings: readonly ServiceMapping[]): PortRange {
  const used = mappings.flatMap(({ target }) => target.endpoints.map(({ port }) => port));
  let range = DEFAULT_LISTEN_RANGE;
  while (used.some((port) => isInRange(range, port))) {
    range = { from: range.to + 1, to: range.to * 2 + 1 - range.from };
  }
  return range;
}

/** Why a program that requests are sent to would never get any; null where all do. */
function clashIn({ mappings, listenRange = DEFAULT_LISTEN_RANGE }: PlanOptions): string | null {
  for (const { text, target } of mappings) {
    const clash = target.endpoints.find(({ port }) => isInRange(listenRange, port));
    if (clash === undefined) continue;
    return `--listen-range ${formatPortRange(listenRange)} contains ${clash.port}, the port of ` +
      `--map ${text}: write another range or port\n${DEV_PROGRAM.name} --help lists the flags`;
  }
  return null;
}

export function toPathOptions({ mergeSlashes, refuseEscapedSlashes }: PathOptions): PathOptions {
  return { mergeSlashes, refuseEscapedSlashes };
}
