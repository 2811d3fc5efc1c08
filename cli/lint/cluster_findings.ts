/**
 * Findings about ingress-nginx's own installation. In: all objects of the folder, and the ConfigMap
 * that the user named. Out: findings about the Deployment's arguments and the ConfigMap's keys.
 */
import { asList, asText, fieldOf } from "../../controller/base/json.ts";
import type { ManifestObject } from "../../dev/manifests/file.ts";
import type { Position } from "../../dev/manifests/position.ts";
import { type ArgumentContext, argumentFindings } from "./controller_arguments.ts";
import { judgeKey } from "./config_map_keys.ts";
import type { Finding } from "./finding.ts";

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
): Finding[] {
  return [
    ...objects.filter(({ ref }) => WORKLOADS.has(ref.kind)).flatMap((object) =>
      workloadFindings(object, {
        ...context,
        namespace: object.ref.namespace,
        hasConfigMap: configMap !== null,
      })
    ),
    ...(configMap === null ? [] : configMapFindings(configMap)),
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

/** Values are never shown. */
function configMapFindings(configMap: LocatedObject): Finding[] {
  const data = fieldOf(configMap.value, "data");
  const keys = typeof data === "object" && data !== null ? Object.keys(data).sort() : [];
  return keys.map((key): Finding => {
    const { verdict, effect, remedy } = judgeKey(key, fieldOf(data, key));
    const isSame = verdict === "SAME";
    return {
      verdict,
      rule: `configmap/${/^[\w.-]+$/.test(key) ? key : "unknown"}`,
      effect: `${key} ${effect}`,
      difference: isSame ? null : "the ConfigMap is not read, so it has no effect",
      remedy: isSame ? null : remedy,
      field: `data.${key}`,
      at: configMap.locate(`data.${key}`),
    };
  });
}
