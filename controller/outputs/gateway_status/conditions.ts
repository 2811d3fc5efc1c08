/**
 * Conditions that stand, and those that are wanted. In: a list of the status, of unknown shape, and what a
 * translation says. Out: the list that is to be written: order and types of others are kept, and a time
 * changes only with its status.
 *
 * https://github.com/kubernetes/community/blob/master/contributors/devel/sig-architecture/api-conventions.md#typical-status-properties
 */
import { asList, asText, fieldOf, shortened } from "../../base/json.ts";
import type { Condition } from "../../translate/gateway/objects/condition.ts";
import { MAX_MESSAGE } from "./message_limit.ts";

/** As the API server has it. */
export interface StandingCondition extends Condition {
  readonly observedGeneration: number;
  /** RFC 3339, in seconds. */
  readonly lastTransitionTime: string;
}

export interface ConditionMerge {
  readonly wanted: readonly Condition[];
  /** `metadata.generation` that they were computed from. */
  readonly generation: number;
  /** Types of ours that are removed where they are not wanted. */
  readonly optional?: ReadonlySet<string>;
  /** Characters of a message; without it, those that the API takes. */
  readonly maxMessage?: number;
  /** In ms since the epoch. */
  readonly now: number;
}

/** What stands keeps its place; what is new comes behind, in its own order. */
export function mergeConditions(
  standing: unknown,
  { wanted, generation, optional = new Set(), maxMessage = MAX_MESSAGE, now }: ConditionMerge,
): readonly unknown[] {
  const stamp = (condition: Condition, present: unknown) =>
    stamped(
      { ...condition, message: shortened(condition.message, maxMessage) },
      ...[present, generation, now] as const,
    );
  const left = new Map(wanted.map((condition) => [condition.type, condition]));
  const merged: unknown[] = [];
  for (const present of asList(standing) ?? []) {
    const type = asText(fieldOf(present, "type")) ?? "";
    const condition = left.get(type);
    if (condition !== undefined) {
      left.delete(type);
      merged.push(stamp(condition, present));
    } else if (!optional.has(type)) merged.push(present);
  }
  for (const condition of left.values()) merged.push(stamp(condition, null));
  return merged;
}

function stamped(
  { type, status, reason, message }: Condition,
  present: unknown,
  observedGeneration: number,
  now: number,
): StandingCondition {
  const since = asText(fieldOf(present, "lastTransitionTime"));
  const isSame = fieldOf(present, "status") === status && since !== null;
  return {
    ...{ type, status, reason, observedGeneration, message },
    lastTransitionTime: isSame ? since : secondsOf(now),
  };
}

/** `2026-11-26T04:17:25Z`, as the API server writes times. */
function secondsOf(now: number): string {
  return `${new Date(now).toISOString().slice(0, 19)}Z`;
}
