/**
 * Sizes of the parts of HTTPRoutes. In: a match, the ids of backends, or a name. Out: the bytes that each adds to the
 * text of a route, no fewer than it has there; the same ones for what is written as for what was published. Of some
 * of them, how much compression cannot leave out: the same text of another route may be too far away for it.
 */
import { Buffer } from "node:buffer";
import type { ObjectRef } from "../../../shared/problem.ts";
import { copiedCharacters, matchCharacters } from "../../../shared/snapshot/memory.ts";
import type { RouteMatch } from "../../../shared/snapshot/types.ts";

/** Bytes of JSON. */
export interface TextSize {
  readonly text: number;
  /** Of these, those that compression cannot leave out. */
  readonly random: number;
}

export interface MatchSize extends TextSize {
  /** Characters that it takes in memory beside these. */
  readonly compiled: number;
  /** Characters that it takes in memory for each listener after the first. */
  readonly copied: number;
}

function conditionSize(match: RouteMatch): MatchSize {
  const text = Buffer.byteLength(JSON.stringify(match));
  const conditions = (match.headers?.length ?? 0) + (match.query?.length ?? 0);
  return {
    text,
    random: Math.max(0, text - PATH_BYTES - conditions * CONDITION_BYTES),
    compiled: Math.max(0, matchCharacters(match) - text),
    copied: copiedCharacters(match, 2),
  };
}

/** `{"path":{"type":"StringPrefix","value":""}}`. */
const PATH_BYTES = 44;

/** `{"name":"","type":"Exact","value":""},`. */
const CONDITION_BYTES = 38;

export function matchSize(match: RouteMatch): MatchSize {
  const { path: { type, value }, method, headers, query } = match;
  const isPlain = method === undefined && headers === undefined && query === undefined;
  // Any other path is ASCII, with nothing that JSON escapes but backslashes and quotes, which are rare.
  return isPlain && type !== "Regex" && !ESCAPED.test(value)
    ? {
      ...{ text: PATH_BYTES + value.length, random: value.length, compiled: 0 },
      copied: copiedCharacters(match, 2),
    }
    : conditionSize(match);
}

const ESCAPED = /["\\]/;

/** Characters of the reason for which requests of a route get 500: proxies log it, and status has all of it. */
export const MAX_REASON = 256;

/** Of the one for which those of one of several backends do. */
export const MAX_SHARE_REASON = 80;

/** Of one of several backends, beside its id: the names of its fields, a weight and a reason. */
const ONE_OF_BACKENDS = 45 + MAX_SHARE_REASON;

/** Of the only backend its id, or of a reason what it usually has. */
const LEAST_ACTION = 60;

/** Of an id that upstreams have as well. */
const USUAL_ID = 40;

/** Of a reason, beside names in it. */
const USUAL_REASON = 80;

/** @param reason Why requests of a route get 500. */
export function reasonSize(reason: string): TextSize {
  const length = Math.min(reason.length, MAX_REASON);
  return { text: Math.max(LEAST_ACTION, length), random: Math.max(0, length - USUAL_REASON) };
}

/** @param ids Of the upstreams of one route, at least one. */
export function backendsSize(ids: readonly string[]): TextSize {
  if (ids.length === 1) {
    const [{ length }] = ids;
    return { text: Math.max(LEAST_ACTION, length), random: Math.max(0, length - USUAL_ID) };
  }
  let random = 0;
  for (const id of ids) random += id.length;
  return { text: random + ids.length * ONE_OF_BACKENDS, random };
}

/** Of namespace and name, in the id and in the origin: what every route takes for granted. */
const USUAL_NAMES = 50;

/** What the name of an HTTPRoute adds to each of its routes. */
export function nameBytes({ namespace, name }: Pick<ObjectRef, "namespace" | "name">): number {
  return Math.max(0, 2 * (namespace.length + name.length) - USUAL_NAMES);
}
