/** Conditions in the status of objects of Gateway API. In: nothing. Out: their type, and how to write one. */
import type { ObjectRef } from "../../../../shared/problem.ts";

/** Without `observedGeneration` and `lastTransitionTime`, which whoever writes the status adds. */
export interface Condition {
  readonly type: string;
  readonly status: "True" | "False" | "Unknown";
  /** In CamelCase, of those that the API lists. */
  readonly reason: string;
  /** For people; may be empty. */
  readonly message: string;
  /** The object that is named and does not exist, if that is what is wrong. It is not written. */
  readonly absent?: ObjectRef;
  /** Name of the GatewayClass whose condition says the same, if that is what is wrong. It is not written. */
  readonly ofClass?: string;
  /** The Gateway shares an address, and one of its own would do as well. It is not written. */
  readonly ofSharedAddress?: true;
  /** Where several things are wrong, one for each; the message joins theirs. They are not written. */
  readonly each?: readonly Condition[];
}

export function trueCondition(type: string, reason: string = type, message = ""): Condition {
  return { type, status: "True", reason, message };
}

/** With the field that it is about before its message. */
export function atField(field: string, condition: Condition): Condition {
  return { ...condition, message: `${field}: ${condition.message}` };
}

/** @param message The field, what is wrong with it, and the remedy. */
export function falseCondition(
  type: string,
  reason: string,
  message: string,
  absent?: ObjectRef,
): Condition {
  return { type, status: "False", reason, message, ...(absent === undefined ? {} : { absent }) };
}
