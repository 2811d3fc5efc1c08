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
import { formatObject } from "../../../shared/problem.ts";
import type { Certificate, HostSettings, Snapshot } from "../../../shared/snapshot/types.ts";
import type { CertificateSources, FoundSources } from "./certificate_source.ts";
import { isSameJson } from "../../base/json.ts";
import { keyOf } from "../../base/identity.ts";
import { carryOver, differenceOf, isSameList, LastResult, placesOf } from "../../base/memo.ts";
import {
  type ObjectProblem,
  type ProblemList,
  type Recorded,
  recordProblems,
} from "../../base/problems.ts";
import type { Ownership } from "../hosts/ownership.ts";
import { PlainHosts } from "./plain_hosts.ts";
import type { TlsStatus } from "../model/status.ts";
import { TlsAdmission } from "./tls_admission.ts";
import { TlsIndex } from "./tls_index.ts";
import { type AdmittedEntry, ServedCertificates, TlsClaims } from "./tls_claims.ts";
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
  /** Of the Ingresses of the last layout; null until something changes, and after a full one. */
  #index: TlsIndex | null = null;

  /** The very same as before where Ingresses, owners, Secrets and what counts of `published` are. */
  assign(
    ingresses: readonly Source[],
    sources: CertificateSources,
    published: Snapshot | null,
    ownership: Ownership,
    problems: ProblemList,
  ): TlsLayout {
    let layout = this.#assignChanges(ingresses, sources, published, ownership);
    if (layout === null) {
      this.#index = null;
      layout = this.#assignAll(ingresses, sources, published, ownership);
    }
    this.#last.keep({ ingresses, ownership, found: sources.found(), published }, layout);
    problems.addAll(layout.problems);
    reportNotes(ingresses, layout.value, sources, problems);
    return layout.value;
  }

  /** Null where more than the entries of a few Ingresses may come out otherwise. */
  #assignChanges(
    ingresses: readonly Source[],
    sources: CertificateSources,
    published: Snapshot | null,
    ownership: Ownership,
  ): Recorded<TlsLayout> | null {
    const { last } = this.#last;
    if (last === null) return null;
    const { found } = last.inputs;
    const changes = changesOf(last.inputs.ingresses, ingresses);
    const owned = changes === null ? null : ownership.changedSince(last.inputs.ownership);
    if (changes === null || owned === null) return null;
    const isSame = last.inputs.ingresses === ingresses && owned.length === 0;
    this.#index ??= isSame ? null : new TlsIndex(last.inputs.ingresses, namesIn(found));
    for (const source of changes.removed) this.#index?.remove(source);
    for (const source of changes.added) this.#index?.add(source);
    const changed = sources.changedSince(found, (key) => this.#index?.hasSecret(key) ?? true);
    const { gone, come } = changes;
    if (changed.length + owned.length + gone.length + come.length === 0) {
      if (last.inputs.published !== published && !areUsable(found)) return null;
      return last.inputs.ingresses === ingresses ? last.result : moved(last, ingresses, changes);
    }
    // While one cannot be used, its hosts keep certificates of others.
    if (!areUsable(found) || !areUsable(sources.found())) return null;
    this.#index ??= new TlsIndex(ingresses, namesIn(found));
    const group = this.#index.group(come, gone, changed, owned);
    if (group === null) return null;
    const own = placesOf(group.sources, ingresses).map(([, source]) => source);
    const admission = new TlsAdmission(ingresses, ownership);
    const built = recordProblems((list) =>
      addEntries(own, admission, new TlsClaims(sources, published, ownership, list), this.#served)
    );
    if (!areUsable(sources.found())) return null;
    const labels = new Set([...own, ...gone].map(({ identity }) => identity.label));
    const isGone = ({ object }: ObjectProblem) => labels.has(formatObject(object));
    const { value, problems } = moved(last, ingresses, changes);
    const statuses = [...value.statuses];
    for (const [j, [i]] of placesOf(group.sources, ingresses).entries()) {
      statuses[i] = built.value.statuses[j];
    }
    return {
      value: {
        certificates: replaceCertificates(
          value.certificates,
          built.value.certificates,
          group.secrets,
        ),
        hostSettings: value.hostSettings,
        statuses,
      },
      problems: [...problems.filter((one) => !isGone(one)), ...built.problems],
    };
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
      const added = addEntries(ingresses, admission, claims, this.#served);
      const statuses = added.statuses.map((each, i) => {
        const old = before?.inputs.ingresses[i] === ingresses[i]
          ? before.result.value.statuses[i]
          : each;
        return isSameList(old, each) ? old : each;
      });
      const hostSettings = this.#plainHosts.of(claims.plainHosts(admission));
      return { certificates: added.certificates, hostSettings, statuses };
    });
  }
}

/** How one list of Ingresses differs from another. */
interface Changes {
  readonly removed: readonly Source[];
  readonly added: readonly Source[];
  /** Of `added`, those in the place of one with the same TLS entries, each with that one. */
  readonly replaced: ReadonlyMap<Source, Source>;
  /** The other ones. */
  readonly gone: readonly Source[];
  readonly come: readonly Source[];
}

/** A cluster of few Ingresses may change as a whole. */
const FEW = 16;

/** Null where entries of all may be concerned, or too many changed. */
function changesOf(before: readonly Source[], now: readonly Source[]): Changes | null {
  const { removed, added } = differenceOf(before, now);
  if (removed.length + added.length > now.length / 8 + FEW) return null;
  const isPaired = removed.length === added.length;
  const replaced = new Map<Source, Source>();
  const gone: Source[] = [];
  for (const [i, source] of removed.entries()) {
    if (isPaired && isSameTls(source, added[i])) replaced.set(added[i], source);
    else gone.push(source);
  }
  const come = added.filter((source) => !replaced.has(source));
  if ([...gone, ...come].some(({ takesAnyHost }) => takesAnyHost)) return null;
  return { removed, added, replaced, gone, come };
}

/** A layout for other Ingresses; those that have come have no status yet. */
function moved(
  { inputs, result }: { readonly inputs: TlsInputs; readonly result: Recorded<TlsLayout> },
  ingresses: readonly Source[],
  { replaced, come }: Changes,
): Recorded<TlsLayout> {
  const { statuses } = result.value;
  const places = placesOf(new Set(replaced.values()), inputs.ingresses);
  const before = new Map(places.map(([i, source]) => [source, statuses[i]]));
  const found = new Map(come.map((source) => [source, NO_STATUS]));
  for (const [source, other] of replaced) found.set(source, before.get(other)!);
  return {
    value: {
      ...result.value,
      statuses: carryOver(inputs.ingresses, statuses, ingresses, found),
    },
    problems: result.problems,
  };
}

/** Names of the certificates that were found, by key of their Secret. */
function namesIn(found: FoundSources): (secret: string) => readonly string[] {
  return (secret) => {
    const source = found.get(secret);
    return source?.kind === "usable" ? source.names : [];
  };
}

interface AddedEntries {
  readonly certificates: readonly Certificate[];
  readonly statuses: readonly (readonly TlsStatus[])[];
}

/** Adds all entries of some Ingresses, in their order. */
function addEntries(
  ingresses: readonly Source[],
  admission: TlsAdmission,
  claims: TlsClaims,
  served: ServedCertificates,
): AddedEntries {
  const admitted: (AdmittedEntry | null)[] = [];
  for (const ingress of ingresses) {
    for (const entry of ingress.tls) admitted.push(claims.admit(ingress, entry, admission));
  }
  let next = 0;
  const statuses = ingresses.map((ingress) =>
    ingress.tls.length === 0
      ? NO_STATUS
      : ingress.tls.map((entry) => claims.add(ingress, entry, admitted[next++]))
  );
  return { certificates: claims.certificates(served), statuses };
}

/** Those of some Secrets replaced, each in its place. */
function replaceCertificates(
  before: readonly Certificate[],
  added: readonly Certificate[],
  secrets: ReadonlySet<string>,
): readonly Certificate[] {
  const coming = new Map(added.map((each) => [keyOf(each.origin), each]));
  const certificates: Certificate[] = [];
  for (const certificate of before) {
    const key = keyOf(certificate.origin);
    if (!secrets.has(key)) {
      certificates.push(certificate);
      continue;
    }
    const instead = coming.get(key);
    if (instead !== undefined) certificates.push(instead);
    coming.delete(key);
  }
  return [...certificates, ...coming.values()];
}

/** Not part of what is laid, which no clock may change. */
function reportNotes(
  ingresses: readonly Source[],
  { statuses }: TlsLayout,
  sources: CertificateSources,
  problems: ProblemList,
): void {
  const notes = sources.notes();
  if (notes.size === 0) return;
  for (const [i, { tls, identity }] of ingresses.entries()) {
    for (const [j, { field, secret }] of tls.entries()) {
      const own = secret === null ? undefined : notes.get(secret.key);
      if (own === undefined || statuses[i][j].hosts.length === 0) continue;
      for (const note of own) problems.about(identity.ref).warning(`${field}.secretName`, note);
    }
  }
}

/** Whether the same Ingress has the same TLS entries, whatever else differs. */
function isSameTls({ identity, takesAnyHost, tls }: Source, other: Source): boolean {
  return identity.label === other.identity.label &&
    identity.createdAt === other.identity.createdAt &&
    takesAnyHost === other.takesAnyHost && tls.length === other.tls.length &&
    tls.every(({ field, hosts, secret }, j) => {
      const entry = other.tls[j];
      return isSameJson([field, hosts, secret], [entry.field, entry.hosts, entry.secret]);
    });
}

/** Only where a Secret cannot be used does it matter what was published. */
function areUsable(sources: FoundSources): boolean {
  return sources.values().every(({ kind }) => kind === "usable");
}

const NO_STATUS: readonly TlsStatus[] = [];
