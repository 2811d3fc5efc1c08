/**
 * A user's pod template over ours. In: our PodTemplateSpec, and what `--proxy-pod-template` holds,
 * parsed. Out: the template in which the user's fields win, or what is wrong with them. What would
 * only break the user's own pods is left to the API server to refuse; what would break the
 * controller's hold on them is refused here.
 */
import { asList, asObject, describe, fieldOf, type JsonObject, quote } from "../../base/json.ts";
import { PROXY_NAME } from "./names.ts";
import { type MergeMistake, strategicMerge } from "./strategic_merge.ts";

export interface MergedTemplate {
  /** Ours where there are mistakes. */
  readonly template: JsonObject;
  readonly mistakes: readonly MergeMistake[];
}

/** @param selector are the labels that the workload finds its pods by. */
export function mergePodTemplate(
  ours: JsonObject,
  theirs: unknown,
  selector: Readonly<Record<string, string>>,
): MergedTemplate {
  if (theirs === null || theirs === undefined) return { template: ours, mistakes: [] };
  const shape = shapeMistakes(theirs);
  if (shape.length > 0) return { template: ours, mistakes: shape.map(inFile) };
  const merged = strategicMerge(ours, theirs as JsonObject);
  const mistakes = merged.ok ? lost(merged.value, selector) : merged.mistakes;
  return merged.ok && mistakes.length === 0
    ? { template: merged.value, mistakes: [] }
    : { template: ours, mistakes: mistakes.map(inFile) };
}

function shapeMistakes(theirs: unknown): MergeMistake[] {
  const remedy =
    "write metadata and spec of a pod template, as under spec.template of a Deployment";
  const map = asObject(theirs);
  if (map === null) return [{ field: "", message: `it is ${describe(theirs)}, not a map`, remedy }];
  if (Object.hasOwn(map, "kind") || Object.hasOwn(map, "template")) {
    const kind = Object.hasOwn(map, "kind") ? quote(map.kind) : "PodTemplate";
    return [{ field: "kind", message: `it holds a whole object of kind ${kind}`, remedy }];
  }
  return Object.entries(map).flatMap(([field, value]) => {
    if (field !== "metadata" && field !== "spec" && !field.startsWith("$")) {
      return [{ field, message: "a pod template has no such field", remedy }];
    }
    const isMap = value === null || asObject(value) !== null || field.startsWith("$");
    return isMap ? [] : [{ field, message: `it is ${describe(value)} instead of a map`, remedy }];
  });
}

/** What the controller cannot do without. */
function lost(template: JsonObject, selector: Readonly<Record<string, string>>): MergeMistake[] {
  const labels = fieldOf(template.metadata, "labels");
  const changed = Object.entries(selector).filter(([name, value]) =>
    fieldOf(labels, name) !== value
  );
  const containers = asList(fieldOf(template.spec, "containers")) ?? [];
  const hasProxy = containers.some((container) => fieldOf(container, "name") === PROXY_NAME);
  return [
    ...changed.map(([name, value]) => ({
      field: `metadata.labels["${name}"]`,
      message: `it must stay ${value}, or the workload would not find its pods`,
      remedy: "leave this label out of the template",
    })),
    ...(hasProxy ? [] : [{
      field: "spec.containers",
      message: `the container ${PROXY_NAME} is missing, so no proxy would run`,
      remedy: "do not delete or replace it",
    }]),
  ];
}

function inFile(mistake: MergeMistake): MergeMistake {
  const where = mistake.field === "" ? "" : `: ${mistake.field}`;
  return { ...mistake, message: `--proxy-pod-template${where}: ${mistake.message}` };
}
