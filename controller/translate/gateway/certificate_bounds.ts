/**
 * What the listeners of one namespace may show. In: certificates, by Gateways from the oldest on, and what was
 * published. Out: whether there is room for them. Every proxy holds them, and all are in one configuration: one
 * namespace must not fill it.
 *
 * What was published stays, even where it is more than the bounds.
 */
import type { Certificate, Snapshot } from "../../../shared/snapshot/types.ts";
import type { NamespaceBounds } from "../bounds/namespace_bounds.ts";
import { type Condition, falseCondition } from "./objects/condition.ts";

type CertificateBounds = Pick<NamespaceBounds, "certificates" | "hostBytes">;

interface Taken {
  readonly ids: Set<string>;
  /** Of chains. */
  bytes: number;
}

export class CertificateRoom {
  /** Whether it was too small for a namespace, so that it depends on what was published. */
  isFull = false;
  readonly #bounds: CertificateBounds;
  readonly #published: ReadonlySet<string>;
  /** By namespace. */
  readonly #taken = new Map<string, Taken>();

  constructor(bounds: CertificateBounds, published: Snapshot | null) {
    this.#bounds = bounds;
    this.#published = new Set(
      (published?.listeners ?? []).flatMap(({ certificates = [] }) => certificates),
    );
  }

  /** Of one listener of a Gateway in the namespace: null where there is room for all, which are taken then. */
  take(namespace: string, certificates: readonly Certificate[]): Condition | null {
    let taken = this.#taken.get(namespace);
    if (taken === undefined) this.#taken.set(namespace, taken = { ids: new Set(), bytes: 0 });
    const added = new Map(
      certificates.filter(({ id }) => !taken.ids.has(id)).map((each) => [each.id, each]),
    );
    const bytes = added.values().reduce((sum, each) => sum + sizeOf(each), taken.bytes);
    const { certificates: maxCount, hostBytes } = this.#bounds;
    const over = taken.ids.size + added.size > maxCount
      ? `more than ${maxCount} certificates`
      : bytes > hostBytes
      ? `certificates of more than ${hostBytes} bytes`
      : null;
    if (over !== null) {
      this.isFull = true;
      if (![...added.keys()].every((id) => this.#published.has(id))) {
        return falseCondition(
          "ResolvedRefs",
          "InvalidCertificateRef",
          `with it the listeners of namespace ${namespace} would show ${over}. Remove certificateRefs ` +
            `or listeners, or raise ${
              bytes > hostBytes ? "--max-namespace-host-bytes" : "--max-namespace-certificates"
            } of the controller.`,
        );
      }
    }
    for (const id of added.keys()) taken.ids.add(id);
    taken.bytes = bytes;
    return null;
  }
}

function sizeOf({ chain }: Certificate): number {
  return chain.kind === "pem" ? chain.pem.length : 0;
}
