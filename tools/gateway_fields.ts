/**
 * The fields of Gateway API that `deno task dev` reads. In: a folder with the CRDs of a release, those of the
 * experimental channel, which have all fields of the standard one. Out: `dev/manifests/gateway_fields.json`.
 *
 *     deno run --allow-read --allow-env --allow-write=dev tools/gateway_fields.ts gateway-api/config/crd/experimental
 */
import { parseAllDocuments } from "yaml";
import { asList, asObject, asText, fieldOf } from "../controller/base/json.ts";
import { GATEWAY_VERSIONS } from "../dev/manifests/kinds.ts";
import type { KnownFields } from "./known_fields.ts";

/** Where the table stands, relative to the repository. */
export const GATEWAY_FIELDS = "dev/manifests/gateway_fields.json";

const METADATA = "V1ObjectMeta";

/** Equal shapes are one type, named by the first field that has it. */
export function gatewayFields(definitions: readonly unknown[]): KnownFields {
  const kinds: Record<string, string> = {};
  const types: Record<string, Record<string, string>> = {};
  const names = new Map<string, string>();
  const typeOf = (schema: unknown, name: string): string => {
    const fields: Record<string, string> = {};
    for (const [field, child] of Object.entries(asObject(fieldOf(schema, "properties")) ?? {})) {
      fields[field] = shapeOf(child, `${name}${field[0].toUpperCase()}${field.slice(1)}`);
    }
    const key = JSON.stringify(fields);
    if (!names.has(key)) {
      names.set(key, name);
      types[name] = fields;
    }
    return names.get(key)!;
  };
  const shapeOf = (schema: unknown, name: string): string => {
    if (fieldOf(schema, "x-kubernetes-int-or-string") === true) return "number or string";
    if (fieldOf(schema, "properties") !== undefined) return typeOf(schema, name);
    const items = fieldOf(schema, "items");
    if (items !== undefined) {
      return fieldOf(items, "properties") === undefined ? "list" : `${typeOf(items, name)}[]`;
    }
    switch (asText(fieldOf(schema, "type"))) {
      case "string":
        return "string";
      case "integer":
        return "number";
      case "boolean":
        return "boolean";
      default:
        return fieldOf(fieldOf(schema, "additionalProperties"), "type") === "string" ? "map" : "";
    }
  };
  for (const definition of definitions) {
    const spec = fieldOf(definition, "spec");
    const kind = asText(fieldOf(fieldOf(spec, "names"), "kind")) ?? "";
    const versions = Object.hasOwn(GATEWAY_VERSIONS, kind) ? GATEWAY_VERSIONS[kind] : [];
    const [first] = (asList(fieldOf(spec, "versions")) ?? []).filter((one) =>
      versions.some((version) => version.endsWith(`/${fieldOf(one, "name")}`))
    );
    if (first === undefined) continue;
    const schema = fieldOf(fieldOf(first, "schema"), "openAPIV3Schema");
    const fields: Record<string, string> = {
      apiVersion: "string",
      kind: "string",
      metadata: METADATA,
      spec: shapeOf(fieldOf(fieldOf(schema, "properties"), "spec"), `${kind}Spec`),
      status: "",
    };
    types[kind] = fields;
    for (const version of versions) kinds[`${version} ${kind}`] = kind;
  }
  return { kinds, types };
}

if (import.meta.main) {
  const [folder] = Deno.args;
  const files = [...Deno.readDirSync(folder)].map(({ name }) => `${folder}/${name}`).sort();
  const definitions = files.filter((file) => file.endsWith(".yaml"))
    .flatMap((file) => parseAllDocuments(Deno.readTextFileSync(file)).map((each) => each.toJS()));
  Deno.writeTextFileSync(
    GATEWAY_FIELDS,
    `${JSON.stringify(gatewayFields(definitions), null, 2)}\n`,
  );
}
