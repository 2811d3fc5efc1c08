/**
 * Units as they come in a message. In: the message's fields, not yet trusted. Out: each unit with
 * its key, its text and what hashes say of it; and, for those that are new, the routes, upstream or
 * certificate that it is.
 *
 * A unit that cannot be read keeps its hash and the reason: what comes after is a change to it too.
 */
import {
  type ConfigCheck,
  type ConfigProblem,
  describe,
  isObject,
  kindOf,
} from "../snapshot/config_check.ts";
import { readNode } from "../snapshot/node_reader.ts";
import { isSamePart } from "../snapshot/equality.ts";
import { readRest } from "../snapshot/parse.ts";
import type { Ids, KnownIds } from "../snapshot/references.ts";
import { RouteReader } from "../snapshot/route.ts";
import { REST } from "../snapshot/schema.ts";
import type { Rest, Route } from "../snapshot/types.ts";
import { PART_LIST, PART_LISTS, type PartList, type PartOf } from "./part_lists.ts";
import { type Section, type Unit, unitHash } from "./unit.ts";

/** A unit that was read, or could not be. */
export interface ReceivedUnit<V> extends Unit {
  /** Null where `fault` is not. */
  readonly value: V | null;
  /** Why it cannot be read, one line; null where it can. */
  readonly fault: string | null;
}

/** A unit with its place in the message. */
export interface RawUnit extends Unit {
  readonly value: unknown;
  /** JSON path. */
  readonly path: string;
}

/** Makes of a unit what it is; refusals go to `check`. */
export type UnitReader<V> = (unit: RawUnit, known: V | undefined, check: ConfigCheck) => V | null;

/** The fields of a message that are no content; all others are, known or not. */
const ENVELOPE = new Set([
  "kind",
  "version",
  "hash",
  "base",
  "removed",
  "hosts",
  ...PART_LISTS,
]);

/** Whether a part exists is checked when all units are there. */
const ANY: Ids = { has: () => true };
const ANYTHING: KnownIds = { upstreams: ANY, filterSets: ANY, policies: ANY, listeners: ANY };

/** Of sections of which not all is hashed. */
const HASHED = new Map(
  Object.values(PART_LIST).map(({ section, hashedRaw }) => [section as Section, hashedRaw]),
);

/** The units of one section, in the order in which they came; a wrong list is refused. */
export function rawUnits(
  list: unknown,
  path: string,
  section: Exclude<Section, "rest">,
  check: ConfigCheck,
): RawUnit[] {
  const keyField = section === "host" ? "host" : "id";
  return check.array(list, path, "refused", (value, place): RawUnit | null => {
    if (!isObject(value)) {
      return check.refuse(place, `an object is needed, not ${kindOf(value)}`, "write {…} here");
    }
    const key = check.name(value[keyField], `${place}.${keyField}`);
    return key === null ? null : rawUnit(section, key, value, place, check);
  });
}

/** Everything in the message that is in no list. */
export function rawRest(fields: Readonly<Record<string, unknown>>, check: ConfigCheck) {
  const rest = Object.entries(fields).filter(([name]) => !ENVELOPE.has(name));
  const value = Object.fromEntries(rest);
  check.unknownFields(value, "$", Object.keys(REST.properties));
  return rawUnit("rest", "", value, "$", check);
}

function rawUnit(
  section: Section,
  key: string,
  value: object,
  path: string,
  check: ConfigCheck,
): RawUnit | null {
  try {
    const hashed = HASHED.get(section)?.(value) ?? value;
    return { key, value, path, hash: unitHash(section, key, JSON.stringify(hashed)) };
  } catch {
    return check.refuse(path, "it is nested too deeply", "write it as a controller does");
  }
}

/** What a unit is; `known` is what has the same key until now. */
export function readUnit<V>(
  section: Section,
  raw: RawUnit,
  known: V | undefined,
  read: UnitReader<V>,
  check: ConfigCheck,
): ReceivedUnit<V> {
  const { key, hash } = raw;
  const before = check.refusals.length;
  const value = read(raw, known, check);
  const refusal = check.refusals.at(before);
  if (value !== null && refusal === undefined) return { key, hash, value, fault: null };
  return { key, hash, value: null, fault: faultOf(section, raw, refusal) };
}

function faultOf(section: Section, raw: RawUnit, refusal: ConfigProblem | undefined): string {
  if (refusal === undefined) return `${section} ${describe(raw.key)} cannot be read`;
  const field = refusal.path.slice(raw.path.length).replace(/^\./, "");
  const part = section === "rest" ? "$" : `${section} ${describe(raw.key)}`;
  const place = field === "" ? part : `${part}, ${field}`;
  return `${place}: ${refusal.message}; ${refusal.remedy}`;
}

/** Routes that are as they were keep their identity. */
export const readHostUnit: UnitReader<readonly Route[]> = ({ key, value, path }, known, check) => {
  const host = check.object(value, path, ["host", "routes"]);
  if (host === null) return null;
  const reader = new RouteReader(ANYTHING, check);
  const routes = reader.settle(
    check.array(host.routes, `${path}.routes`, "refused", (route, at) => reader.read(route, at)),
  );
  const stranger = routes.findIndex((route) => route.host !== key);
  if (stranger !== -1) {
    const place = `${path}.routes[${stranger}].host`;
    return check.refuse(place, `it is not ${describe(key)}`, "write a route under its own host");
  }
  if (known === undefined) return routes;
  const before = new Map(known.map((route) => [route.id, route]));
  return routes.map((route) => {
    const old = before.get(route.id);
    return old !== undefined && isSamePart(old, route) ? old : route;
  });
};

/** Reads the parts of a list. */
export function partReader<L extends PartList>(list: L): UnitReader<PartOf<L>> {
  const { schema } = PART_LIST[list];
  return ({ value, path }, _known, check) => readNode(schema, value, path, check) as PartOf<L>;
}

export const readRestUnit: UnitReader<Rest> = ({ value }, _known, check) =>
  isObject(value) ? readRest(value, check) : null;
