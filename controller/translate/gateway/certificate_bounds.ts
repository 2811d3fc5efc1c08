/**
 * What the listeners of one namespace may show. In: certificates, by Gateways from the oldest on, and what was
 * published. Out: whether there is room for them. Every proxy holds them, and all are in one configuration: one
 * namespace must not fill it.
 *
 * Secrets whose certificates were published for the namespace, and that its listeners still name, count from the
 * start, and stay even where they are more than the bounds; also when they are renewed. In a namespace that may add
 * nothing, those that have grown stay as they were published.
 */
import { clauseOf } from "../../../shared/problem.ts";
import type { Certificate, Snapshot } from "../../../shared/snapshot/types.ts";
import { type ClusterFull, NOT_FULL } from "../bounds/cluster_bound.ts";
import type { NamespaceBounds } from "../bounds/namespace_bounds.ts";
import { publishedOnListeners } from "../bounds/namespace_parts.ts";
import { keyOf } from "../../base/identity.ts";
import type { InlineCertificate } from "../certificates/certificate_source.ts";
import { type Outgrown, outgrown } from "../bounds/held_certificates.ts";
import { type Condition, falseCondition } from "./objects/condition.ts";

type CertificateBounds = Pick<NamespaceBounds, "certificates" | "hostBytes">;

/** What one namespace shows, of what it may show. */
interface Taken {
  /** `namespace/name` of Secrets. */
  readonly secrets: Set<string>;
  /** Of chains. */
  bytes: number;
}

export class CertificateRoom {
  /** Whether it was too small for a namespace, so that it depends on what was published. */
  isFull = false;
  readonly #bounds: CertificateBounds;
  readonly #full: ClusterFull;
  /** By namespace of Gateways. */
  readonly #taken = new Map<string, Taken>();
  /** By namespace of Gateways. */
  readonly #outgrown = new Map<string, Outgrown>();

  /**
   * @param wanted What listeners show, by namespace of their Gateways.
   * @param full Namespaces that may add nothing, whatever the bounds.
   */
  constructor(
    bounds: CertificateBounds,
    published: Snapshot | null,
    wanted: ReadonlyMap<string, readonly Certificate[]>,
    full = NOT_FULL,
  ) {
    this.#bounds = bounds;
    this.#full = full;
    const before = publishedOnListeners(published);
    for (const [namespace, certificates] of wanted) {
      const own = before.get(namespace) ?? [];
      if (full.namespaces.has(namespace)) {
        this.#outgrown.set(namespace, outgrown(own, certificates, before.size));
      }
      const shown = new Set(own.map(({ origin }) => keyOf(origin)));
      const taken: Taken = { secrets: new Set(), bytes: 0 };
      for (const certificate of certificates) {
        const secret = keyOf(certificate.origin);
        if (shown.has(secret)) add(taken, certificate);
      }
      this.#taken.set(namespace, taken);
    }
  }

  /** Of one listener of a Gateway in the namespace: null where there is room for all, which are taken then. */
  take(namespace: string, certificates: readonly Certificate[]): Condition | null {
    const taken = this.#taken.get(namespace) ?? { secrets: new Set(), bytes: 0 };
    this.#taken.set(namespace, taken);
    const added = new Map(
      certificates.map((each) => [keyOf(each.origin), each] as const)
        .filter(([secret]) => !taken.secrets.has(secret)),
    );
    if (added.size > 0 && this.#full.namespaces.has(namespace)) {
      return falseCondition(
        "ResolvedRefs",
        "InvalidCertificateRef",
        `with it ${this.#full.excess}, so its new certificates are not shown. ` +
          `${this.#full.remedy}.`,
      );
    }
    const bytes = added.values().reduce((sum, each) => sum + sizeOf(each), taken.bytes);
    const { certificates: maxCount, hostBytes } = this.#bounds;
    const [over, flag] = taken.secrets.size + added.size > maxCount
      ? [`more than ${maxCount} certificates`, "--max-namespace-certificates"]
      : bytes > hostBytes
      ? [`certificates of more than ${hostBytes} bytes`, "--max-namespace-host-bytes"]
      : [null, ""];
    if (over !== null) {
      this.isFull = true;
      if (added.size > 0) {
        return falseCondition(
          "ResolvedRefs",
          "InvalidCertificateRef",
          `with it the listeners of namespace ${namespace} would show ${over}. Remove certificateRefs ` +
            `or listeners, or raise ${flag} of the controller.`,
        );
      }
    }
    for (const certificate of added.values()) add(taken, certificate);
    return null;
  }

  /** What was published of the same Secret and stays, as there is no room for the certificate; else null. */
  published(namespace: string, { origin }: Certificate): InlineCertificate | null {
    return this.#outgrown.get(namespace)?.get(keyOf(origin)) ?? null;
  }

  /** Of a listener with such a certificate. */
  heldCondition(): Condition {
    const { excess, remedy } = this.#full;
    return falseCondition(
      "ResolvedRefs",
      "InvalidCertificateRef",
      `its certificates are larger than the published ones, and with them ${excess}, so the published ones are ` +
        `shown. Write smaller certificates, or ${clauseOf(remedy)}.`,
    );
  }

  /** Of a listener that is refused: those that were published for its namespace. */
  kept(namespace: string, certificates: readonly Certificate[]): readonly Certificate[] {
    const secrets = this.#taken.get(namespace)?.secrets;
    return certificates.filter(({ origin }) => secrets?.has(keyOf(origin)) === true);
  }
}

/** Each Secret once. */
function add(taken: Taken, certificate: Certificate): void {
  const secret = keyOf(certificate.origin);
  if (taken.secrets.has(secret)) return;
  taken.secrets.add(secret);
  taken.bytes += sizeOf(certificate);
}

function sizeOf({ chain }: Certificate): number {
  return chain.kind === "pem" ? chain.pem.length : 0;
}
