/**
 * What `kubectl apply` refuses by strict validation, and the controller would read past. In: an
 * object as it was written. Out: a problem for each unknown field, each value of another type than its
 * field has, two classes that differ, and values that a Service cannot have. The object is read as before.
 * https://kubernetes.io/docs/reference/using-api/api-concepts/#setting-the-field-validation-level
 */
import { nearestName } from "../../shared/nearest_name.ts";
import type { ObjectRef, Problem } from "../../shared/problem.ts";
import { type FieldScope, fieldsOf, fieldSuggestion, typeOf } from "./field_suggestion.ts";
import { GATEWAY_VERSIONS } from "./kinds.ts";

const CLASS_ANNOTATION = "kubernetes.io/ingress.class";

/** Longer names are cut off in messages, which a file could otherwise fill. */
const MAX_SHOWN = 60;

/** Of one object: the place of each takes a search, so that 20,000 would take most of a minute. */
const MAX_PROBLEMS = 50;

export interface StrictProblem extends Problem {
  /** Of an unknown field, the one that was meant; null where that is not known. */
  readonly meant?: string | null;
}

/**
 * `apiVersion` and `kind` are what the object is read as; `value` is what was written.
 *
 * @param sourceOf The text of a field's value in the file, such as `on` for true; null for none.
 */
export function strictProblems(
  apiVersion: string,
  object: ObjectRef,
  value: Readonly<Record<string, unknown>>,
  sourceOf: (field: string) => string | null = () => null,
): StrictProblem[] {
  const type = typeOf(apiVersion, object.kind);
  if (type === null) return [];
  const problems: StrictProblem[] = [];
  checkFields({ type, path: "", value, outer: null }, object, problems);
  if (object.kind === "Ingress") checkClass(object, value, problems);
  if (object.kind === "Service") checkService(object, value, problems);
  // Numbers and booleans have other forms than that of JavaScript.
  return problems.map((problem) => {
    const [, quoted] = /^Quote the value: (".*")$/.exec(problem.remedy) ?? [];
    const source = quoted === undefined ? null : sourceOf(problem.field);
    return source === null ? problem : { ...problem, remedy: `Quote the value: ${quote(source)}` };
  });
}

function checkFields(scope: FieldScope, object: ObjectRef, problems: StrictProblem[]): void {
  const fields = fieldsOf(scope.type);
  for (const [key, child] of Object.entries(scope.value)) {
    if (problems.length >= MAX_PROBLEMS) return;
    const shape = fields.get(key);
    const path = fieldPath(scope.path, key);
    if (shape === undefined) problems.push(unknownField(scope, key, path, object));
    else if (shape === "map") checkStrings(path, child, object, problems);
    else if (shape === "list") checkList(path, child, object, problems);
    else if (/^[A-Z]/.test(shape)) checkNested(scope, shape, path, child, object, problems);
    else if (shape !== "") checkScalar(shape, path, child, object, problems);
  }
}

/** `port: "80"`. The API server reads null as a field that is not there. */
function checkScalar(
  shape: string,
  path: string,
  value: unknown,
  object: ObjectRef,
  problems: StrictProblem[],
): void {
  const type = typeName(value);
  if (value === null || shape.split(" or ").includes(type)) return;
  // Values of data and of headers may be secret.
  const isOpen = path.startsWith("spec.") && !path.endsWith(".value");
  const text = isOpen && type !== "list" && type !== "map" ? String(value) : null;
  problems.push({
    object,
    field: path,
    reason: "ValueTypeWrong",
    message: `the value is a ${type}, not a ${shape}, so kubectl apply refuses it`,
    remedy: shape === "string" && type !== "list" && type !== "map"
      ? `Quote the value${text === null ? "" : `: ${quote(text)}`}`
      : text !== null && isUnquoted(shape, text)
      ? `Write ${text} without quotes`
      : `Write a ${shape}`,
    severity: "error",
  });
}

/** Whether a quoted text would be of the type without its quotes. */
function isUnquoted(shape: string, text: string): boolean {
  return shape === "number" ? /^\d{1,15}$/.test(text) : /^(?:true|false)$/.test(text);
}

function typeName(value: unknown): string {
  return Array.isArray(value) ? "list" : typeof value === "object" ? "map" : typeof value;
}

function checkNested(
  outer: FieldScope,
  shape: string,
  path: string,
  child: unknown,
  object: ObjectRef,
  problems: StrictProblem[],
): void {
  if (!shape.endsWith("[]")) {
    if (isRecord(child)) checkFields({ type: shape, path, value: child, outer }, object, problems);
    else if (child !== null) problems.push(wrongContainer("map", path, child, object));
    return;
  }
  if (!Array.isArray(child)) {
    if (child !== null) problems.push(wrongContainer("list", path, child, object));
    return;
  }
  const type = shape.slice(0, -"[]".length);
  for (const [index, item] of child.entries()) {
    if (problems.length >= MAX_PROBLEMS) return;
    const place = `${path}[${index}]`;
    if (isRecord(item)) checkFields({ type, path: place, value: item, outer }, object, problems);
    // The API server reads null as a map without fields: of those that may have none, the translation says more.
    else if (item !== null) problems.push(wrongContainer("map", place, item, object));
    else if (object.kind !== "Ingress") problems.push(emptyItem(place, object));
  }
}

/** `hosts: app.test`. */
function checkList(
  path: string,
  value: unknown,
  object: ObjectRef,
  problems: StrictProblem[],
): void {
  if (value === null || Array.isArray(value)) return;
  problems.push(wrongContainer("list", path, value, object));
}

function wrongContainer(
  wanted: "map" | "list",
  path: string,
  value: unknown,
  object: ObjectRef,
): Problem {
  return {
    object,
    field: path,
    reason: "ValueTypeWrong",
    message: `the value is a ${typeName(value)}, not a ${wanted}, so kubectl apply refuses it`,
    remedy: wanted === "list"
      ? "Write a list: a line for each item, that begins with - and a space"
      : "Write a map: a line for each field, indented, with a colon and a space after its name",
    severity: "error",
  };
}

/** `ports: [null]`, or a dash without anything behind it. */
function emptyItem(path: string, object: ObjectRef): Problem {
  return {
    object,
    field: path,
    reason: "ValueTypeWrong",
    message: "the item of the list is empty, so kubectl apply refuses it",
    remedy: "Write its fields, or remove the dash",
    severity: "error",
  };
}

function unknownField(
  scope: FieldScope,
  key: string,
  path: string,
  object: ObjectRef,
): StrictProblem {
  const suggestion = fieldSuggestion(scope, key);
  const effect = isOfGatewayApi(object.kind)
    ? "what it is in is not served as written"
    : "it has no effect";
  return {
    object,
    field: path,
    reason: "FieldUnknown",
    message: `unknown field ${quote(key)}, which kubectl apply refuses; ${effect}`,
    remedy: suggestion?.remedy ?? "Remove it",
    severity: "error",
    meant: suggestion?.meant ?? null,
  };
}

/** Their translation rejects what it does not know. */
function isOfGatewayApi(kind: string): boolean {
  return Object.hasOwn(GATEWAY_VERSIONS, kind);
}

/** Labels, annotations, selectors and data of Secrets. The API server reads null as "". */
function checkStrings(
  path: string,
  map: unknown,
  object: ObjectRef,
  problems: StrictProblem[],
): void {
  if (!isRecord(map)) {
    if (map !== null) problems.push(wrongContainer("map", path, map, object));
    return;
  }
  for (const [key, value] of Object.entries(map)) {
    if (problems.length >= MAX_PROBLEMS) return;
    if (typeof value === "string" || value === null) continue;
    const kind = typeName(value);
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
  problems: StrictProblem[],
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

/** https://kubernetes.io/docs/reference/kubernetes-api/service-resources/service-v1/ */
const SERVICE_TYPES = ["ClusterIP", "NodePort", "LoadBalancer", "ExternalName"];
const PROTOCOLS = ["TCP", "UDP", "SCTP"];
const MAX_PORT = 65_535;

/** The API server rejects these values; what is of another type is reported before. */
function checkService(
  object: ObjectRef,
  value: Readonly<Record<string, unknown>>,
  problems: StrictProblem[],
): void {
  const spec = isRecord(value.spec) ? value.spec : {};
  const refuse = (field: string, message: string, remedy: string) => {
    if (problems.length >= MAX_PROBLEMS) return;
    problems.push({ object, field, reason: "ValueInvalid", message, remedy, severity: "error" });
  };
  const choose = (field: string, written: unknown, known: readonly string[]) => {
    if (typeof written !== "string" || written === "" || known.includes(written)) return;
    const meant = nearestName(written, known);
    refuse(
      field,
      `${quote(written)} is none of ${known.join(", ")}, so kubectl apply refuses it`,
      meant === null ? `Write one of ${known.join(", ")}` : `Write "${meant}"`,
    );
  };
  choose("spec.type", spec.type, SERVICE_TYPES);
  for (const [i, port] of (Array.isArray(spec.ports) ? spec.ports : []).entries()) {
    if (!isRecord(port)) continue;
    choose(`spec.ports[${i}].protocol`, port.protocol, PROTOCOLS);
    for (const key of ["port", "targetPort"]) {
      const written = port[key];
      if (typeof written !== "number") continue;
      if (Number.isInteger(written) && written >= 1 && written <= MAX_PORT) continue;
      refuse(
        `spec.ports[${i}].${key}`,
        `${written} is no port, so kubectl apply refuses it`,
        `Write a whole number from 1 to ${MAX_PORT}`,
      );
    }
  }
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
