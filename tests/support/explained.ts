/** Explanations of folders in memory. In: a URL and texts by file name. Out: the value, and its text. */
import { explanationText } from "../../cli/explain/explanation_text.ts";
import { styleOf } from "../../cli/terminal/style.ts";
import { translate } from "../../controller/translate/translator.ts";
import { explainUrl } from "../../dev/explain/explanation.ts";
import type { Question } from "../../dev/explain/question.ts";
import type { UrlExplanation } from "../../dev/explain/url_explanation.ts";
import { withAssumedObjects } from "../../dev/gateway/assumed_objects.ts";
import { toTranslateOptions } from "../../dev/plan.ts";
import { parseRequestedUrl } from "../../shared/path/requested_url.ts";
import { NOW, planFor, type PlanInput, planOptions, readTexts } from "./dev_plan.ts";

export interface Explained {
  readonly explanation: UrlExplanation;
  /** As it is printed where the output is no terminal. */
  readonly text: string;
  /** Whether a backend gets the request. */
  readonly isForwarded: boolean;
}

type Details = Partial<
  Pick<
    Question,
    "method" | "headers" | "sslRedirect" | "pathOptions" | "gateway" | "certificatesUnread"
  >
>;

export function explained(
  text: string,
  files: Readonly<Record<string, string>>,
  details: Details = {},
  input: PlanInput = {},
): Explained {
  const url = parseRequestedUrl(text);
  if (url === null) throw new Error(text);
  const manifests = readTexts(files);
  const now = Date.parse(NOW);
  const options = toTranslateOptions(planOptions(input));
  const resources = withAssumedObjects(manifests.resources);
  const explanation = explainUrl({
    ...{ url, method: "GET", headers: [], sslRedirect: false, ...details },
    ...{ manifests, plan: planFor(files, input), now, isInDev: true },
    clusterSnapshot: translate(resources, null, options, () => now).snapshot,
  });
  return {
    explanation,
    text: explanationText(explanation, {
      columns: Infinity,
      style: styleOf(false),
      showsAll: false,
    }),
    isForwarded: explanation.answer.kind === "backend",
  };
}
