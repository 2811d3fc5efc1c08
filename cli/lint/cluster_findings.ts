/**
 * Findings about ingress-nginx's own installation. In: all objects of the folder, and the ConfigMap
 * that the user named. Out: findings about the Deployment's arguments and the ConfigMap's keys.
 */
import { asList, asText, fieldOf } from "../../controller/base/json.ts";
import type { ManifestObject } from "../../dev/manifests/file.ts";
import { judgeKey } from "./config_map_keys.ts";
import type { Finding } from "./finding.ts";

const WORKLOADS: ReadonlySet<string> = new Set(["Deployment", "DaemonSet"]);

const CONFIG_MAP_FLAG = "--configmap";
const PREFIX_FLAG = "--annotations-prefix";
const DEFAULT_PREFIX = "nginx.ingress.kubernetes.io";

export function clusterFindings(
  objects: readonly ManifestObject[],
  configMap: ManifestObject | null,
): Finding[] {
  return [
    ...objects.filter(({ ref }) => WORKLOADS.has(ref.kind)).flatMap((object) =>
      workloadFindings(object, configMap !== null)
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

function workloadFindings(object: ManifestObject, hasConfigMap: boolean): Finding[] {
  const containers = asList(
    fieldOf(fieldOf(fieldOf(fieldOf(object.value, "spec"), "template"), "spec"), "containers"),
  ) ?? [];
  return containers.flatMap((container, i): Finding[] => {
    const words = [fieldOf(container, "command"), fieldOf(container, "args")].flatMap((list) =>
      (asList(list) ?? []).map((word) => asText(word) ?? "")
    );
    const image = asText(fieldOf(container, "image")) ?? "";
    if (!image.includes("ingress-nginx") && !words.includes("/nginx-ingress-controller")) return [];
    const at = object.locate(`spec.template.spec.containers[${i}].args`);
    const findings: Finding[] = [];
    const named = flagOf(words, CONFIG_MAP_FLAG);
    if (named !== null && !hasConfigMap) {
      const name = named.replace("$(POD_NAMESPACE)", object.ref.namespace);
      findings.push({
        verdict: "OPENS",
        rule: "cluster/configmap",
        effect: `${CONFIG_MAP_FLAG}: settings of the ConfigMap ${name} hold for all Ingresses`,
        difference: "it is not checked; what it refuses would be forwarded",
        remedy: `Add ${CONFIG_MAP_FLAG} ${name}, or name a file with it`,
        at,
      });
    }
    const prefix = flagOf(words, PREFIX_FLAG);
    if (prefix !== null && prefix !== DEFAULT_PREFIX) {
      findings.push({
        verdict: "OPENS",
        rule: "cluster/annotations-prefix",
        effect: `${PREFIX_FLAG}: annotations begin with ${prefix}/`,
        difference: `only those that begin with ${DEFAULT_PREFIX}/ are read`,
        remedy: `Rename the annotations to ${DEFAULT_PREFIX}/…`,
        at,
      });
    }
    return findings;
  });
}

/** `--flag=value` or `--flag value`; null where it is missing. */
function flagOf(words: readonly string[], flag: string): string | null {
  const joined = words.find((word) => word.startsWith(`${flag}=`));
  if (joined !== undefined) return joined.slice(flag.length + 1);
  const index = words.indexOf(flag);
  return index < 0 ? null : words[index + 1] ?? null;
}

/** Values are never shown. */
function configMapFindings(configMap: ManifestObject): Finding[] {
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
      at: configMap.locate(`data.${key}`),
    };
  });
}
