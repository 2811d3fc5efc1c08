/**
 * References between parts of a snapshot. In: a route, an action or a listener, and which parts there
 * are. Out: the first reference that leads nowhere.
 */
import { describe } from "./config_check.ts";
import type { Action, Listener, Route } from "./types.ts";

/** Ids of parts by the list that they stand in. */
export interface KnownIds {
  readonly upstreams: Ids;
  readonly filterSets: Ids;
  readonly policies: Ids;
  readonly listeners: Ids;
}

export type Ids = Pick<ReadonlySet<string>, "has">;

export interface StrayReference {
  /** JSON path in the route or listener. */
  readonly field: string;
  readonly message: string;
  readonly remedy: string;
}

/** Null where every reference leads somewhere. */
export function strayReference(
  { listeners = [], action, filterSet, policy }: Route,
  known: KnownIds,
): StrayReference | null {
  const listener = listeners.findIndex((id) => !known.listeners.has(id));
  if (listener !== -1) return stray(`listeners[${listener}]`, listeners[listener], LISTENER);
  if (filterSet !== undefined && !known.filterSets.has(filterSet)) {
    return stray("filterSet", filterSet, FILTER_SET);
  }
  if (policy !== undefined && !known.policies.has(policy)) return stray("policy", policy, POLICY);
  return strayOfAction(action, "action", known);
}

/** @param field the JSON path of the action. */
export function strayOfAction(
  action: Action,
  field: string,
  known: KnownIds,
): StrayReference | null {
  if (action.kind !== "forward") return null;
  for (const [i, { upstream, fault, filterSet, policy }] of action.backends.entries()) {
    const place = `${field}.backends[${i}]`;
    if (fault === undefined && !known.upstreams.has(upstream)) {
      return stray(`${place}.upstream`, upstream, UPSTREAM);
    }
    if (filterSet !== undefined && !known.filterSets.has(filterSet)) {
      return stray(`${place}.filterSet`, filterSet, FILTER_SET);
    }
    if (policy !== undefined && !known.policies.has(policy)) {
      return stray(`${place}.policy`, policy, POLICY);
    }
  }
  return null;
}

/** Null where the listener has certificates of the snapshot only. */
export function strayCertificate(
  { certificates = [] }: Pick<Listener, "certificates">,
  known: Ids,
): StrayReference | null {
  const at = certificates.findIndex((id) => !known.has(id));
  return at === -1 ? null : stray(`certificates[${at}]`, certificates[at], CERTIFICATE);
}

/** What a part is called, and its list. */
const UPSTREAM = ["upstream", "upstreams"] as const;
const FILTER_SET = ["filter set", "filterSets"] as const;
const POLICY = ["policy", "policies"] as const;
const LISTENER = ["listener", "listeners"] as const;
const CERTIFICATE = ["certificate", "certificates"] as const;

function stray(field: string, id: string, [what, list]: readonly [string, string]): StrayReference {
  return {
    field,
    message: `${describe(id)} is the id of no ${what}`,
    remedy: `write the id of one of $.${list}`,
  };
}
