/**
 * ListenerSets. In: an object of unknown shape, and the Gateways of ours. Out: its conditions, and that of
 * routes which name it as a parent; those of other Gateways have none. They are not supported, so that their
 * listeners are not served.
 *
 * https://gateway-api.sigs.k8s.io/reference/spec/#listenerset
 */
import { fieldOf } from "../../../base/json.ts";
import { compareAge, type Identity, keyOf, readIdentity } from "../../../base/identity.ts";
import { GATEWAY_API, GATEWAYS, LISTENER_SETS } from "../../../kube/types.ts";
import { type Condition, falseCondition } from "./condition.ts";
import { generationOf } from "./generation.ts";
import { readReference } from "./reference.ts";

export interface ListenerSetStatus {
  readonly identity: Identity;
  readonly generation: number;
  readonly conditions: readonly Condition[];
  /** Of routes that name it as a parent: it has no listener for them. */
  readonly ofRoutes: Condition;
}

/** The oldest first. @param gateways Those of ours. */
export function listenerSetStatuses(
  objects: readonly unknown[],
  gateways: readonly { readonly identity: Identity }[],
): readonly ListenerSetStatus[] {
  const keys = new Set(gateways.map(({ identity }) => identity.key));
  return objects.flatMap((object) => listenerSetStatus(object, keys) ?? [])
    .sort((a, b) => compareAge(a.identity, b.identity));
}

/** Null for an object without a name, or whose parent is none of the Gateways. */
function listenerSetStatus(
  object: unknown,
  gateways: ReadonlySet<string>,
): ListenerSetStatus | null {
  const identity = readIdentity(LISTENER_SETS.kind, object);
  if (identity === null) return null;
  const { namespace } = identity.ref;
  const parent = readReference(fieldOf(fieldOf(object, "spec"), "parentRef"), {
    ...{ group: GATEWAY_API, kind: GATEWAYS.kind, namespace },
  });
  if (parent?.group !== GATEWAY_API || parent.kind !== GATEWAYS.kind) return null;
  if (!gateways.has(keyOf(parent))) return null;
  const gateway = `Gateway ${parent.namespace}/${parent.name}`;
  const message =
    `spec.listeners: ListenerSets are not supported. Write the listeners into ${gateway}.`;
  return {
    identity,
    generation: generationOf(object),
    conditions: ["Accepted", "Programmed"].map((type) =>
      falseCondition(type, "NotAllowed", message)
    ),
    ofRoutes: falseCondition(
      "Accepted",
      "NoMatchingParent",
      `${identity.label} is not accepted, as ListenerSets are not supported. Write ${gateway} as the parent.`,
    ),
  };
}
