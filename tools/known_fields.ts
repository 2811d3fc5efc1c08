/**
 * The fields that the API server knows of the kinds that `deno task dev` reads. In: the models of
 * `@kubernetes/client-node`, which are made from the API's schema. Out: the text of
 * `dev/manifests/known_fields.json`, so that `dev` has the names without loading that package.
 */
import * as models from "@kubernetes/client-node";
import { API_VERSIONS } from "../dev/manifests/kinds.ts";

/** Where the table stands, relative to the repository. */
export const KNOWN_FIELDS = "dev/manifests/known_fields.json";

/** See `dev/manifests/strict_validation.ts` for what the shapes mean. */
export interface KnownFields {
  /** The type of each kind, by apiVersion and kind with a blank between them. */
  readonly kinds: Record<string, string>;
  /** The shape of each field, by its name, of each type. */
  readonly types: Record<string, Record<string, string>>;
}

interface Attribute {
  readonly baseName: string;
  readonly type: string;
}

/** Types without fields of their own, and the shape of each; "" for any value. */
const LEAVES: ReadonlyMap<string, string> = new Map([
  ["string", "string"],
  ["number", "number"],
  ["boolean", "boolean"],
  ["IntOrString", "number or string"],
  ["any", ""],
  ["Date", ""],
  ["V1MicroTime", ""],
]);

const STRING_MAP = "{ [key: string]: string; }";

export function knownFields(): KnownFields {
  const kinds: Record<string, string> = {};
  for (const [kind, version] of Object.entries(API_VERSIONS)) {
    kinds[`${version} ${kind}`] = `V1${kind}`;
  }
  const types: Record<string, Record<string, string>> = {};
  const wanted = new Set(Object.values(kinds));
  for (const type of wanted) {
    types[type] = {};
    for (const { baseName, type: written } of attributesOf(type)) {
      const shape = shapeOf(written);
      types[type][baseName] = shape;
      if (/^[A-Z]/.test(shape)) wanted.add(shape.replace("[]", ""));
    }
  }
  return { kinds, types };
}

export function knownFieldsText(): string {
  return `${JSON.stringify(knownFields(), null, 2)}\n`;
}

function shapeOf(written: string): string {
  if (written === STRING_MAP) return "map";
  const item = /^Array<(\w+)>$/.exec(written)?.[1];
  if (item !== undefined) return LEAVES.has(item) ? "list" : `${item}[]`;
  return LEAVES.get(written) ?? written;
}

/** Throws for a type that has no model, such as a map of objects: the table must not miss fields. */
function attributesOf(type: string): readonly Attribute[] {
  const model = (models as unknown as Record<string, unknown>)[type] as
    | { getAttributeTypeMap?(): readonly Attribute[] }
    | undefined;
  if (model?.getAttributeTypeMap === undefined) throw new Error(`${type} has no model`);
  return model.getAttributeTypeMap();
}
