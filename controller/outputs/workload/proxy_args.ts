/**
 * The proxy's command line in its pods. In: the workload's options. Out: the arguments, or what is
 * wrong with those that an operator adds. The proxy refuses a flag that is given twice, so one of
 * the operator's takes the place of ours.
 */
import { parseAddress } from "../../../shared/net/address.ts";
import { formatPortRange, isInRange, type PortRange } from "../../../shared/net/port_range.ts";
import { formatDuration } from "../../../shared/options.ts";
import { FORMAT_1_FILE } from "../../../shared/snapshot/published_set.ts";
import { PROXY_PORTS } from "../../../shared/net/proxy_ports.ts";
import { CONFIG_FOLDER, PUBLIC_PORTS, STREAM } from "./names.ts";
import type { WorkloadOptions } from "./options.ts";

/** The variable that carries the container's own memory limit, in bytes. */
export const MEMORY_LIMIT_VARIABLE = "PROXY_MEMORY_LIMIT";

/**
 * All addresses of both families: such a socket takes IPv4 too, so it serves pods that have IPv4,
 * IPv6 or both, and also where IPv6 is switched off by sysctl. Only a kernel that was booted with
 * `ipv6.disable=1` refuses it; docs/workload.md has the flags for one.
 */
const ANY = "[::]";

/**
 * Event loops. Four carry more than most nodes' networks do, and a number that does not depend on
 * the node's size makes one memory request fit all nodes: each costs 20 to 40 MiB.
 */
const WORKERS = 4;

/** Flags on which the pod's other fields depend, with what to use in their place. */
const FIXED: Readonly<Record<string, string>> = {
  config: "leave it out: the controller mounts what it publishes",
  admin: `leave it out, or keep port ${PROXY_PORTS.admin}, which the pods' probes dial`,
  "listen-range": "give --listen-range to the controller, which chooses ports of it",
  "drain-delay":
    "give --proxy-drain-delay to the controller, which fits the pods' grace period to it",
  "drain-timeout":
    "give --proxy-drain-timeout to the controller, which fits the pods' grace period to it",
  help: "leave it out",
};

/** Flags that may stand more than once in the proxy's command line without replacing ours. */
const ADDED = new Set(["watch"]);

export interface ArgMistake {
  readonly message: string;
  readonly remedy: string;
}

export function proxyArgs(
  { namespace, drainDelay, drainTimeout, stream, listenRange, proxyArgs: further }: WorkloadOptions,
): { readonly args: readonly string[]; readonly mistakes: readonly ArgMistake[] } {
  const ours = [
    ["config", `${CONFIG_FOLDER}/${FORMAT_1_FILE}`],
    ["watch", CONFIG_FOLDER],
    ["listen-http", `${ANY}:${PROXY_PORTS.http}`],
    ["listen-https", `${ANY}:${PROXY_PORTS.https}`],
    // Else redirects would name the port of the pod, which no client can reach.
    ["ssl-redirect-port", String(PUBLIC_PORTS.https)],
    ["admin", `${ANY}:${PROXY_PORTS.admin}`],
    ["drain-delay", formatDuration(drainDelay)],
    ["drain-timeout", formatDuration(drainTimeout)],
    ["workers", String(WORKERS)],
    // Follows a limit that a pod template sets. The kubelet fills it in, not the proxy.
    ["memory-limit", `$(${MEMORY_LIMIT_VARIABLE})`],
    ...(listenRange == null ? [] : [["listen-range", formatPortRange(listenRange)] as const]),
    ...(stream ? streamFlags(namespace) : []),
  ];
  const given = new Set(further.map(flagOf));
  const kept = ours.filter(([flag]) => ADDED.has(flag) || !given.has(flag));
  return {
    args: [...kept.map(([flag, value]) => `--${flag}=${value}`), ...further],
    mistakes: [...mistakesIn(further), ...clashesIn(further, listenRange ?? null)],
  };
}

/** A cluster's domain may have any name, so it is left to the pod's search list. */
function streamFlags(namespace: string): readonly (readonly [flag: string, value: string])[] {
  const { service, port, bundleFile, tokenFile } = STREAM;
  return [
    ["controller", `https://${service}.${namespace}.svc:${port}`],
    ["controller-ca", `${CONFIG_FOLDER}/${bundleFile}`],
    ["controller-token", `${CONFIG_FOLDER}/${tokenFile}`],
  ];
}

function mistakesIn(args: readonly string[]): ArgMistake[] {
  return args.flatMap((arg, index) => {
    const flag = flagOf(arg);
    const isKept = flag === "admin" && arg.endsWith(`:${PROXY_PORTS.admin}`);
    if (flag !== null && Object.hasOwn(FIXED, flag) && !isKept) {
      return { message: `--${flag} cannot be set for the proxy`, remedy: FIXED[flag] };
    }
    // `--workers` and `8` may be two arguments.
    const isValue = index > 0 && /^--[^=]+$/.test(args[index - 1]);
    if (flag !== null || isValue) return [];
    return {
      message: `${JSON.stringify(arg)} is not a flag of the proxy, which would not start`,
      remedy: "write it like --proxy-arg=--workers=8",
    };
  });
}

/** Sockets that are open already cannot be a Gateway's. */
function clashesIn(args: readonly string[], range: PortRange | null): ArgMistake[] {
  return args.flatMap((arg, index) => {
    const flag = flagOf(arg);
    if (flag !== "listen-http" && flag !== "listen-https") return [];
    const value = arg.includes("=") ? arg.slice(arg.indexOf("=") + 1) : args[index + 1] ?? "";
    const port = parseAddress(value)?.port;
    if (range === null || port === undefined || !isInRange(range, port)) return [];
    return [{
      message: `--${flag} has the port ${port}, which is in --listen-range ${
        formatPortRange(range)
      }: the proxy would not start`,
      remedy: "give the controller another --listen-range, or --gateway=false",
    }];
  });
}

/** `--workers=8` and `--workers` → `workers`; null for anything else. */
function flagOf(arg: string): string | null {
  return /^--([^=]+)(?:=|$)/.exec(arg)?.[1] ?? (arg === "-h" ? "help" : null);
}
