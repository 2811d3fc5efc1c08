/**
 * What an Event says. In: the problems of one object that have one reason. Out: one text of at most
 * 1,024 bytes, and the name of the Event that carries it.
 */
import { createHash } from "node:crypto";
import type { ObjectRef, Problem } from "../../../shared/problem.ts";

/** The API's own limit for notes of Events. */
const MAX_BYTES = 1024;

/** Of an object's name: a DNS subdomain. */
const MAX_NAME = 253;

/** Of problems that are alone with their reason; they stay the same from one moment to the next. */
const messages = new WeakMap<Problem, string>();

/** At least one problem. */
export function eventMessage(problems: readonly Problem[]): string {
  const [first] = problems;
  if (problems.length > 1) return write(first, ` (and ${problems.length - 1} more like it)`);
  const known = messages.get(first);
  if (known !== undefined) return known;
  const message = write(first, "");
  messages.set(first, message);
  return message;
}

function write(first: Problem, more: string): string {
  const place = first.field === "" ? "" : `${first.field}: `;
  const remedy = first.remedy.charAt(0).toUpperCase() + first.remedy.slice(1);
  const text = `${place}${first.message}. ${remedy}.`.replace(/\p{Cc}+/gu, " ");
  return cut(text, MAX_BYTES - bytesOf(more)) + more;
}

/**
 * The same in every replica and after every restart, so that there is one Event. Another object of
 * the same name, with another UID, gets its own.
 */
export function eventName(object: ObjectRef, uid: string, reason: string): string {
  const hash = createHash("sha256").update(JSON.stringify([object.kind, uid, reason]))
    .digest("hex").slice(0, 16);
  const room = MAX_NAME - hash.length - 1;
  let end = Math.min(object.name.length, room);
  while (end > 0 && "-.".includes(object.name[end - 1])) end--;
  return `${object.name.slice(0, end)}.${hash}`;
}

function cut(text: string, bytes: number): string {
  // No character of a string takes more than three bytes of UTF-8.
  if (text.length * 3 <= bytes || bytesOf(text) <= bytes) return text;
  let kept = "";
  let used = bytesOf("…");
  for (const character of text) {
    used += bytesOf(character);
    if (used > bytes) break;
    kept += character;
  }
  return `${kept}…`;
}

const encoder = new TextEncoder();

function bytesOf(text: string): number {
  return encoder.encode(text).length;
}
