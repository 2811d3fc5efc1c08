/**
 * How long messages of one status may be. In: all its conditions, as they are wanted. Out: the characters of each
 * message that are written, so that a status stays small however much is wrong with an object: a route of 17 KB
 * whose 16 backends are wrong for each of 32 parents would have one of 400 KB.
 */
import type { Condition } from "../../translate/gateway/objects/condition.ts";

/** Characters of a message that the API takes. */
export const MAX_MESSAGE = 32_768;

/**
 * Characters of all messages of one status. What else is in it depends on names alone: 80 KB for the 64 listeners of a
 * Gateway and 45 KB for the 32 parents of a route, all with the longest names.
 */
const MAX_MESSAGES = 32 << 10;

/**
 * Short ones are left whole; the long ones share what these leave. What they lose is their end: messages begin with
 * the field, and with what is wrong.
 */
export function messageLimit(lists: Iterable<readonly Condition[]>): number {
  const lengths: number[] = [];
  let sum = 0;
  for (const conditions of lists) {
    for (const { message } of conditions) {
      lengths.push(message.length);
      sum += message.length;
    }
  }
  if (sum <= MAX_MESSAGES) return MAX_MESSAGE;
  let left = MAX_MESSAGES;
  for (const [i, length] of lengths.sort((a, b) => a - b).entries()) {
    const share = Math.floor(left / (lengths.length - i));
    if (length > share) return share;
    left -= length;
  }
  return MAX_MESSAGE;
}
