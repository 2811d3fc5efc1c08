/**
 * What `kubectl apply` refuses by strict validation, and the controller would read past. In: an
 * object as it was written. Out: a problem for each unknown field, each value of a map of strings
 * that is no string, and two classes that differ. The object is read as before.
 * https://kubernetes.io/docs/reference/using-api/api-concepts/#setting-the-field-validation-level
 */
import type { ObjectRef, Problem } from "../../shared/problem.ts";
import { type FieldScope, fieldsOf, fieldSuggestion, typeOf } from "./field_suggestion.ts";

const CLASS_ANNOTATION = "kubernetes.io/ingress.class";

/** Longer names are cut off in messages, which a file could otherwise fill. */
const MAX_SHOWN = 60;

/** Of one object: the place of each takes a search, so that 20,000 would take most of a minute. */
const MAX_PROBLEMS = 50;

/** `apiVersion` and `kind` are what the object is read as; `value` is what was written. */
export function strictProblems(
  apiVersion: string,
  object: ObjectRef,
  value: Readonly<Record<string, unknown>>,
): Problem[] {
  const type = typeOf(apiVersion, object.kind);
  if (type === null) return [];
  const problems: Problem[] = [];
  checkFields({ type, path: "", value, outer: null }, object, problems);
  if (object.kind === "Ingress") checkClass(object, value, problems);
  return problems;
}

function checkFields(scope: FieldScope, object: ObjectRef, problems: Problem[]): void {
  const fields = fieldsOf(scope.type);
  for (const [key, child] of Object.entries(scope.value)) {
    if (problems.length >= MAX_PROBLEMS) return;
    const shape = fields.get(key);
    const path = fieldPath(scope.path, key);
    if (shape === undefined) problems.push(unknownField(scope, key, path, object));
    else if (shape === "map") checkStrings(path, child, object, problems);
    else if (shape !== "") checkNested(scope, shape, path, child, object, problems);
  }
}

function checkNested(
  outer: FieldScope,
  shape: string,
  path: string,
  child: unknown,
  object: ObjectRef,
  problems: Problem[],
): void {
  if (!shape.endsWith("[]")) {
    if (isRecord(child)) checkFields({ type: shape, path, value: child, outer }, object, problems);
    return;
  }
  if (!Array.isArray(child)) return;
  const type = shape.slice(0, -"[]".length);
  for (const [index, item] of child.entries()) {
    if (!isRecord(item)) continue;
    checkFields({ type, path: `${path}[${index}]`, value: item, outer }, object, problems);
  }
}

function unknownField(scope: FieldScope, key: string, path: string, object: ObjectRef): Problem {
  return {
    object,
    field: path,
    reason: "FieldUnknown",
    message: `unknown field ${quote(key)}, which kubectl apply refuses; it has no effect`,
    remedy: fieldSuggestion(scope, key) ?? "Remove it",
    severity: "error",
  };
}

/** Labels, annotations, selectors and data of Secrets. The API server reads null as "". */
function checkStrings(path: string, map: unknown, object: ObjectRef, problems: Problem[]): void {
  if (!isRecord(map)) return;
  for (const [key, value] of Object.entries(map)) {
    if (problems.length >= MAX_PROBLEMS) return;
    if (typeof value === "string" || value === null) continue;
    const kind = Array.isArray(value) ? "list" : typeof value === "object" ? "map" : typeof value;
    const scalar = kind !== "list" && kind !== "map";
    // Values elsewhere may be secret.
    const shown = scalar && path.startsWith("metadata.") ? `: ${quote(String(value))}` : "";
    problems.push({
      object,
      field: fieldPath(path, key),
      reason: "ValueNotString",
      message: `the value is a ${kind}, not a string, so kubectl apply refuses it`,
      remedy: scalar ? `Quote the value${shown}` : "Write the value as one string",
      severity: "error",
    });
  }
}

/** Only where both differ: https://kubernetes.io/docs/concepts/services-networking/ingress/#deprecated-annotation */
function checkClass(
  object: ObjectRef,
  value: Readonly<Record<string, unknown>>,
  problems: Problem[],
): void {
  const spec = isRecord(value.spec) ? value.spec : {};
  const metadata = isRecord(value.metadata) ? value.metadata : {};
  const annotations = isRecord(metadata.annotations) ? metadata.annotations : {};
  const written = spec.ingressClassName;
  const annotated = annotations[CLASS_ANNOTATION];
  if (typeof written !== "string" || typeof annotated !== "string" || written === annotated) return;
  problems.push({
    object,
    field: `metadata.annotations["${CLASS_ANNOTATION}"]`,
    reason: "ClassesDiffer",
    message: `the annotation says class ${quote(annotated)} and spec.ingressClassName ` +
      `${quote(written)}, which is used; the API server rejects an Ingress with both`,
    remedy: "Remove the annotation",
    severity: "error",
  });
}

function fieldPath(outer: string, key: string): string {
  if (!/^[\w-]+$/.test(key)) return `${outer}["${key}"]`;
  return outer === "" ? key : `${outer}.${key}`;
}

function quote(text: string): string {
  return JSON.stringify(text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text);
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
