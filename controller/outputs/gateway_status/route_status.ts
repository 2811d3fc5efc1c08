/**
 * The status of HTTPRoutes. In: the status that stands, with entries of several controllers, and the
 * translation of a route. Out: the fields to write, or null.
 *
 * `parents` is one atomic list: entries of other controllers are written back as they are, in their places.
 * Entries of ours whose parent is no longer one go, also the last.
 *
 * https://gateway-api.sigs.k8s.io/reference/spec/#routeparentstatus
 */
import { asList, fieldOf } from "../../base/json.ts";
import { GATEWAY_API, GATEWAYS } from "../../kube/types.ts";
import type { ParentStatus } from "../../translate/gateway/gateway_translation.ts";
import { GATEWAY_CONTROLLER } from "../../translate/gateway/objects/gateway_class.ts";
import { mergeConditions } from "./conditions.ts";
import { messageLimit } from "./message_limit.ts";
import { type StatusChange, statusChange } from "./status_change.ts";

export interface WantedRoute {
  readonly generation: number;
  /** Empty where it has no parent of ours any more. */
  readonly parents: readonly ParentStatus[];
}

/** Entries that the API takes, of all controllers. */
const MAX_PARENTS = 32;

/** The API wants it left out where all rules are served. */
const OPTIONAL: ReadonlySet<string> = new Set(["PartiallyInvalid"]);

/** @param namespace Of the route: that of a parentRef without one. */
export function routeChange(
  standing: unknown,
  { generation, parents }: WantedRoute,
  namespace: string,
  now: number,
): StatusChange | null {
  const left = new Map(parents.map((parent) => [parentKey(parent.parentRef, namespace), parent]));
  const maxMessage = messageLimit(parents.map(({ conditions }) => conditions));
  const entry = ({ parentRef, conditions }: ParentStatus, present: unknown) => ({
    parentRef,
    controllerName: GATEWAY_CONTROLLER,
    conditions: mergeConditions(fieldOf(present, "conditions"), {
      wanted: conditions,
      optional: OPTIONAL,
      ...{ generation, maxMessage, now },
    }),
  });
  const present = asList(fieldOf(standing, "parents")) ?? [];
  const merged = present.flatMap((each): unknown[] => {
    if (!isOurs(each)) return [each];
    const key = parentKey(fieldOf(each, "parentRef"), namespace);
    const parent = left.get(key);
    left.delete(key);
    return parent === undefined ? [] : [entry(parent, each)];
  });
  for (const parent of left.values()) {
    // One entry too many, and the API server would refuse them all.
    if (merged.length < MAX_PARENTS) merged.push(entry(parent, null));
  }
  return statusChange(standing, { parents: merged });
}

/** Whether the status has an entry that is ours to change or to remove. */
export function hasOurParents(standing: unknown): boolean {
  return (asList(fieldOf(standing, "parents")) ?? []).some(isOurs);
}

function isOurs(entry: unknown): boolean {
  return fieldOf(entry, "controllerName") === GATEWAY_CONTROLLER;
}

/** The same for two references to one parent, whichever defaults they write. */
function parentKey(ref: unknown, namespace: string): string {
  return JSON.stringify([
    fieldOf(ref, "group") ?? GATEWAY_API,
    fieldOf(ref, "kind") ?? GATEWAYS.kind,
    fieldOf(ref, "namespace") ?? namespace,
    fieldOf(ref, "name") ?? "",
    fieldOf(ref, "sectionName") ?? null,
    fieldOf(ref, "port") ?? null,
  ]);
}
