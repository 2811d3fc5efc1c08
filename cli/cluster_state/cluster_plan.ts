/**
 * What a cluster serves, as `explain` and `diff` look at it. In: its objects, the configuration of its controller,
 * and flags for what the controller does not say. Out: a plan as that of a folder, without places in files. Pure
 * but for the clock.
 */
import type { Resources } from "../../controller/kube/resources.ts";
import {
  type Clock,
  translate,
  type TranslateOptions,
} from "../../controller/translate/translator.ts";
import { type Plan, type PlanOptions, toTranslateOptions } from "../../dev/plan.ts";
import type { Problem } from "../../shared/problem.ts";
import type { Snapshot } from "../../shared/snapshot/types.ts";
import type { ClusterObjects } from "./cluster_objects.ts";

/** Secrets are not read here, so whether they are missing or wrong is not known. */
const OF_SECRETS = /Secret|Certificate|^Upstream(?:Ca|ClientCertificate)/;

/** @param flags Used where the flags of the controller cannot be read. */
export function clusterOptions({ options }: ClusterObjects, flags: PlanOptions): TranslateOptions {
  return options ?? { ...toTranslateOptions(flags), allowLocalEndpoints: false };
}

/**
 * @param published What the controller has published: certificates, which are not translated here, are kept
 *   as they are there.
 */
export function clusterPlan(
  resources: Resources,
  published: Snapshot | null,
  options: TranslateOptions,
  clock: Clock,
): Plan {
  const translated = translate(resources, published, options, clock);
  return {
    snapshot: translated.snapshot,
    statuses: translated.statuses,
    gateway: (resources.gateways ?? []).length === 0 ? null : translated.gateway,
    problems: translated.problems.filter(isKnown).map((problem) => ({ problem, at: null })),
    standIns: new Map(),
    hostOwnership: options.hostOwnership,
    hostOwners: translated.hostOwners,
  };
}

function isKnown({ object, reason }: Problem): boolean {
  return object?.kind !== "Secret" && !OF_SECRETS.test(reason);
}
