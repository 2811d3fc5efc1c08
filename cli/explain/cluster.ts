/**
 * Explanations of a cluster, and of one of its proxies. In: a kubeconfig and flags. Out: a function that explains a
 * URL, or a sentence that says why nothing can be read.
 */
import { PODS } from "../../controller/kube/types.ts";
import { explainUrl } from "../../dev/explain/explanation.ts";
import { type Cluster, openCluster } from "../cluster/cluster.ts";
import { readJsonPage, readList } from "../cluster/readings.ts";
import { gathered, unreadSentence } from "../cluster/unread.ts";
import { isUnusable, readClusterObjects } from "../cluster_state/cluster_objects.ts";
import { clusterOptions, clusterPlan } from "../cluster_state/cluster_plan.ts";
import { proxyAdminPort } from "../installation/installation.ts";
import type { Progress } from "../terminal/progress.ts";
import type { Explainer } from "./explainer.ts";
import type { AskedRequest, ExplainedCluster, ExplainOptions } from "./options.ts";
import { proxyExplanation } from "./proxy_page.ts";

/** The explainer, or a sentence. */
export async function clusterExplainer(
  { choice, environment, namespace, proxy }: ExplainedCluster,
  options: ExplainOptions,
  progress: Progress,
): Promise<Explainer | string> {
  const opening = await openCluster(choice, environment, progress);
  if (!opening.ok) return opening.message;
  const { cluster } = opening;
  progress.step("Reading the cluster");
  return proxy === null
    ? await explainerOfObjects(cluster, namespace, options)
    : await explainerOfProxy(cluster, namespace, proxy, options);
}

async function explainerOfObjects(
  cluster: Cluster,
  namespace: string,
  { plan: flags, headers, pathOptions, gateway }: ExplainOptions,
): Promise<Explainer | string> {
  const objects = await readClusterObjects(cluster, namespace);
  cluster.close();
  const notes = gathered(objects.unread).map(unreadSentence);
  if (isUnusable(objects)) return notes.join("\n");
  const now = Date.now();
  const { resources, snapshot } = objects;
  const translated = clusterPlan(resources, snapshot, clusterOptions(objects, flags), () => now);
  // What is served counts, even where objects are newer.
  const plan = { ...translated, snapshot: snapshot ?? translated.snapshot };
  const { proxyArgs } = objects;
  return ({ url, method }) => {
    const explanation = explainUrl({
      ...{ url, method, headers, plan, gateway, now },
      pathOptions: {
        mergeSlashes: pathOptions.mergeSlashes || isOn("merge-slashes", proxyArgs),
        refuseEscapedSlashes: pathOptions.refuseEscapedSlashes ||
          isOn("refuse-escaped-slashes", proxyArgs),
      },
      manifests: { resources, locate: () => null },
      clusterSnapshot: plan.snapshot,
      hasEndpoints: snapshot !== null || objects.hasEndpoints,
      certificatesUnread: objects.snapshotUnread?.message ?? null,
      sslRedirect: !proxyArgs.includes("--ssl-redirect=false"),
      isInDev: false,
    });
    return Promise.resolve({ ...explanation, notes });
  };
}

/** Of a flag that is off by default. */
function isOn(flag: string, args: readonly string[]): boolean {
  return args.includes(`--${flag}`) || args.includes(`--${flag}=true`);
}

async function explainerOfProxy(
  cluster: Cluster,
  systemNamespace: string,
  proxy: string,
  { headers, gateway }: ExplainOptions,
): Promise<Explainer | string> {
  const [name, namespace = systemNamespace] = proxy.split("/").reverse();
  const pods = await readList(cluster, PODS, { namespace });
  if (!pods.ok) return unreadSentence(pods.unread);
  const value = pods.value.find(({ metadata }) => metadata.name === name);
  if (value === undefined) {
    return `There is no pod ${namespace}/${name}; pingress status lists the proxies`;
  }
  return async (request) => {
    const path = `/explain?${queryOf(request, headers, gateway)}`;
    const page = await readJsonPage(cluster, value, proxyAdminPort(value), path);
    if (!page.ok) return unreadSentence(page.unread);
    const explanation = page.value === null ? null : proxyExplanation(page.value, request, headers);
    return explanation ??
      (gateway === null
        ? `Pod ${namespace}/${name} explains nothing; name a proxy of Pingress`
        : `Pod ${namespace}/${name} has no listener of Gateway ${gateway} for ${request.url.host}`);
  };
}

function queryOf(
  { url, method }: AskedRequest,
  headers: ExplainOptions["headers"],
  gateway: string | null,
): URLSearchParams {
  const port = url.port === null ? "" : `:${url.port}`;
  return new URLSearchParams([
    ["url", `${url.scheme}://${url.host}${port}${url.rawPath}${url.query}`],
    ["method", method],
    ...headers.map(([name, value]) => ["header", `${name}: ${value}`]),
    ...(gateway === null ? [] : [["gateway", gateway]]),
  ]);
}
