/**
 * An Ingress as far as its status goes. In: an object of the informer. Out: which addresses it shows,
 * and whether it was this controller that wrote them.
 */
import { FIELD_MANAGER } from "../../kube/client.ts";
import type { KubeMeta } from "../../kube/types.ts";
import { fieldOf } from "../../base/json.ts";
import type { IngressAddress } from "./address.ts";

/**
 * What must be left of an Ingress when it is reduced: of `metadata` also uid, resourceVersion,
 * generation, deletionTimestamp, and the entries of `managedFields` whose manager is ours, each with
 * `manager` and `subresource`.
 */
export interface StatusIngress {
  readonly metadata: KubeMeta;
  readonly status?: {
    readonly loadBalancer?: {
      readonly ingress?: readonly { readonly ip?: string; readonly hostname?: string }[] | null;
    } | null;
  } | null;
}

const CLASS_ANNOTATION = "kubernetes.io/ingress.class";

/** Whether it shows these addresses, in this order. */
export function showsAddresses(
  { status }: StatusIngress,
  addresses: readonly IngressAddress[],
): boolean {
  const shown = status?.loadBalancer?.ingress ?? [];
  return shown.length === addresses.length &&
    shown.every(({ ip, hostname }, i) =>
      (ip || undefined) === addresses[i].ip && (hostname || undefined) === addresses[i].hostname
    );
}

/**
 * Whether the addresses that it shows are ours alone or ours too. The API server keeps that in
 * `managedFields`, so it outlives this process; whoever overwrites them takes them over.
 *
 * https://kubernetes.io/docs/reference/using-api/server-side-apply/#managers
 */
export function hasOurStatus({ metadata }: StatusIngress): boolean {
  return metadata.managedFields?.some((entry) =>
    fieldOf(entry, "manager") === FIELD_MANAGER && fieldOf(entry, "subresource") === "status"
  ) ?? false;
}

/** Whether nothing has changed by which one decides who serves an Ingress. */
export function isSameClaim({ metadata: a }: StatusIngress, { metadata: b }: StatusIngress) {
  return a.uid === b.uid && a.generation === b.generation &&
    a.annotations?.[CLASS_ANNOTATION] === b.annotations?.[CLASS_ANNOTATION];
}
