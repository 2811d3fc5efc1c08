/**
 * Endpoints that get no request. In: EndpointSlices of unknown shape, and the Service's port that
 * requests go to. Out: each address that is not used, with the reason.
 */
import { isIP } from "node:net";
import { portsOf, stateOf } from "../../controller/translate/backends/endpoints.ts";
import { formatAddress } from "../../shared/net/address.ts";
import { asList, fieldOf } from "../../controller/base/json.ts";

export interface UnusedEndpoint {
  /** As it is written, with the port that it has for the Service's. */
  readonly address: string;
  /** A clause: `not ready`. */
  readonly because: string;
}

/**
 * @param slices those of the Service.
 * @param port the name of the Service's port, "" for one without; null where there is no such port.
 * @param used addresses that get requests.
 */
export function unusedEndpoints(
  slices: readonly unknown[],
  port: string | null,
  used: ReadonlySet<string>,
): UnusedEndpoint[] {
  const found = new Map<string, UnusedEndpoint>();
  for (const slice of slices) {
    for (const endpoint of asList(fieldOf(slice, "endpoints")) ?? []) {
      for (const address of asList(fieldOf(endpoint, "addresses")) ?? []) {
        if (typeof address !== "string" || used.has(address)) continue;
        const because = whyUnused(slice, endpoint, address, port);
        // Of several slices the one that could serve it says most.
        if (found.has(address) && because !== NOT_READY) continue;
        found.set(address, { address: withPort(address, slice, port), because });
      }
    }
  }
  return [...found.values()];
}

/** The address alone where its slice has no such port. */
function withPort(address: string, slice: unknown, port: string | null): string {
  const [number] = port === null || isIP(address) === 0 ? [] : portsOf(slice, port, 1);
  return number === undefined ? address : formatAddress({ hostname: address, port: number });
}

const NOT_READY = "not ready";

function whyUnused(
  slice: unknown,
  endpoint: unknown,
  address: string,
  port: string | null,
): string {
  if (port === null) return "the Service has no such port";
  if (isIP(address) === 0 || address.includes("%")) return "it is no IP address";
  if (portsOf(slice, port, 1).length === 0) {
    return port === ""
      ? "its EndpointSlice has no TCP port without a name"
      : `its EndpointSlice has no TCP port ${port}`;
  }
  return stateOf(fieldOf(endpoint, "conditions")) === "leaving"
    ? "terminating, and others are ready"
    : NOT_READY;
}
