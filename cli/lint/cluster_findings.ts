/**
 * Findings about ingress-nginx's own installation. In: all objects of the folder, and the ConfigMap
 * that the user named. Out: findings about the Deployment's arguments and the ConfigMap's keys.
 */
import { asList, asText, fieldOf } from "../../controller/base/json.ts";
import type { ManifestObject } from "../../dev/manifests/file.ts";
import type { Position } from "../../dev/manifests/position.ts";
import { type ArgumentContext, argumentFindings } from "./controller_arguments.ts";
import { fieldOfKey } from "../../controller/translate/config_map/global_settings.ts";
import {
  type ConfigKey,
  hasEffect,
  isKeyOff,
  keyCloses,
} from "../../controller/translate/config_map/key.ts";
import { KEYS } from "../../controller/translate/config_map/table.ts";
import { keyRemedy } from "../../dev/problems/annotation_suggestion.ts";
import type { Problem } from "../../shared/problem.ts";
import type { Finding, Verdict } from "./finding.ts";
import type { LintOptions } from "./options.ts";

const WORKLOADS: ReadonlySet<string> = new Set(["Deployment", "DaemonSet"]);

/** An object of a file or, without places, of a cluster. */
export interface LocatedObject {
  readonly value: Readonly<Record<string, unknown>>;
  locate(field: string): Position | null;
}

export type ClusterContext = Omit<ArgumentContext, "namespace" | "hasConfigMap">;

export function clusterFindings(
  objects: readonly ManifestObject[],
  configMap: LocatedObject | null,
  context: ClusterContext,
  globalProblems: readonly Problem[],
  options: Pick<LintOptions, "acceptUnsupported">,
): Finding[] {
  return [
    ...objects.filter(({ ref }) => WORKLOADS.has(ref.kind)).flatMap((object) =>
      workloadFindings(object, {
        ...context,
        namespace: object.ref.namespace,
        hasConfigMap: configMap !== null,
      })
    ),
    ...(configMap === null ? [] : configMapFindings(configMap, globalProblems, options)),
  ];
}

/** Null where no file has it. */
export function findConfigMap(
  objects: readonly ManifestObject[],
  name: string,
): ManifestObject | null {
  return objects.findLast(({ ref }) =>
    ref.kind === "ConfigMap" && `${ref.namespace}/${ref.name}` === name
  ) ?? null;
}

function workloadFindings(object: ManifestObject, context: ArgumentContext): Finding[] {
  const containers = asList(
    fieldOf(fieldOf(fieldOf(fieldOf(object.value, "spec"), "template"), "spec"), "containers"),
  ) ?? [];
  return containers.flatMap((container, i): Finding[] => {
    const lists = ["command", "args"].map((field) => ({
      field: `spec.template.spec.containers[${i}].${field}`,
      words: (asList(fieldOf(container, field)) ?? []).map((word) => asText(word) ?? ""),
    }));
    const words = lists.flatMap((list) => list.words);
    const image = asText(fieldOf(container, "image")) ?? "";
    if (!IMAGE.test(image) && !words.some((word) => PROGRAM.test(word))) return [];
    return argumentFindings(words, context).map(({ name, ...finding }): Finding => {
      const field = fieldOfArgument(name, lists);
      return { ...finding, rule: `cluster/${name}`, field, at: object.locate(field) };
    });
  });
}

/** Of the controller, not of the Job that makes the webhook's certificate. */
const IMAGE = /ingress-nginx\/controller/;

const PROGRAM = /(?:^|\/)nginx-ingress-controller$/;

/** The last one that has it, which counts. */
function fieldOfArgument(
  name: string,
  lists: readonly { readonly field: string; readonly words: readonly string[] }[],
): string {
  const places = lists.flatMap(({ field, words }) =>
    words.flatMap((word, i) =>
      new RegExp(`^--?${name}(?:=|$)`).test(word) ? [`${field}[${i}]`] : []
    )
  );
  return places.at(-1) ?? lists[1].field;
}

/** What the translation makes of each key. Values are never shown. */
function configMapFindings(
  configMap: LocatedObject,
  problems: readonly Problem[],
  { acceptUnsupported }: Pick<LintOptions, "acceptUnsupported">,
): Finding[] {
  const data = fieldOf(configMap.value, "data");
  const keys = typeof data === "object" && data !== null ? Object.keys(data).sort() : [];
  return keys.map((key): Finding => {
    const row = KEYS.get(key) ?? null;
    const problem = problems.find(({ field }) => field === fieldOfKey(key)) ?? null;
    const field = `data.${key}`;
    const at = configMap.locate(field);
    if (row === null) {
      return {
        verdict: "SAME",
        rule: "configmap/unknown",
        effect: `${/^[\w.-]+$/.test(key) ? key : "a key"}: ingress-nginx has no such key`,
        difference: "it has no effect, there and here",
        remedy: keyRemedy(key),
        field,
        at,
      };
    }
    const isAccepted = keyCloses(row) && acceptUnsupported.includes(key);
    const found = { rule: `configmap/${key}`, effect: `${key}: ${row.does}`, field, at };
    const text = (asText(fieldOf(data, key)) ?? "").trim();
    const difference = differenceOf(row, text);
    if (
      difference !== null && (problem === null || (problem.severity === "warning" && !isAccepted))
    ) {
      return { ...found, verdict: "DIFFERS", difference, remedy: CHECK };
    }
    if (problem === null) {
      // Of a default of an annotation, "off" and 0 are values.
      const isOff = row.annotation === undefined ? isKeyOff(row, text) : text === "";
      return hasEffect(row) && row.verdict.kind === "differs" && !isOff
        ? {
          ...found,
          verdict: "DIFFERS",
          difference: row.verdict.difference,
          remedy: CHECK,
        }
        : { ...found, verdict: "SAME", difference: null, remedy: null };
    }
    const verdict: Verdict = problem.severity === "error"
      ? "BREAKS"
      : isAccepted
      ? "OPENS"
      : row.verdict.kind === "always"
      ? "SAME"
      : "DIFFERS";
    return { ...found, verdict, difference: problem.message, remedy: problem.remedy };
  });
}

const CHECK = "Check that the difference does not matter to you";

/** Of a key without an effect here; null where its value asks for what is done without it. */
function differenceOf(row: ConfigKey, text: string): string | null {
  const value = text === "" ? null : row.value.read(text);
  return value === null ? null : row.differenceOf?.(value) ?? null;
}
