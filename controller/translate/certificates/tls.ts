/**
 * Certificates for hosts. In: the TLS entries of Ingresses, oldest first, the Secrets that they name,
 * and what was published last. Out: certificates with the hosts that each is used for, and what
 * became of each entry.
 *
 * A host's certificate is chosen by the first entry that counts for it (`tls_admission.ts`), those
 * whose certificate names the host before others. While that one's Secret cannot be used, the host
 * keeps the certificate that it was published with, so that half an update takes nobody down; but
 * only one that came from the same namespace, or another tenant's key could be had by asking for it.
 */
import type { Certificate, HostSettings, Snapshot } from "../../../shared/snapshot/types.ts";
import type { CertificateSources, FoundSources } from "./certificate_source.ts";
import { isSameJson } from "../../base/json.ts";
import { differenceOf, isSameList, LastResult } from "../../base/memo.ts";
import { type ProblemList, type Recorded, recordProblems } from "../../base/problems.ts";
import type { Ownership } from "../hosts/ownership.ts";
import { PlainHosts } from "./plain_hosts.ts";
import type { TlsStatus } from "../model/status.ts";
import { TlsAdmission } from "./tls_admission.ts";
import { ServedCertificates, TlsClaims } from "./tls_claims.ts";
import type { Source } from "../model/source.ts";

export interface TlsLayout {
  /** In no order. */
  readonly certificates: readonly Certificate[];
  /** Sorted by id. */
  readonly hostSettings: readonly HostSettings[];
  /** Of each Ingress, in the order given. */
  readonly statuses: readonly (readonly TlsStatus[])[];
}

interface TlsInputs {
  readonly ingresses: readonly Source[];
  readonly ownership: Ownership;
  readonly found: FoundSources;
  readonly published: Snapshot | null;
}

export class CertificateAssigner {
  readonly #last = new LastResult<TlsInputs, Recorded<TlsLayout>>();
  readonly #served = new ServedCertificates();
  readonly #plainHosts = new PlainHosts();

  /** The very same as before where Ingresses, owners, Secrets and what counts of `published` are. */
  assign(
    ingresses: readonly Source[],
    sources: CertificateSources,
    published: Snapshot | null,
    ownership: Ownership,
    problems: ProblemList,
  ): TlsLayout {
    const layout =
      this.#last.recall((before) =>
        before.ownership === ownership && isSameTls(before.ingresses, ingresses) &&
        sources.findsAgain(before.found) &&
        (before.published === published || areUsable(before.found))
      ) ?? this.#assignAll(ingresses, sources, published, ownership);
    this.#last.keep({ ingresses, ownership, found: sources.found(), published }, layout);
    problems.addAll(layout.problems);
    reportUntimely(ingresses, layout.value, sources, problems);
    return layout.value;
  }

  #assignAll(
    ingresses: readonly Source[],
    sources: CertificateSources,
    published: Snapshot | null,
    ownership: Ownership,
  ): Recorded<TlsLayout> {
    const before = this.#last.last;
    return recordProblems((list) => {
      const admission = new TlsAdmission(ingresses, ownership);
      const claims = new TlsClaims(sources, published, ownership, list);
      const admitted = ingresses.map((ingress) =>
        ingress.tls.map((entry) => claims.admit(ingress, entry, admission))
      );
      const statuses = ingresses.map((ingress, i) => {
        if (ingress.tls.length === 0) return NO_STATUS;
        const each = ingress.tls.map((entry, j) => claims.add(ingress, entry, admitted[i][j]));
        const old = before?.inputs.ingresses[i] === ingress
          ? before.result.value.statuses[i]
          : each;
        return isSameList(old, each) ? old : each;
      });
      return {
        certificates: claims.certificates(this.#served),
        hostSettings: this.#plainHosts.of(claims.plainHosts(admission)),
        statuses,
      };
    });
  }
}

/** Not part of what is laid, which no clock may change. */
function reportUntimely(
  ingresses: readonly Source[],
  { statuses }: TlsLayout,
  sources: CertificateSources,
  problems: ProblemList,
): void {
  const untimely = sources.untimely();
  if (untimely.size === 0) return;
  for (const [i, { tls, identity }] of ingresses.entries()) {
    for (const [j, { field, secret }] of tls.entries()) {
      const text = secret === null ? undefined : untimely.get(secret.key);
      if (text === undefined || statuses[i][j].hosts.length === 0) continue;
      problems.about(identity.ref).warning(`${field}.secretName`, text);
    }
  }
}

/** Whether the same Ingresses in the same order have the same TLS entries, whatever else differs. */
function isSameTls(before: readonly Source[], now: readonly Source[]): boolean {
  if (before === now) return true;
  if (before.length !== now.length) return false;
  const { removed, added } = differenceOf(before, now);
  return removed.every(({ identity, takesAnyHost, tls }, i) => {
    const other = added[i];
    return identity.label === other.identity.label &&
      identity.createdAt === other.identity.createdAt &&
      takesAnyHost === other.takesAnyHost && tls.length === other.tls.length &&
      tls.every(({ field, hosts, secret }, j) => {
        const entry = other.tls[j];
        return isSameJson([field, hosts, secret], [entry.field, entry.hosts, entry.secret]);
      });
  });
}

/** Only where a Secret cannot be used does it matter what was published. */
function areUsable(sources: FoundSources): boolean {
  return sources.values().every(({ kind }) => kind === "usable");
}

const NO_STATUS: readonly TlsStatus[] = [];
