/**
 * HTTPS listeners whose hostnames overlap. In: the Gateways of our classes, the oldest first, with the conflicts and
 * the certificates of their listeners. Out: the condition OverlappingTLSConfig of each listener that has hosts of
 * another one on its port.
 *
 * The API requires it for listeners of one Gateway. Where an address is shared, listeners of other Gateways of the
 * namespace count as well. Those of other namespaces do not: with one listener, a tenant would have the statuses of
 * all others written. Nor do listeners without a certificate: there are no connections with theirs.
 *
 * Browsers send requests for several hosts by one connection where its certificate names them. Then the connection
 * has the certificate of one listener, and the request may be for another one.
 *
 * https://gateway-api.sigs.k8s.io/geps/gep-3567/
 */
import { formatObject } from "../../../shared/problem.ts";
import type { ConfiguredGateway } from "./gateway_parameters.ts";
import type { ListenerCertificates } from "./certificate_refs.ts";
import { acceptedCondition } from "./gateway_status.ts";
import { type Condition, trueCondition } from "./objects/condition.ts";
import { broaderPatterns } from "../model/host.ts";
import type { Hostname } from "./objects/hostname.ts";
import type { ListenerModel } from "./objects/listener.ts";

export const OVERLAPPING_TLS = "OverlappingTLSConfig";

interface Served {
  readonly gateway: ConfiguredGateway;
  readonly listener: ListenerModel;
}

/** Of listeners that overlap alone: the API wants the condition left out otherwise. */
export function overlapConditions(
  gateways: readonly ConfiguredGateway[],
  certificates: ReadonlyMap<ListenerModel, Pick<ListenerCertificates, "certificates">>,
): ReadonlyMap<ListenerModel, Condition> {
  const conditions = new Map<ListenerModel, Condition>();
  const served = gateways.filter(({ isServed }) => isServed).flatMap((gateway) =>
    gateway.listeners.filter((listener) =>
      listener.protocol === "HTTPS" && certificates.get(listener)!.certificates.length > 0 &&
      acceptedCondition(listener, gateway).status === "True"
    ).map((listener): Served => ({ gateway, listener }))
  );
  for (const onPort of Map.groupBy(served, socketOf).values()) {
    for (const [one, other] of overlaps(onPort)) {
      conditions.set(one.listener, conditionOf(one, other));
    }
  }
  return conditions;
}

/** The same for all listeners of a namespace to which one connection may lead. */
function socketOf({ gateway: { identity, address }, listener: { port } }: Served): string {
  return `${port} ${address === "shared" ? identity.ref.namespace : identity.key}`;
}

/**
 * To each the one with the same hostname, else the one with the next broader one; else, for the broadest, the first
 * that is more specific. Each hostname is looked up by its suffixes: pairs of thousands would take seconds.
 */
function overlaps(listeners: readonly Served[]): ReadonlyMap<Served, Served> {
  const byHostname = Map.groupBy(listeners, ({ listener: { hostname } }) => hostname);
  const found = new Map<Served, Served>();
  for (const one of listeners) {
    const { hostname } = one.listener;
    const [first, second] = byHostname.get(hostname)!;
    const same = first === one ? second : first;
    const broader = nextBroader(hostname, byHostname);
    const other = same ?? broader[0];
    if (other !== undefined) found.set(one, other);
    for (const each of broader) if (!found.has(each)) found.set(each, one);
  }
  return found;
}

function nextBroader(
  hostname: Hostname,
  byHostname: ReadonlyMap<Hostname, readonly Served[]>,
): readonly Served[] {
  if (hostname === null) return [];
  for (const pattern of broaderPatterns(hostname)) {
    const found = byHostname.get(pattern);
    if (found !== undefined) return found;
  }
  return byHostname.get(null) ?? [];
}

function conditionOf({ gateway, listener }: Served, other: Served): Condition {
  const isOwn = other.gateway === gateway;
  const where = isOwn ? "" : ` of ${formatObject(other.gateway.identity.ref)}`;
  const misdirected = gateway.address === "shared"
    ? "with another certificate than that of its connection"
    : "of another listener than that of its connection";
  return trueCondition(
    OVERLAPPING_TLS,
    "OverlappingHostnames",
    `${shown(listener)} overlaps with ${shown(other.listener)} of listener ${other.listener.name}` +
      `${where} on port ${listener.port}. A request for a host ${misdirected} gets 421, and clients ` +
      "repeat it on a new connection.",
  );
}

function shown({ hostname }: ListenerModel): string {
  return hostname === null ? "any hostname" : `hostname ${hostname}`;
}
