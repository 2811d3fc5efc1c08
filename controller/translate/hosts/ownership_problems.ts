/**
 * Problems of host ownership. In: the hosts that concern several namespaces, who names them, and who
 * owns them. Out: an error on each rule of another namespace, and on the owner's side one warning for
 * each host and foreign namespace.
 */
import { INGRESSES } from "../../kube/types.ts";
import type { Claimants, HostClaimant, HostOwner } from "./host_owner.ts";
import { HOSTS_ANNOTATION } from "./namespace_facts.ts";
import { type ObjectProblem, type ProblemList, recordProblems } from "../../base/problems.ts";
import { SHARE_ANNOTATION } from "../annotations/own_annotation_names.ts";

export function reportOwnership(
  contested: ReadonlySet<string>,
  claimants: ReadonlyMap<string, Claimants>,
  owners: ReadonlyMap<string, HostOwner>,
): readonly ObjectProblem[] {
  if (contested.size === 0) return [];
  return recordProblems((list) => {
    for (const host of [...contested].sort()) {
      const owner = owners.get(host);
      const found = claimants.get(host);
      if (owner === undefined || found === undefined) continue;
      if (owner.sharers.length > 1) reportSharers(host, owner, found.living, list);
      reportRefused(host, owner, found, list);
    }
  }).problems;
}

function reportRefused(
  host: string,
  owner: HostOwner,
  { living, dying }: Claimants,
  problems: ProblemList,
): void {
  const { namespace, sharers, guests } = owner;
  const admitted = new Set([namespace, ...sharers, ...guests]);
  const own = living.find((each) => each.identity.ref.namespace === namespace && isIngress(each));
  const report = (ingress: HostClaimant) => {
    const { ref } = ingress.identity;
    if (!isIngress(ingress)) return;
    problems.about(ref).error(fieldOfHost(ingress, host), {
      reason: "HostNotOwned",
      message: `host ${host} belongs to namespace ${namespace}${showReason(owner)}, so the ` +
        `${ingress.hosts.some((one) => one.host === host) ? "rule" : "name"} is rejected`,
      remedy: `Use another host, or have an Ingress of ${namespace} that names the host carry ` +
        `${SHARE_ANNOTATION}: ${ref.namespace}`,
    });
  };
  const warned = new Set<string>();
  for (const ingress of living) {
    const { ref, label } = ingress.identity;
    if (admitted.has(ref.namespace)) continue;
    report(ingress);
    if (own === undefined || warned.has(ref.namespace)) continue;
    warned.add(ref.namespace);
    problems.about(own.identity.ref).warning(fieldOfHost(own, host), {
      reason: "HostClaimedByOthers",
      message:
        `namespace ${ref.namespace} names host ${host} too (${label}); its rules are rejected`,
      remedy: `No action required; to admit them, add ${SHARE_ANNOTATION}: ${ref.namespace}`,
    });
  }
  // The owner need not hear of these: they will be gone.
  for (const ingress of dying) {
    if (!admitted.has(ingress.identity.ref.namespace)) report(ingress);
  }
}

/** Once for each namespace. */
function reportSharers(
  host: string,
  { sharers }: HostOwner,
  all: readonly HostClaimant[],
  problems: ProblemList,
): void {
  const first = new Map<string, HostClaimant>();
  for (const each of all) {
    const { namespace } = each.identity.ref;
    if (isIngress(each) && !first.has(namespace)) first.set(namespace, each);
  }
  for (const name of sharers) {
    const ingress = first.get(name);
    if (ingress === undefined) continue;
    problems.about(ingress.identity.ref).warning(fieldOfHost(ingress, host), {
      reason: "HostShared",
      message: `host ${host} is served by namespaces ${sharers.join(", ")}, as it was when host ` +
        "ownership was turned on",
      remedy: `Annotate the Namespace that owns it with ${HOSTS_ANNOTATION}: ${host}`,
    });
  }
}

function showReason({ because, since }: HostOwner): string {
  if (because === "assigned") return `, by ${HOSTS_ANNOTATION} of that Namespace`;
  return since === null ? "" : ", whose claim is the oldest";
}

/** Of others, their conditions say it. */
function isIngress({ identity }: HostClaimant): boolean {
  return identity.ref.kind === INGRESSES.kind;
}

function fieldOfHost({ hosts, otherNames }: HostClaimant, host: string): string {
  return [...hosts, ...otherNames].find((one) => one.host === host)?.field ?? "spec.rules";
}
