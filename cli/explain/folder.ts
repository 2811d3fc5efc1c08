/** Explanations of a folder. In: folders and files of manifests. Out: a function that explains a URL. */
import { translate } from "../../controller/translate/translator.ts";
import { explainUrl } from "../../dev/explain/explanation.ts";
import { withAssumedObjects } from "../../dev/gateway/assumed_objects.ts";
import type { LocatedProblem } from "../../dev/manifests/file.ts";
import { formatPosition } from "../../dev/manifests/position.ts";
import { ManifestFolder } from "../../dev/manifests/folder.ts";
import { unreadablePath } from "../../dev/manifests/named_paths.ts";
import { makePlan, toTranslateOptions } from "../../dev/plan.ts";
import type { Explainer } from "./explainer.ts";
import type { ExplainOptions } from "./options.ts";
import { clauseOf } from "../../shared/problem.ts";

/** Nothing is dialled here: they only show that a sample backend would be. */
const SAMPLES = [{ address: "127.0.0.1", port: 1 }, { address: "127.0.0.1", port: 2 }];

/** The explainer, or a sentence that says why the folder cannot be read. */
export async function folderExplainer(options: ExplainOptions): Promise<Explainer | string> {
  const { paths, plan: planOptions, headers, pathOptions, sslRedirect, gateway } = options;
  for (const path of paths) {
    const unreadable = await unreadablePath([path], "pingress explain DIR URL");
    if (unreadable !== null) return `${unreadable}${urlHint(path)}`;
  }
  const manifests = await new ManifestFolder(paths).read();
  if (manifests.refs.length === 0) return nothingRead(manifests.problems);
  const now = Date.now();
  const clock = () => now;
  const plan = makePlan(manifests, planOptions, () => SAMPLES, null, clock);
  const resources = withAssumedObjects(manifests.resources);
  const cluster = translate(resources, null, toTranslateOptions(planOptions), clock);
  return ({ url, method }) =>
    Promise.resolve(explainUrl({
      ...{ url, method, headers, manifests, plan, pathOptions, sslRedirect, gateway, now },
      clusterSnapshot: cluster.snapshot,
      isInDev: true,
    }));
}

/** Of two URLs and more, those without a scheme are taken for folders. */
function urlHint(path: string): string {
  const isHost = /^[\w-]+(?:\.[\w-]+)+(?::\d+)?(?:\/|$)/.test(path) && !MANIFEST.test(path);
  return isHost ? `\nIf it is a URL, write http://${path}` : "";
}

const MANIFEST = /\.(?:ya?ml|json)$/i;

/** A line for each problem that is more than a file to be ignored. */
function nothingRead(problems: readonly LocatedProblem[]): string {
  return problems.filter(({ problem }) => problem.severity !== "info").map(({ problem, at }) => {
    const { message, remedy } = problem;
    const place = at === null ? "" : `${formatPosition(at)}: `;
    return `${place}${message}; ${clauseOf(remedy)}`;
  }).join("\n");
}
