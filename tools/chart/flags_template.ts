/**
 * The templates that make arguments of values. In: the flags. Out: the text of
 * `templates/_flags.tpl`: the flags of each program, in the order of the help, and the defaults that
 * other objects, or comparisons of two flags, need.
 */
import { CONTROLLER_OPTIONS } from "../../controller/cli/options.ts";
import { PROXY_OPTIONS } from "../../proxy/cli/options.ts";
import { MAX_RANGE_PORTS } from "../../shared/net/port_range.ts";
import { PROXY_PORTS } from "../../shared/net/proxy_ports.ts";
import { formatDefault, type OptionSpecs } from "../../shared/options.ts";
import { CONTROLLER_ELSEWHERE, type FlagRow, flagRows, PROXY_ELSEWHERE } from "./flag_values.ts";
import { type Threshold, THRESHOLDS } from "../alerts/thresholds.ts";
import { REGISTRY } from "./values.ts";

const SPECS: OptionSpecs = CONTROLLER_OPTIONS;

export function flagsTemplate(): string {
  return [
    "{{- /* Made from the programs' flags by deno task docs:update; do not edit. */}}",
    "{{- /* KEY|FLAG|UNIT|MIN|MAX|WHAT IT TAKES, of each value that is a flag. */}}",
    listTemplate("pingress.controllerFlags", flagRows(CONTROLLER_OPTIONS, CONTROLLER_ELSEWHERE)),
    listTemplate("pingress.proxyFlags", flagRows(PROXY_OPTIONS, PROXY_ELSEWHERE)),
    defaultTemplate("pingress.defaultListenRange", CONTROLLER_OPTIONS.listenRange.default),
    defaultTemplate("pingress.maxRangePorts", String(MAX_RANGE_PORTS)),
    defaultTemplate("pingress.proxyPorts", Object.values(PROXY_PORTS).join(" ")),
    defaultTemplate("pingress.defaultStreamPort", String(CONTROLLER_OPTIONS.stream.default.port)),
    ...["proxyReplicas", "leaseDuration", "renewDeadline", "retryPeriod", "ingressClass"].map((
      key,
    ) => defaultTemplate(`pingress.default.${key}`, formatDefault(SPECS[key]))),
    "{{- /* NAME|MIN|MAX of each threshold of the alerts; MAX may be empty. */}}",
    defaultTemplate("pingress.thresholdRanges", thresholdRanges()),
    defaultTemplate("pingress.defaultNamespace", CONTROLLER_OPTIONS.namespace.default),
    defaultTemplate("pingress.defaultRegistry", REGISTRY),
    "",
  ].join("\n");
}

function listTemplate(name: string, rows: readonly FlagRow[]): string {
  return defaultTemplate(name, rows.map(line).join("\n"));
}

function line({ key, flag, range, takes }: FlagRow): string {
  return [
    key,
    flag,
    ...(range === null ? ["", "", "", ""] : [range.unit, range.min, range.max, takes]),
  ]
    .join("|");
}

/** As the schema has them, for numbers that --set makes strings of. */
function thresholdRanges(): string {
  return Object.entries(THRESHOLDS as Readonly<Record<string, Threshold>>)
    .map(([name, { minimum, maximum = "" }]) => [name, minimum, maximum].join("|"))
    .join("\n");
}

function defaultTemplate(name: string, text: string): string {
  return `{{- define "${name}" -}}\n${text}\n{{- end }}`;
}
