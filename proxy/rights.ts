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
import { type Address, formatAddress } from "../shared/address.ts";
import type { ProxyOptions } from "./options.ts";

/** The rights of one thread: each kind by name. */
export type Rights = Readonly<Required<Deno.PermissionOptionsObject>>;

/** Nothing but the network that the thread which starts it has; for those that carry traffic. */
export const WORKER_RIGHTS: Rights = {
  // Deno 2.9 refuses CIDR blocks in a list that one worker hands to the next, even equal ones.
  net: "inherit",
  read: false,
  write: false,
  run: false,
  env: false,
  ffi: false,
  sys: false,
  import: false,
};

/** Where the thread's own code is: a worker's files are read with the rights of who starts it. */
const CODE = [import.meta.dirname!, resolve(import.meta.dirname!, "../shared")];

/** The rights of the thread that reads the configuration and starts the others. */
export function supervisorRights(options: ProxyOptions, nameServers: readonly string[]): Rights {
  const { config, watch } = options;
  return {
    ...WORKER_RIGHTS,
    read: [dirname(resolve(config)), ...watch.map((folder) => resolve(folder)), ...CODE],
    net: netGrants(options, nameServers) ?? "inherit",
  };
}

/** What may be dialled and listened on; null where that cannot be told narrower than it is. */
function netGrants(
  { listenHttp, listenHttps, admin, upstreamNetworks }: ProxyOptions,
  nameServers: readonly string[],
): string[] | null {
  // Who started Deno with a list of networks has narrowed it already, and lists cannot be joined.
  if (upstreamNetworks.isEmpty || !isGranted({ name: "net" })) return null;
  const networks = upstreamNetworks.toString().split(",").map(networkGrant);
  if (networks.includes(null)) return null;
  return [
    ...[...listenHttp, ...listenHttps, admin].map(listenerGrant),
    ...networks as string[],
    ...nameServers.map((hostname) => formatAddress({ hostname, port: 53 })),
  ];
}

/** What is missing of `rights` in this thread, as the flag that gives it; null where nothing is. */
export function missingRight(rights: Rights): string | null {
  for (const path of rights.read as string[]) {
    if (!isGranted({ name: "read", path })) return `--allow-read=${path}`;
  }
  return null;
}

/** Drops what this thread may read and dial; workers that it has started keep theirs. */
export function dropRights(): void {
  for (const name of ["read", "net"] as const) Deno.permissions.revokeSync({ name });
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
  return [...text.matchAll(/^\s*nameserver\s+(\S+)/gm)]
    .map(([, address]) => address)
    .filter((address) => isIP(address) !== 0 && !address.includes("%"));
}

/** The right to listen there. Which port stands for 0 is not known yet: any of that address. */
function listenerGrant(address: Address): string {
  return address.port === 0
    ? formatAddress({ ...address, port: 1 }).replace(/:1$/, "")
    : formatAddress(address);
}

/** As Deno writes a network; null where it cannot: 2.9 knows blocks of IPv4 alone. */
function networkGrant(cidr: string): string | null {
  if (!cidr.includes(":")) return cidr;
  return cidr.endsWith("/128") ? `[${cidr.slice(0, -4)}]` : null;
}

function isGranted(right: Deno.PermissionDescriptor): boolean {
  return Deno.permissions.querySync(right).state === "granted";
}
