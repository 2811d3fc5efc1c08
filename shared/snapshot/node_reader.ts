/**
 * Reading one part of a snapshot by its schema. In: a value of unknown shape with its JSON path. Out:
 * the part with its type, and every mistake as a problem that names its place and what to write.
 *
 * What a controller has written passes a compiled check and is taken as it is. Anything else is
 * walked through field by field: that finds what is wrong, fills in what may be left out, and brings
 * texts into their one form.
 */
import type { Static, TSchema } from "typebox";
import { Compile, type Validator } from "typebox/compile";
import { Redacted } from "../redacted.ts";
import { type ConfigCheck, describe, isObject, kindOf } from "./config_check.ts";
import type { Frozen, Hints } from "./schema_hints.ts";

/** A schema as its own description: JSON Schema, and what `Hints` adds. */
export interface Node extends Hints {
  readonly type?: "object" | "array" | "string" | "integer" | "boolean" | "null";
  readonly const?: string | number | boolean;
  readonly enum?: readonly (string | number)[];
  readonly anyOf?: readonly Node[];
  readonly properties?: Readonly<Record<string, Node>>;
  readonly required?: readonly string[];
  readonly patternProperties?: Readonly<Record<string, Node>>;
  readonly items?: Node;
  readonly minItems?: number;
  readonly minLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
}

const validators = new WeakMap<TSchema, Validator>();

/** Compiled when a value of its kind first comes. */
function validatorOf(schema: TSchema): Validator {
  let validator = validators.get(schema);
  if (validator === undefined) validators.set(schema, validator = Compile(schema) as Validator);
  return validator;
}

/**
 * The part that `value` is; null where it has been refused, or left out of its list, both of which
 * `check` has been told.
 */
export function readNode<S extends TSchema>(
  schema: S,
  value: unknown,
  path: string,
  check: ConfigCheck,
): Frozen<Static<S>> | null {
  const node = schema as Node;
  const result = validatorOf(schema).Check(value)
    ? withSecrets(node, value, path, check)
    : walk(node, value, path, check);
  return result as Frozen<Static<S>> | null;
}

/** A value that is right, with its keys out of sight. */
function withSecrets(node: Node, value: unknown, path: string, check: ConfigCheck): unknown {
  return hasSecret(node) ? walk(node, value, path, check) : value;
}

const secretNodes = new WeakMap<Node, boolean>();

function hasSecret(node: Node): boolean {
  let has = secretNodes.get(node);
  if (has === undefined) {
    const children = [
      ...Object.values(node.properties ?? {}),
      ...(node.anyOf ?? []),
      ...(node.items === undefined ? [] : [node.items]),
    ];
    has = node.secret === true || children.some(hasSecret);
    secretNodes.set(node, has);
  }
  return has;
}

/** Undefined for a field that is left out, null for what has been reported. */
function walk(node: Node, value: unknown, path: string, check: ConfigCheck): unknown {
  if (value === undefined && node.missing !== undefined) return node.missing(path);
  if (node.lenient !== undefined) return walkLenient(node, value, path, check);
  if (node.anyOf !== undefined) return walkUnion(node.anyOf, value, path, check);
  if (node.enum !== undefined) return check.oneOf(value, path, node.enum);
  if (node.const !== undefined) return walkConstant(node, value, path, check);
  switch (node.type) {
    case "object":
      return node.patternProperties === undefined
        ? walkObject(node, value, path, check)
        : walkRecord(Object.values(node.patternProperties)[0], value, path, check);
    case "array":
      return walkArray(node, value, path, check);
    case "integer":
      return walkInteger(node, value, path, check);
    case "boolean":
      if (typeof value === "boolean") return value;
      return check.refuse(
        path,
        `${describe(value)} is neither true nor false`,
        "write true or false",
      );
    default:
      return walkText(node, value, path, check);
  }
}

/** A choice that this reader does not know is no reason to refuse the traffic. */
function walkLenient(node: Node, value: unknown, path: string, check: ConfigCheck): unknown {
  if (node.enum?.includes(value as string) ?? typeof value === node.type) return value;
  const { what, remedy } = node.lenient!;
  check.warn(path, `${describe(value)} is ${what}, so the default is used`, remedy);
  return undefined;
}

function walkConstant(node: Node, value: unknown, path: string, check: ConfigCheck): unknown {
  if (value === node.const) return value;
  const wanted = JSON.stringify(node.const);
  return check.refuse(
    path,
    `${describe(value)} is not ${wanted}`,
    node.remedy ?? `write ${wanted}`,
  );
}

/** Null, or one of several objects that differ in their `kind`. */
function walkUnion(
  choices: readonly Node[],
  value: unknown,
  path: string,
  check: ConfigCheck,
): unknown {
  if (value === null && choices.some(({ type }) => type === "null")) return null;
  const some = choices.filter(({ type }) => type !== "null");
  if (some.length === 1) return walk(some[0], value, path, check);
  // Any of them says that it is no object.
  if (!isObject(value)) return walk(some[0], value, path, check);
  const kinds = some.map(({ properties }) => properties!.kind.const as string);
  const kind = check.oneOf(value.kind, `${path}.kind`, kinds);
  return kind === null ? null : walk(some[kinds.indexOf(kind)], value, path, check);
}

function walkObject(node: Node, value: unknown, path: string, check: ConfigCheck): unknown {
  if (!isObject(value)) {
    return check.refuse(path, `an object is needed, not ${kindOf(value)}`, "write {…} here");
  }
  const properties = node.properties!;
  if (node.strict) refuseUnknown(value, properties, path, check);
  else check.unknownFields(value, path, Object.keys(properties));
  const result: Record<string, unknown> = {};
  let isWhole = true;
  for (const [name, property] of Object.entries(properties)) {
    const field = Object.hasOwn(value, name) ? value[name] : undefined;
    if (field === undefined && !node.required?.includes(name)) continue;
    const read = walk(property, field, `${path}.${name}`, check);
    if (read === undefined) continue;
    if (read === null && !isNullable(property)) isWhole = false;
    result[name] = read;
  }
  if (!isWhole) return null;
  return node.form === undefined ? result : formOf(node, result, path, check);
}

function isNullable({ anyOf }: Node): boolean {
  return anyOf?.some(({ type }) => type === "null") ?? false;
}

/** What this reader does not know may decide who gets in, so it is not left out silently. */
function refuseUnknown(
  value: Readonly<Record<string, unknown>>,
  properties: Readonly<Record<string, Node>>,
  path: string,
  check: ConfigCheck,
): void {
  for (const name of Object.keys(value)) {
    if (Object.hasOwn(properties, name)) continue;
    check.refuse(
      check.member(path, name),
      "the field is not known",
      "correct its name, remove it, or use a proxy that is not older than the controller",
    );
  }
}

function formOf(node: Node, value: object, path: string, check: ConfigCheck): unknown {
  const reading = node.form!(value as never);
  if (reading.ok) return reading.value;
  const { field, message, remedy, isLeftOut } = reading;
  const place = `${path}.${field}`;
  return isLeftOut ? check.error(place, message, remedy) : check.refuse(place, message, remedy);
}

/** A copy by definition, not assignment: a field called __proto__ is a field like others. */
function walkRecord(node: Node, value: unknown, path: string, check: ConfigCheck): unknown {
  if (!isObject(value)) {
    return check.refuse(path, `an object is needed, not ${kindOf(value)}`, "write {…}");
  }
  const entries = Object.entries(value).map(([name, one]) => {
    return [name, walk(node, one, `${path}[${JSON.stringify(name.slice(0, 63))}]`, check)];
  });
  return entries.some(([, one]) => one === null) ? null : Object.fromEntries(entries);
}

function walkArray(node: Node, value: unknown, path: string, check: ConfigCheck): unknown {
  const seen = new Set<string>();
  const before = check.refusals.length;
  const elements = check.array(value, path, "refused", (element, place) => {
    const read = walk(node.items!, element, place, check);
    if (read === null || node.uniqueBy === undefined) return read;
    const key = JSON.stringify(
      node.uniqueBy.map((name) => (read as Record<string, unknown>)[name]),
    );
    if (!seen.has(key)) {
      seen.add(key);
      return read;
    }
    check.warn(place, "it repeats another and has no effect", "remove it");
    return null;
  });
  if (check.refusals.length > before) return null;
  if (elements.length >= (node.minItems ?? 0)) return elements;
  return check.refuse(path, "it is empty", "write an element, or remove the field");
}

function walkInteger(node: Node, value: unknown, path: string, check: ConfigCheck): unknown {
  const { minimum = 0, maximum } = node;
  if (minimum === 1 && maximum === 65535) return check.port(value, path);
  const isGood = Number.isSafeInteger(value) && (value as number) >= minimum &&
    (maximum === undefined || (value as number) <= maximum);
  if (isGood) return value;
  const range = maximum === undefined ? `${minimum} or more` : `from ${minimum} to ${maximum}`;
  return check.refuse(path, `${describe(value)} is not a whole number ${range}`, "write one");
}

function walkText(node: Node, value: unknown, path: string, check: ConfigCheck): unknown {
  const text = node.minLength === 1 ? check.name(value, path) : check.string(value, path);
  if (text === null) return null;
  if (node.secret) return walkSecret(text, path, check);
  if (node.leaf === undefined) return text;
  const reading = node.leaf.read(text);
  return reading.ok ? reading.value : check.refuse(path, reading.message, reading.remedy);
}

function walkSecret(text: string, path: string, check: ConfigCheck): unknown {
  const secret = new Redacted(text);
  if (text !== secret.toJSON()) return secret;
  return check.refuse(
    path,
    "the key was left out when the file was written",
    "write the file with its keys",
  );
}
