/**
 * The status of Gateways. In: the status that stands, the translation of a Gateway, its addresses, and what
 * proxies have of it. Out: the fields to write, or null.
 *
 * https://gateway-api.sigs.k8s.io/reference/spec/#gatewaystatus
 */
import { asList, fieldOf } from "../../base/json.ts";
import { isAlike } from "../../kube/likeness.ts";
import type { Condition } from "../../translate/gateway/objects/condition.ts";
import type { GatewayStatus, ListenerStatus } from "../../translate/gateway/gateway_translation.ts";
import { OVERLAPPING_TLS } from "../../translate/gateway/overlapping_listeners.ts";
import { type ConditionMerge, mergeConditions } from "./conditions.ts";
import { messageLimit } from "./message_limit.ts";
import type { GatewayAddress, GatewayAddressState } from "../addresses/plan.ts";
import type { Programmed } from "./programmed.ts";
import { type StatusChange, statusChange } from "./status_change.ts";

export interface WantedGateway {
  readonly status: GatewayStatus;
  /** Null where it is not known yet, which leaves those that stand. */
  readonly address: GatewayAddressState | null;
  readonly programmed: Programmed;
  /** Null where the CRDs have no such field, or no ListenerSets. */
  readonly attachedListenerSets: number | null;
}

/** Of listeners; the API wants it left out where nothing overlaps. */
const OPTIONAL: ReadonlySet<string> = new Set([OVERLAPPING_TLS]);

/** Addresses that the API takes. */
const MAX_ADDRESSES = 16;

export function gatewayChange(
  standing: unknown,
  { status, address, programmed, attachedListenerSets }: WantedGateway,
  now: number,
): StatusChange | null {
  const { generation } = status;
  const present = asList(fieldOf(standing, "listeners")) ?? [];
  const own = withProgrammed(status.conditions, programmed.gateway);
  const ofListeners = status.listeners.map(({ name, conditions }) =>
    withProgrammed(conditions, programmed.listeners.get(name) ?? null)
  );
  const merge = { generation, maxMessage: messageLimit([own, ...ofListeners]), now };
  const listeners = status.listeners.map((listener, i) => {
    const before = present.find((each) => fieldOf(each, "name") === listener.name);
    return listenerEntry(before, listener, { wanted: ofListeners[i], ...merge });
  });
  const wanted = {
    conditions: mergeConditions(fieldOf(standing, "conditions"), {
      wanted: own,
      ...merge,
    }),
    ...(address === null ? {} : { addresses: addressEntries(address.addresses) }),
    listeners,
    ...(attachedListenerSets === null ? {} : { attachedListenerSets }),
  };
  return statusChange(standing, wanted, () => {
    const others = statusChange(standing, { ...wanted, listeners: [] });
    const isOther = others !== null &&
      Object.keys(others.fields).some((name) => name !== "listeners");
    return !isOther && isAlike(present.map(withoutCount), listeners.map(withoutCount));
  });
}

/** Behind Accepted; what is under way leaves the condition that stands. */
function withProgrammed(
  conditions: readonly Condition[],
  programmed: Condition | null,
): readonly Condition[] {
  if (programmed === null) return conditions;
  const at = conditions.findIndex(({ type }) => type === "Accepted") + 1;
  return conditions.toSpliced(at, 0, programmed);
}

function listenerEntry(
  present: unknown,
  { name, supportedKinds, attachedRoutes }: ListenerStatus,
  merge: ConditionMerge,
) {
  return {
    name,
    supportedKinds: supportedKinds.map(({ group, kind }) => ({ group, kind })),
    attachedRoutes,
    conditions: mergeConditions(fieldOf(present, "conditions"), { ...merge, optional: OPTIONAL }),
  };
}

function withoutCount(listener: unknown): unknown {
  return { ...(listener as object), attachedRoutes: 0 };
}

function addressEntries(addresses: readonly GatewayAddress[]) {
  return addresses.slice(0, MAX_ADDRESSES).map(({ type, value }) => ({ type, value }));
}
