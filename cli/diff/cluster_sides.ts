/**
 * A cluster before and after new manifests. In: a kubeconfig and the manifests. Out: both sides, or a sentence
 * that says why the cluster cannot be read.
 */
import type { Manifests } from "../../dev/manifests/manifests.ts";
import type { PlanOptions } from "../../dev/plan.ts";
import { openCluster } from "../cluster/cluster.ts";
import { gathered, unreadSentence } from "../cluster/unread.ts";
import { isUnusable, readClusterObjects } from "../cluster_state/cluster_objects.ts";
import { clusterOptions, clusterPlan } from "../cluster_state/cluster_plan.ts";
import type { Progress } from "../terminal/progress.ts";
import type { Against } from "./options.ts";
import { overlay } from "./overlay.ts";
import { type Side, unreadProblems } from "./side.ts";

export interface ClusterSides {
  readonly before: Side;
  readonly after: Side;
  /** What could not be read, a sentence each. */
  readonly notes: readonly string[];
}

/** @param namespace Of the installation. @param now Milliseconds since the epoch. */
export async function readClusterSides(
  { choice, environment, namespace }: Extract<Against, { readonly kind: "cluster" }>,
  manifests: Manifests,
  flags: PlanOptions,
  { name, now, progress }: {
    readonly name: string;
    readonly now: number;
    readonly progress: Progress;
  },
): Promise<ClusterSides | string> {
  const opening = await openCluster(choice, environment, progress);
  if (!opening.ok) return opening.message;
  const { cluster } = opening;
  progress.step("Reading the cluster");
  const objects = await readClusterObjects(cluster, namespace);
  cluster.close();
  const notes = gathered(objects.unread).map(unreadSentence);
  if (isUnusable(objects)) return notes.join("\n");
  const { resources, snapshot: published } = objects;
  const options = clusterOptions(objects, flags);
  const clock = () => now;
  const before = clusterPlan(resources, published, options, clock);
  const after = clusterPlan(overlay(resources, manifests.resources), published, options, clock);
  const located = manifests.locateAll(after.problems.map(({ problem }) => problem));
  return {
    before: {
      name: "the cluster",
      snapshot: before.snapshot,
      problems: before.problems,
      unread: [],
      count: resources.ingresses.length + (resources.httpRoutes ?? []).length,
      locate: () => null,
    },
    after: {
      name,
      snapshot: after.snapshot,
      problems: [...manifests.problems, ...located],
      unread: unreadProblems(manifests.problems),
      count: manifests.refs.length,
      locate: (object, field) => manifests.locate(object, field),
    },
    notes,
  };
}
