/**
 * How a backend wants to be spoken to. In: `appProtocol` of a Service's port. Out: the protocol of
 * its upstream.
 *
 * https://kubernetes.io/docs/concepts/services-networking/service/#application-protocol
 */
import type { Upstream } from "../../shared/snapshot.ts";

/** Names without a prefix that stand in no registry occur for HTTP/2 in other controllers. */
const PROTOCOLS: ReadonlyMap<unknown, Upstream["protocol"]> = new Map([
  ["https", "https"],
  ["wss", "https"],
  ["kubernetes.io/wss", "https"],
  ["kubernetes.io/h2c", "h2c"],
  ["h2c", "h2c"],
  ["http2", "h2c"],
  ["grpc", "h2c"],
  ["h2", "h2"],
  ["grpcs", "h2"],
]);

/** HTTP/1.1 in plain text for anything else, which is what most Services mean by saying nothing. */
export function readAppProtocol(appProtocol: unknown): Upstream["protocol"] {
  return PROTOCOLS.get(appProtocol) ?? "http";
}
