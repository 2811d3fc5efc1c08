/**
 * What the proxy may do, made as small as its command line allows. In: options, and where code and
 * name servers are. Out: the permissions of the thread that does the work.
 *
 * Deno's permissions can only be widened by a question and only be dropped by kind, so the thread
 * that a person or a manifest starts, with the set `proxy` of deno.json, cannot narrow itself. But
 * a worker begins with what it is given: all work happens in one, and the first thread drops the
 * rest. A denial in the set, such as that of 169.254.169.254, holds in every worker.
 */
import { dirname, resolve } from "node:path";
import { isIP } from "node:net";
import { formatAddress, isAny, withoutIpv6 } from "../../shared/net/address.ts";
import { portsOf } from "../../shared/net/port_range.ts";
import { isGranted, listenerGrant, NO_RIGHTS, type Rights } from "../../shared/rights.ts";
import { dialledHost } from "../telemetry/traces/options.ts";
import type { ProxyOptions } from "./options.ts";

/** Nothing but the network that the thread which starts it has; for workers that replace others. */
export const WORKER_RIGHTS: Rights = {
  ...NO_RIGHTS,
  // Deno 2.9 refuses CIDR blocks in a list that one worker hands to the next, even equal ones.
  net: "inherit",
};

/** Where the thread's own code is: a worker's files are read with the rights of who starts it. */
const CODE = [resolve(import.meta.dirname!, ".."), resolve(import.meta.dirname!, "../../shared")];

/** The rights of the thread that reads the configuration and starts workers in place of others. */
export function supervisorRights(options: ProxyOptions, nameServers: readonly string[]): Rights {
  const { config, watch, controller } = options;
  const files = controller === null ? [config] : [config, controller.ca, controller.token];
  return {
    ...WORKER_RIGHTS,
    // Folders, since mounted files are links to others beside them.
    read: [
      ...files.map((file) => dirname(resolve(file))),
      ...watch.map((folder) => resolve(folder)),
      ...CODE,
    ],
    net: netGrants(options, nameServers) ?? "inherit",
  };
}

/** The rights of a thread that carries traffic, beside a supervisor with these. */
export function workerRights(supervisor: Rights): Rights {
  return { ...WORKER_RIGHTS, net: supervisor.net };
}

/** The rights of the thread that exports spans: to dial their collector. */
export function exporterRights(url: string): Rights {
  // As for `netGrants`: what is narrow already cannot be narrowed.
  return { ...NO_RIGHTS, net: isGranted({ name: "net" }) ? [dialledHost(url)] : "inherit" };
}

/** What may be dialled and listened on; null where that cannot be told narrower than it is. */
function netGrants(
  { listenHttp, listenHttps, listenRange, admin, upstreamNetworks, controller }: ProxyOptions,
  nameServers: readonly string[],
): string[] | null {
  // Who started Deno with a list of networks has narrowed it already, and lists cannot be joined.
  if (upstreamNetworks.isEmpty || !isGranted({ name: "net" })) return null;
  const networks = upstreamNetworks.toString().split(",").map(networkGrant);
  if (networks.includes(null)) return null;
  const [{ hostname }] = listenHttp;
  // Each port by itself, on both addresses 512 more grants: a check takes 2.8 µs instead of 1.4 then (Deno
  // 2.9.6), of the 70 µs that a connection takes. The bare address would be a right to dial all ports of
  // this machine.
  const ofRange = listenRange === null
    ? []
    : portsOf(listenRange).map((port) => ({ hostname, port }));
  return [
    ...[...listenHttp, ...listenHttps, ...ofRange, admin].map(listenerGrant),
    // Where it is dialled to see whether it answers, on hosts whose loopback is IPv4 alone.
    ...[...listenHttps, ...ofRange].filter(isAny).map(withoutIpv6).map(listenerGrant),
    ...networks as string[],
    ...(controller === null ? [] : [formatAddress(controller.address)]),
    ...nameServers.map((hostname) => formatAddress({ hostname, port: 53 })),
  ];
}

/**
 * The name servers of `/etc/resolv.conf`: where dialling is narrowed to networks, names are asked
 * of them. Empty where the file cannot be read or none are in it.
 */
export function nameServersOf(path = "/etc/resolv.conf"): string[] {
  let text: string;
  try {
    text = Deno.readTextFileSync(path);
  } catch {
    return [];
  }
  return text.split("\n")
    .map((line) => /^nameserver\s+(\S+)/.exec(line.trim())?.[1] ?? "")
    .filter((address) => isIP(address) !== 0 && !address.includes("%"));
}

/** As Deno writes a network; null where it cannot: 2.9 knows blocks of IPv4 alone. */
function networkGrant(cidr: string): string | null {
  if (!cidr.includes(":")) return cidr;
  return cidr.endsWith("/128") ? `[${cidr.slice(0, -4)}]` : null;
}
