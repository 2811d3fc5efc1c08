/** Rights, as the API server reviews them. In: a cluster. Out: those of the user and of the controller's account. */
import {
  CLUSTER_ROLE_BINDINGS,
  CLUSTER_ROLES,
  type KubeObject,
  ROLE_BINDINGS,
  ROLES,
  SELF_SUBJECT_ACCESS_REVIEWS,
  SUBJECT_ACCESS_REVIEWS,
} from "../../controller/kube/types.ts";
import type { Cluster } from "../cluster/cluster.ts";
import { type Reading, readList, readObject } from "../cluster/readings.ts";
import { unreadOf } from "../cluster/unread.ts";
import { accountOf, type Installation } from "../installation/installation.ts";
import type { CheckedRight } from "./facts.ts";
import { CONTROLLER_RIGHTS, type Right } from "./right.ts";
import {
  type Account,
  type BoundRole,
  boundRoles,
  groupsOf,
  roleAllows,
  userOf,
} from "./role_rights.ts";

/** Kinds of the controller's rights that no namespace has. */
const CLUSTER_WIDE = ["ingressclasses", "namespaces", "nodes", "tokenreviews"];

interface ReviewStatus {
  readonly allowed?: boolean;
}

/** @param namespace Of the installation. */
export async function readUserRights(
  cluster: Cluster,
  namespace: string,
  rights: readonly Right[],
): Promise<Reading<readonly CheckedRight[]>> {
  return await reviewAll(cluster, rights, SELF_SUBJECT_ACCESS_REVIEWS, (right) => ({
    resourceAttributes: attributesOf(right, right.scope === "all" ? null : namespace),
  }));
}

/** By reviews, else by roles. Null where it is not known as whom the controller runs. */
export async function readAccountRights(
  cluster: Cluster,
  { deployment, options, namespace }: Installation,
): Promise<Reading<readonly CheckedRight[]> | null> {
  if (!deployment.ok || deployment.value === null) return null;
  const name = accountOf(deployment.value);
  if (name === null) return null;
  const account: Account = { namespace, name };
  const watched = options?.watchNamespaces?.[0] ?? null;
  // One that watches single namespaces needs no more than their names say.
  const rights = watched === null
    ? CONTROLLER_RIGHTS
    : CONTROLLER_RIGHTS.filter(({ isOptional }) => isOptional !== true);
  const placeOf = ({ scope, resource }: Right) =>
    scope === "installation" ? namespace : CLUSTER_WIDE.includes(resource) ? null : watched;
  const reviewed = await reviewAll(cluster, rights, SUBJECT_ACCESS_REVIEWS, (right) => ({
    user: userOf(account),
    groups: groupsOf(account),
    resourceAttributes: attributesOf(right, placeOf(right)),
  }));
  if (reviewed.ok || reviewed.code !== 403) return reviewed;
  const roles = await readRoles(cluster, account);
  if (roles === null) return reviewed;
  const isAllowed = (right: Right) =>
    roles.some(({ bound, role }) =>
      (bound.namespace === null || bound.namespace === placeOf(right)) && roleAllows(role, right)
    );
  return { ok: true, value: rights.map((right) => ({ right, isAllowed: isAllowed(right) })) };
}

interface GivenRole {
  readonly bound: BoundRole;
  readonly role: KubeObject;
}

/** All that bindings give to the account; null where they may not be read. */
async function readRoles(
  cluster: Cluster,
  account: Account,
): Promise<readonly GivenRole[] | null> {
  const [everywhere, inNamespaces] = await Promise.all([
    readList(cluster, CLUSTER_ROLE_BINDINGS, { namespace: null }),
    readList(cluster, ROLE_BINDINGS, { namespace: null }),
  ]);
  if (!everywhere.ok || !inNamespaces.ok) return null;
  const all = boundRoles([...everywhere.value, ...inNamespaces.value], account);
  const read = await Promise.all(all.map(async (bound) => ({
    bound,
    role: await readObject(
      cluster,
      bound.kind === "Role" ? ROLES : CLUSTER_ROLES,
      bound.kind === "Role" ? bound.namespace : null,
      bound.name,
    ),
  })));
  if (read.some(({ role }) => !role.ok)) return null;
  return read.flatMap(({ bound, role }) =>
    role.ok && role.value !== null ? [{ bound, role: role.value }] : []
  );
}

async function reviewAll(
  cluster: Cluster,
  rights: readonly Right[],
  resource: typeof SUBJECT_ACCESS_REVIEWS,
  spec: (right: Right) => unknown,
): Promise<Reading<readonly CheckedRight[]>> {
  const reviews = await Promise.all(
    rights.map(async (right) =>
      [right, await cluster.review<ReviewStatus>(resource, spec(right))] as const
    ),
  );
  const checked: CheckedRight[] = [];
  for (const [right, review] of reviews) {
    if (!review.ok) {
      const { error } = review;
      const { timeout } = cluster;
      const unread = unreadOf({ verb: "create", resource, namespace: null, error, timeout });
      return { ok: false, code: error.code, unread };
    }
    checked.push({ right, isAllowed: review.value?.allowed === true });
  }
  return { ok: true, value: checked };
}

/** @param namespace Null for all, and for kinds that have none. */
function attributesOf(
  { verb, group, resource, subresource, name }: Right,
  namespace: string | null,
) {
  return { verb, group, resource, subresource, name, namespace: namespace ?? "" };
}
