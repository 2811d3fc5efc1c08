/**
 * How the hosts of a folder are reached from a browser, which takes no Host on its command line. In: a
 * snapshot, and where the proxy listens. Out: URLs of hosts that every machine resolves to itself, and one
 * line for the hosts file for others; null where there is neither.
 */
import { isIP } from "node:net";
import { type Address, formatAddress } from "../../shared/net/address.ts";
import type { Snapshot } from "../../shared/snapshot/types.ts";
import { isOfGateway } from "../gateway/gateway_routes.ts";

/** Names and URLs that are shown. */
const MAX_SHOWN = 10;

/** @param http Where browsers get plain HTTP, an address to connect to. */
export function browserHint({ routes }: Snapshot, http: Address): string | null {
  const names = [...new Set(routes.map(({ host }) => host))]
    .filter((host) => !host.includes("*") && isIP(host) === 0);
  const local = names.filter(isLocal);
  const others = names.filter((host) => !isLocal(host));
  // Gateways listen elsewhere.
  const served = new Set(routes.filter((route) => !isOfGateway(route)).map(({ host }) => host));
  const urls = local.filter((host) => served.has(host)).slice(0, MAX_SHOWN)
    .map((host) => `  http://${formatAddress({ hostname: host, port: http.port })}/`);
  const sections = [
    ...(urls.length === 0 ? [] : [`In a browser:\n${urls.join("\n")}`]),
    ...(others.length === 0 ? [] : [hostsLine(others, http.hostname)]),
  ];
  return sections.length === 0 ? null : sections.join("\n");
}

/** RFC 6761 §6.3: browsers resolve them to the machine itself. */
function isLocal(host: string): boolean {
  return host === "localhost" || host.endsWith(".localhost");
}

function hostsLine(names: readonly string[], address: string): string {
  const shown = names.slice(0, MAX_SHOWN);
  const more = names.length - shown.length;
  return `To open ${names.length === 1 ? "this host" : "these hosts"} in a browser, add to ` +
    `/etc/hosts${more === 0 ? "" : ` (${more} more are served)`}:\n  ${address} ${shown.join(" ")}`;
}
