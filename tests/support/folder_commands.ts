/**
 * What the commands print for a folder in memory. In: manifests, and those that they are compared with. Out: the texts
 * of dev, explain, lint and diff by name; whatever a command throws is thrown.
 */
import { findConfigMap } from "../../cli/lint/cluster_findings.ts";
import { inputOf, lint } from "../../cli/lint/lint.ts";
import { OUTPUTS } from "../../cli/lint/main.ts";
import { FORMATS } from "../../cli/lint/options.ts";
import { compare } from "../../cli/diff/comparison.ts";
import { diffJson } from "../../cli/diff/diff_json.ts";
import { diffText } from "../../cli/diff/diff_text.ts";
import { sideOf } from "../../cli/diff/side.ts";
import { explanationText } from "../../cli/explain/explanation_text.ts";
import { shortHints, shortText } from "../../cli/explain/short_text.ts";
import { PLAIN } from "../../cli/terminal/problem_text.ts";
import { translate } from "../../controller/translate/translator.ts";
import { explainUrl } from "../../dev/explain/explanation.ts";
import { withAssumedObjects } from "../../dev/gateway/assumed_objects.ts";
import { lintSummary } from "../../dev/lint_summary.ts";
import type { Manifests } from "../../dev/manifests/manifests.ts";
import { toTranslateOptions } from "../../dev/plan.ts";
import { formatReport, type Listeners } from "../../dev/report.ts";
import { servicesWantedInHttp2 } from "../../dev/sample_upstreams.ts";
import { parseRequestedUrl } from "../../shared/path/requested_url.ts";
import { LINT_DEFAULTS } from "../golden/lint_case.ts";
import { NOW, type PlanInput, planOf, planOptions } from "./dev_plan.ts";

/** With the ConfigMap of `SAMPLE_OBJECTS`. */
export const FOLDER_OPTIONS: PlanInput = {
  nginxClasses: ["nginx"],
  allowExternalName: true,
  allowAcceptUnsupportedAnnotation: true,
  configMap: { namespace: "edge", name: "conf" },
};

const LISTENERS: Listeners = {
  http: [{ hostname: "127.0.0.1", port: 1 }],
  https: [{ hostname: "127.0.0.1", port: 2 }],
  sslRedirect: false,
  admin: { hostname: "127.0.0.1", port: 3 },
  sockets: { open: [], obstacles: [], hostname: "127.0.0.1" },
};

const now = Date.parse(NOW);

/** @param urls What `explain` is asked. @param backend As of the flag. */
export function commandTexts(
  manifests: Manifests,
  before: Manifests,
  urls: readonly string[],
  backend: PlanInput["backend"] = "HostPort",
): Readonly<Record<string, string>> {
  const input = { ...FOLDER_OPTIONS, backend };
  const plan = planOf(manifests, input);
  servicesWantedInHttp2(manifests.resources);
  return {
    dev: [
      formatReport(plan, LISTENERS, { ...PLAIN, listsInfo: true }),
      lintSummary(manifests, ["folder"], planOptions(input), () => now),
    ].join("\n"),
    ...explainTexts(manifests, plan, urls, input),
    ...lintTexts(manifests),
    ...diffTexts(manifests, before, input),
  };
}

function explainTexts(
  manifests: Manifests,
  plan: ReturnType<typeof planOf>,
  urls: readonly string[],
  input: PlanInput,
): Record<string, string> {
  const resources = withAssumedObjects(manifests.resources);
  const options = toTranslateOptions(planOptions(input));
  const clusterSnapshot = translate(resources, null, options, () => now).snapshot;
  const explanations = urls.map((text) =>
    explainUrl({
      ...{ url: parseRequestedUrl(text)!, method: "GET", headers: [], sslRedirect: true },
      ...{ manifests, plan, clusterSnapshot, isInDev: true, now },
    })
  );
  return {
    explain: explanations.flatMap((explanation) => [
      explanationText(explanation, { ...PLAIN, showsAll: true }),
      shortText(explanation, PLAIN.style),
      ...shortHints(explanation),
    ]).join("\n"),
    "explain -o json": JSON.stringify(explanations),
  };
}

function lintTexts(manifests: Manifests): Record<string, string> {
  const input = inputOf(manifests);
  const configMap = findConfigMap(input.objects, "edge/conf");
  const result = lint(input, configMap, LINT_DEFAULTS, () => now);
  const terminal = { ...PLAIN, excerptAt: input.excerptAt };
  return Object.fromEntries(
    FORMATS.map((format) => [`lint -o ${format}`, OUTPUTS[format](result, terminal)]),
  );
}

function diffTexts(
  manifests: Manifests,
  before: Manifests,
  input: PlanInput,
): Record<string, string> {
  const [old, is] = [["before", before] as const, ["after", manifests] as const]
    .map(([name, side]) => sideOf(name, side, planOptions(input), now));
  const comparisons = [compare(old, is), compare(is, old)];
  return {
    diff: comparisons.map((one) => diffText(one, PLAIN)).join("\n"),
    "diff -o json": JSON.stringify(comparisons.map(diffJson)),
  };
}
