/**
 * What somebody meant by a field that is unknown where it stands. In: the name, and the scopes
 * around it. Out: the remedy: another spelling, another place, or null where nothing is like it.
 */
import { nearestName } from "../../shared/nearest_name.ts";
import gateway from "./gateway_fields.json" with { type: "json" };
import table from "./known_fields.json" with { type: "json" };

/**
 * A map of an object with the fields of one type. The shape of a field is "string", "number", "boolean" or
 * "number or string", "" for any other value without fields of its own, "map" for a map of strings, "list"
 * for one of such values, the name of a type, or that and `[]` for a list of it.
 */
export interface FieldScope {
  readonly type: string;
  /** As in `Problem.field`. */
  readonly path: string;
  readonly value: Readonly<Record<string, unknown>>;
  /** null for the object itself. */
  readonly outer: FieldScope | null;
}

// Maps, because names such as `constructor` are fields of every object of JavaScript.
const KINDS: ReadonlyMap<string, string> = new Map(
  [table, gateway].flatMap(({ kinds }) => Object.entries(kinds)),
);
const TYPES: ReadonlyMap<string, ReadonlyMap<string, string>> = new Map(
  [table, gateway].flatMap(({ types }) =>
    Object.entries(types).map(([type, fields]): [string, ReadonlyMap<string, string>] => [
      type,
      new Map(Object.entries(fields)),
    ])
  ),
);

/** Names that `networking.k8s.io/v1` has changed, by type: most examples still have them. */
const OLD_NAMES: ReadonlyMap<string, string> = new Map([
  ["V1IngressSpec backend", 'Write "defaultBackend"'],
  ["V1IngressBackend serviceName", 'Write "service.name"'],
  ["V1IngressBackend servicePort", 'Write "service.port.number", or "service.port.name"'],
]);

/** How many levels below a scope are searched for the place of a field. */
const MAX_DEPTH = 4;

/** The type of a kind that is read, or null. */
export function typeOf(apiVersion: string, kind: string): string | null {
  return KINDS.get(`${apiVersion} ${kind}`) ?? null;
}

/** The shape of each field of a type. */
export function fieldsOf(type: string): ReadonlyMap<string, string> {
  return TYPES.get(type) ?? new Map();
}

export interface FieldSuggestion {
  readonly remedy: string;
  /** The field that was meant, as in `Problem.field`; null where it is not one alone. */
  readonly meant: string | null;
}

export function fieldSuggestion(scope: FieldScope, key: string): FieldSuggestion | null {
  const old = OLD_NAMES.get(`${scope.type} ${key}`);
  if (old !== undefined) return { remedy: old, meant: null };
  for (let outer = scope.outer; outer !== null; outer = outer.outer) {
    if (isMissing(outer, key)) return moveTo(outer.path, key);
  }
  const missing = [...fieldsOf(scope.type).keys()].filter((name) => isMissing(scope, name));
  const near = nearestName(key, missing);
  if (near !== null) return { remedy: `Write "${near}"`, meant: joined(scope.path, near) };
  for (let outer: FieldScope | null = scope; outer !== null; outer = outer.outer) {
    const [path, another] = placesBelow(outer.type, key);
    if (another !== undefined) return null;
    if (path !== undefined) return moveTo(outer.path, path);
  }
  return null;
}

function isMissing(scope: FieldScope, name: string): boolean {
  return fieldsOf(scope.type).has(name) && !Object.hasOwn(scope.value, name);
}

function moveTo(outer: string, path: string): FieldSuggestion {
  const meant = joined(outer, path);
  const isTop = outer === "" && !path.includes(".");
  return { remedy: isTop ? TO_THE_TOP : `Move it to ${meant}`, meant };
}

/** Of `spec`, which is indented by mistake. */
const TO_THE_TOP = "Move it to the top level: begin it in column 1, as kind";

function joined(outer: string, path: string): string {
  return outer === "" ? path : `${outer}.${path}`;
}

/** The paths below a type that end with `key`, of the level nearest to it that has any. */
function placesBelow(type: string, key: string): string[] {
  let level = [{ type, prefix: "" }];
  for (let depth = 0; depth < MAX_DEPTH; depth++) {
    level = level.flatMap((one) =>
      [...fieldsOf(one.type)]
        .filter(([name, shape]) => TYPES.has(shape.replace("[]", "")) && !isServerSide(name))
        .map(([name, shape]) => ({
          type: shape.replace("[]", ""),
          prefix: `${one.prefix}${name}${shape.endsWith("[]") ? "[]" : ""}.`,
        }))
    );
    const found = level.filter((one) => fieldsOf(one.type).has(key))
      .map(({ prefix }) => prefix + key);
    if (found.length > 0) return found;
  }
  return [];
}

/** Fields that nobody writes into a manifest. */
function isServerSide(name: string): boolean {
  return name === "status" || name === "managedFields" || name === "ownerReferences";
}
