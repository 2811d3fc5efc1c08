/**
 * The page of ingress-nginx's ConfigMap. In: the table of its keys. Out: the text of
 * `docs/configmap.md`.
 */
import { type ConfigKey, hasEffect, keyCloses } from "../controller/translate/config_map/key.ts";
import { KEY_GROUPS } from "../controller/translate/config_map/table.ts";

/** Where the page stands, relative to the repository. */
export const CONFIGMAP_PAGE = "docs/configmap.md";

export function configmapPage(): string {
  return [
    "# The ConfigMap of ingress-nginx",
    "",
    "Made from the program itself by `deno task docs:update`; do not edit.",
    "",
    "ingress-nginx reads settings for all Ingresses from a ConfigMap, which its argument `--configmap`",
    "names. The controller reads it for Ingresses of [the nginx profile](annotations.md#the-nginx-profile):",
    "",
    "```",
    "--configmap=ingress-nginx/ingress-nginx-controller",
    "```",
    "",
    "`deno task dev` and `deno task explain` have the same flag, for a ConfigMap of the folder, and",
    "[`deno task lint`](lint.md) says what becomes of each key. Without the flag, no key has an effect; the",
    "controller warns of that once, when it first serves the profile.",
    "",
    "The controller must be allowed to watch this one object; no manifest allows that by default.",
    "[`overlays/configmap`](../overlays/configmap/kustomization.yaml) has the Role for the name above: copy",
    "it, and change the name and the namespace where yours are others.",
    "",
    "A change applies to all Ingresses of the profile at once.",
    "",
    "## What closes paths",
    "",
    "A key that protects and has no effect here **closes** all paths of the profile: requests get 503, and",
    "the ConfigMap gets an error (`NginxConfigMap`) with the remedy. So does a key with an effect whose",
    "value is not valid. `--accept-unsupported=NAME,…` serves the paths without a key that is not",
    "supported; what is not valid cannot be accepted. Keys and annotations of the same name are accepted",
    "together.",
    "",
    "A value that requests nothing closes nothing: an empty value, and `false`, `off` or `0` of a switch or",
    "limit. Neither do `ssl-protocols` with `TLSv1.2`, and `ssl-ciphers` with all of ingress-nginx's own",
    "default.",
    "",
    "An Ingress with an annotation of a higher risk than `annotations-risk-level`, or with a word of",
    "`annotation-value-word-blocklist` in a value, is refused as a whole: all of its paths return 503, and",
    "`--accept-unsupported` does not change that.",
    "",
    "A ConfigMap that does not exist, or that the controller may not read, closes the paths too",
    "(`ConfigMapNotFound`), because it may protect. If it is deleted later, as when ingress-nginx is",
    "uninstalled, its last published settings stay in effect, with the same error. To drop them, start the",
    "controller without `--configmap`.",
    "",
    "## Keys",
    "",
    "- *honoured* or *differs*: it has its effect, but for the difference that the table names.",
    "- *always so*: the proxies behave like that without it.",
    "- *refused*: it will not have an effect.",
    "- *not yet*: it has no effect in this version. The ConfigMap gets a warning, with what to use in its",
    "  place, or the paths are closed.",
    "",
    "A key that is the default of an annotation counts where an Ingress does not have the annotation, and",
    "has the same differences.",
    "",
    "A key that only adds to others (*with …*) is closed with them. An unknown key is reported; in",
    "ingress-nginx it has no effect either.",
    "",
    ...KEY_GROUPS.flatMap(([title, group]) => [
      `### ${title}`,
      "",
      "| key | in ingress-nginx | value | here |",
      "| --- | --- | --- | --- |",
      ...Object.entries(group).map(([name, row]) => rowOf(name, row)),
      "",
    ]),
  ].join("\n");
}

function rowOf(name: string, row: ConfigKey): string {
  const cells = [`\`${name}\``, sentence(row.does), row.value.what, verdictOf(row)];
  return `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
}

function verdictOf(row: ConfigKey): string {
  const { verdict, beside } = row;
  const closes = keyCloses(row) ? ", **closes**" : "";
  const besides = beside === undefined || hasEffect(row)
    ? ""
    : `, with ${beside.map((each) => `\`${each}\``).join(", ")}`;
  switch (verdict.kind) {
    case "honoured":
      return "honoured";
    case "differs":
      return `differs: ${sentence(verdict.difference)}`;
    case "always":
      return `always so${closes}${besides}: ${sentence(verdict.because)}`;
    case "refused":
      return `refused${closes}${besides}: ${sentence(verdict.because)}`;
    case "not-yet": {
      const remedy = row.closedRemedy ?? verdict.remedy;
      return `not yet${closes}${besides}${remedy === null ? "" : `: ${sentence(remedy)}`}`;
    }
  }
}

function sentence(clause: string): string {
  return `${clause[0].toUpperCase()}${clause.slice(1)}.`;
}
