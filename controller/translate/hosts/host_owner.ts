/**
 * The owner of a host. In: nothing. Out: types, and how a namespace stands to a host with that owner.
 */
import type { Source } from "../model/source.ts";

/** Whether hosts belong to namespaces, or to whoever has the oldest Ingress for a path. */
export const HOST_OWNERSHIPS = ["namespace", "shared"] as const;
export type HostOwnershipMode = typeof HOST_OWNERSHIPS[number];

export interface HostOwner {
  readonly namespace: string;
  /** `assigned`: by the Namespace object. `claim`: by the oldest claim. */
  readonly because: "assigned" | "claim";
  /** When the claim was first seen (RFC 3339); null where none is recorded. */
  readonly since: string | null;
  /** Namespaces that served the host together when claims were first recorded, the owner too. */
  readonly sharers: readonly string[];
  /** Namespaces whose rules, but not TLS entries, the owner admits. */
  readonly guests: readonly string[];
  /** Of a wildcard: whether its star stands for more labels than one, as that of an HTTPRoute. */
  readonly isDeep: boolean;
}

/** How a namespace stands to a host. */
export type Standing = "free" | "owner" | "guest" | "refused";

/** An object that names hosts: an Ingress, or an HTTPRoute on an address that Gateways share with Ingresses. */
export type HostClaimant = Pick<
  Source,
  "identity" | "hosts" | "otherNames" | "sharesWith" | "isDying"
>;

/** The objects that name a host, oldest first. */
export interface Claimants {
  readonly living: HostClaimant[];
  readonly dying: HostClaimant[];
}

export function standingOf(owner: HostOwner | undefined, namespace: string): Standing {
  if (owner === undefined) return "free";
  if (owner.namespace === namespace || owner.sharers.includes(namespace)) return "owner";
  return owner.guests.includes(namespace) ? "guest" : "refused";
}
