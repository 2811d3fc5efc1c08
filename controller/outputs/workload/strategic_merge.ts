/**
 * Strategic merge of one pod template into another, as `kubectl patch` does it. In: the template
 * that is there and a partial one. Out: the merged one, or what cannot be merged and why. Neither
 * is changed.
 *
 * Maps merge, null removes a field, lists are replaced, but for those whose members have a key in
 * the API's schema: they merge member by member, and new ones come last. (`kubectl patch` puts them
 * first, where a sidecar would be what `kubectl logs` shows.) Directives: `$patch: replace`,
 * `$patch: delete`, `$retainKeys`.
 * https://github.com/kubernetes/community/blob/main/contributors/devel/sig-api-machinery/strategic-merge-patch.md
 */
import { asObject, describe, type JsonObject, quote } from "../../base/json.ts";

/**
 * The lists of a pod template that merge, by field, with what tells their members apart:
 * `x-kubernetes-patch-merge-key` of the API's own schema. That the API server says the same is
 * tested. Ports go by number and protocol, as server-side apply has them: by the number alone, as
 * `kubectl patch` does, HTTP/3 could not stand beside HTTPS.
 */
export const MERGE_KEYS: Readonly<Record<string, readonly string[]>> = {
  containers: ["name"],
  initContainers: ["name"],
  ephemeralContainers: ["name"],
  volumes: ["name"],
  imagePullSecrets: ["name"],
  hostAliases: ["ip"],
  topologySpreadConstraints: ["topologyKey"],
  resourceClaims: ["name"],
  schedulingGates: ["name"],
  env: ["name"],
  ports: ["containerPort", "protocol"],
  volumeMounts: ["mountPath"],
  volumeDevices: ["devicePath"],
  ownerReferences: ["uid"],
};

/** What the API server fills in where a member leaves its key out. */
const KEY_DEFAULTS: Readonly<Record<string, string>> = { protocol: "TCP" };

export interface MergeMistake {
  /** `spec.containers[0].env`. */
  readonly field: string;
  /** One sentence without a full stop. */
  readonly message: string;
  readonly remedy: string;
}

export type MergeResult =
  | { readonly ok: true; readonly value: JsonObject }
  | { readonly ok: false; readonly mistakes: readonly MergeMistake[] };

export function strategicMerge(base: JsonObject, patch: JsonObject): MergeResult {
  const merge = new Merge();
  const value = merge.maps(base, patch, "");
  return merge.mistakes.length === 0
    ? { ok: true, value }
    : { ok: false, mistakes: merge.mistakes };
}

class Merge {
  readonly mistakes: MergeMistake[] = [];

  maps(base: JsonObject, patch: JsonObject, path: string): JsonObject {
    const { $patch: directive, $retainKeys: retained, ...fields } = patch;
    if (directive === "delete") return {};
    if (directive !== undefined && directive !== "replace" && directive !== "merge") {
      this.#mistake(`${path}.$patch`, `${quote(directive)} is no directive`, REMEDY_DIRECTIVES);
    }
    const merged = new Map(Object.entries(directive === "replace" ? {} : base));
    for (const [name, value] of Object.entries(fields)) {
      const field = path === "" ? name : `${path}.${name}`;
      if (name.startsWith("$")) {
        this.#mistake(field, "this directive is not known", REMEDY_DIRECTIVES);
      } else if (value === null) {
        merged.delete(name);
      } else {
        merged.set(name, this.#values(merged.get(name), value, name, field));
      }
    }
    return Object.fromEntries(this.#retain(merged, retained, path));
  }

  #values(base: unknown, patch: unknown, name: string, field: string): unknown {
    const wanted = Object.hasOwn(MERGE_KEYS, name) ? "list" : shapeOf(base);
    if (wanted !== null && wanted !== shapeOf(patch)) {
      this.#mistake(
        field,
        `it is ${describe(patch)} where ${NAMES[wanted]} is meant`,
        REMEDY_SHAPE,
      );
      return base;
    }
    if (Array.isArray(patch)) {
      const base_ = Array.isArray(base) ? base : [];
      return Object.hasOwn(MERGE_KEYS, name)
        ? this.#lists(base_, patch, MERGE_KEYS[name], field)
        : patch.map((member, index) => this.#clean(member, `${field}[${index}]`));
    }
    const map = asObject(patch);
    return map === null ? patch : this.maps(asObject(base) ?? {}, map, field);
  }

  /** A value that stands for itself: without nulls and directives. */
  #clean(value: unknown, field: string): unknown {
    if (Array.isArray(value)) {
      return value.map((member, index) => this.#clean(member, `${field}[${index}]`));
    }
    const map = asObject(value);
    return map === null ? value : this.maps({}, map, field);
  }

  #lists(
    base: readonly unknown[],
    patch: readonly unknown[],
    keys: readonly string[],
    field: string,
  ): unknown[] {
    const replaces = patch.some((member) => isOnlyReplace(member));
    const merged = new Map<string, unknown>();
    for (const member of replaces ? [] : base) merged.set(idOf(member, keys) ?? "", member);
    for (const [index, member] of patch.entries()) {
      const place = `${field}[${index}]`;
      const map = asObject(member);
      if (map === null) {
        this.#mistake(place, `it is ${describe(member)} instead of a map`, REMEDY_SHAPE);
        continue;
      }
      if (isOnlyReplace(member)) continue;
      const id = idOf(map, keys);
      if (id === null) {
        const needed = keys.filter((key) => !Object.hasOwn(KEY_DEFAULTS, key)).join(" and ");
        this.#mistake(
          place,
          `it has no ${needed}`,
          `write ${needed}, which identifies the members`,
        );
      } else if (map.$patch === "delete") {
        merged.delete(id);
      } else {
        merged.set(id, this.maps(asObject(merged.get(id)) ?? {}, map, place));
      }
    }
    return [...merged.values()];
  }

  /** Of a map in which one field rules out others, such as a volume's kind. */
  #retain(
    fields: Map<string, unknown>,
    retained: unknown,
    path: string,
  ): Iterable<[string, unknown]> {
    if (retained === undefined) return fields;
    if (!Array.isArray(retained)) {
      this.#mistake(`${path}.$retainKeys`, "it is no list", "list the fields that stay");
      return fields;
    }
    return [...fields].filter(([name]) => retained.includes(name));
  }

  #mistake(field: string, message: string, remedy: string): void {
    this.mistakes.push({ field: field.replace(/^\./, ""), message, remedy });
  }
}

const REMEDY_DIRECTIVES = "use $patch: replace, $patch: delete or $retainKeys";
const REMEDY_SHAPE = "see PodTemplateSpec in the Kubernetes reference";
const NAMES = { list: "a list", map: "a map", scalar: "a single value" } as const;

/** Null for a field that is not there yet, which may be anything. */
function shapeOf(value: unknown): keyof typeof NAMES | null {
  if (value === undefined) return null;
  return Array.isArray(value) ? "list" : asObject(value) === null ? "scalar" : "map";
}

/** `- $patch: replace` alone says that the list's other members are all of it. */
function isOnlyReplace(member: unknown): boolean {
  const map = asObject(member);
  return map !== null && map.$patch === "replace" && Object.keys(map).length === 1;
}

/** What tells a member of a list apart from the others; null where a key is missing. */
export function idOf(member: unknown, keys: readonly string[]): string | null {
  const map = asObject(member);
  const parts = keys.map((key) => map?.[key] ?? KEY_DEFAULTS[key]);
  return parts.some((part) => part === undefined) ? null : JSON.stringify(parts);
}
