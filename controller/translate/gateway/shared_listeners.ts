/**
 * Listeners of Gateways that share one address. In: the Gateways of our classes, the oldest first, the owners of
 * hosts, and what was published. Out: the same, with the conflicts of listeners with those of other Gateways.
 *
 * On a port each name is one listener's. That of the oldest Gateway has it, but for two things: a name is never
 * withheld from the namespace that owns it, and a listener that is served is not displaced by a change of an older
 * Gateway: its owner could take the traffic of others away. The same holds for listeners without a hostname.
 *
 * Below a wildcard several namespaces have hosts. Whichever listener had it alone, hosts would be withheld from
 * their owners, so that all of them are served: each host is its owner's, on whichever of them.
 */
import { formatObject } from "../../../shared/problem.ts";
import { sharedListenerId } from "../../../shared/snapshot/listener_id.ts";
import type { Listener } from "../../../shared/snapshot/types.ts";
import type { Ownership } from "../hosts/ownership.ts";
import { ANY_HOST } from "../model/host.ts";
import type { ConfiguredGateway } from "./gateway_parameters.ts";
import { acceptedCondition } from "./gateway_status.ts";
import type { Conflict } from "./objects/gateway.ts";
import type { ListenerModel } from "./objects/listener.ts";
import { crowdedOut, MAX_SHARED_LISTENERS, sharedSocket } from "./sharing/shared_ports.ts";

/** Of routes that attach to each listener on a shared address. */
export type RouteNamespaces = ReadonlyMap<ListenerModel, ReadonlySet<string>>;

export interface ListenerFacts {
  readonly ownership: Ownership;
  readonly namespaces: RouteNamespaces;
  readonly published: readonly Listener[];
}

interface Claim {
  readonly gateway: ConfiguredGateway;
  readonly listener: ListenerModel;
}

/** Why one listener has a hostname before another: in this order, then by age. */
const REASONS = [
  "whose namespace owns the hostname",
  "which has routes of the namespace that owns the hostname",
  "which is served already",
] as const;

const OLDER = "which is older";

export function shareListeners(
  gateways: readonly ConfiguredGateway[],
  { ownership, namespaces, published }: ListenerFacts,
): readonly ConfiguredGateway[] {
  const claims = gateways.flatMap((gateway) =>
    shareableListeners(gateway).filter(({ hostname }) => hostname?.startsWith("*.") !== true)
      .map((listener): Claim => ({ gateway, listener }))
  );
  const served = new Set(published.map(({ id, hostname }) => `${id} ${hostname ?? ANY_HOST}`));
  const rankOf = ({ gateway, listener }: Claim): number => {
    const { hostname } = listener;
    const owner = hostname === null ? undefined : ownership.owners.get(hostname)?.namespace;
    if (owner === gateway.identity.ref.namespace) return 0;
    if (owner !== undefined && namespaces.get(listener)?.has(owner)) return 1;
    return served.has(`${idOf(gateway, listener)} ${hostname ?? ANY_HOST}`) ? 2 : REASONS.length;
  };
  const conflicts = new Map<ConfiguredGateway, Map<string, Conflict>>();
  const groups = Map.groupBy(
    claims,
    ({ listener: { port, hostname } }) => `${port} ${hostname ?? ANY_HOST}`,
  );
  for (const group of groups.values()) {
    if (group.length === 1) continue;
    // Those of the same rank stay in the order of age.
    const [winner, ...losers] = group.map((claim) => ({ claim, rank: rankOf(claim) }))
      .sort((a, b) => a.rank - b.rank);
    for (const { claim: { gateway, listener }, rank } of losers) {
      const known = conflicts.get(gateway) ?? new Map(gateway.conflicts);
      const why = rank === winner.rank ? OLDER : REASONS[winner.rank];
      known.set(listener.name, conflictWith(winner.claim, why, listener.field));
      conflicts.set(gateway, known);
    }
  }
  if (conflicts.size === 0) return gateways;
  return gateways.map((gateway) => {
    const found = conflicts.get(gateway);
    return found === undefined ? gateway : { ...gateway, conflicts: found };
  });
}

/** Without listeners of a namespace that has too many of them on the shared address: the oldest Gateways keep theirs. */
export function withinBounds(
  gateways: readonly ConfiguredGateway[],
): readonly ConfiguredGateway[] {
  const counts = new Map<string, number>();
  return gateways.map((gateway) => {
    const { namespace } = gateway.identity.ref;
    const own = shareableListeners(gateway);
    if (own.length === 0) return gateway;
    const before = counts.get(namespace) ?? 0;
    counts.set(namespace, before + own.length);
    const over = own.slice(Math.max(0, MAX_SHARED_LISTENERS - before));
    return over.length === 0
      ? gateway
      : { ...gateway, crowdedOut: new Map(over.map(({ name }) => [name, crowdedOut(namespace)])) };
  });
}

/** Those that can be served as far as their own Gateway says; none where it has an address of its own. */
export function shareableListeners(gateway: ConfiguredGateway): readonly ListenerModel[] {
  if (gateway.address === "own" || !gateway.isServed) return [];
  return gateway.listeners.filter((listener) =>
    acceptedCondition(listener, gateway).status === "True"
  );
}

function idOf({ identity: { key } }: ConfiguredGateway, listener: ListenerModel): string {
  const socket = sharedSocket(listener);
  return socket === null ? "" : sharedListenerId(key, listener.name, socket);
}

function conflictWith(
  { gateway: { identity }, listener: { name, port, hostname } }: Claim,
  why: string,
  field: string,
): Conflict {
  return {
    reason: "HostnameConflict",
    ofSharedAddress: true,
    message:
      `${field}: listener ${name} of ${
        formatObject(identity.ref)
      }, ${why}, has port ${port} of the ` +
      `shared address for ${hostname ?? "any hostname"}. Write another hostname, or address own ` +
      "into the parameters of the Gateway.",
  };
}
