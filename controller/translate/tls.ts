/**
 * Certificates for hosts. In: the TLS entries of Ingresses, oldest first, the Secrets that they name,
 * and what was published last. Out: certificates with the hosts that each is used for, and what
 * became of each entry.
 *
 * A host belongs to the first entry that names it. While that one's Secret cannot be used, the host
 * keeps the certificate that it was published with, so that half an update takes nobody down; but
 * only one that came from the same namespace, or another tenant's key could be had by asking for it.
 */
import type { Certificate, Snapshot } from "../../shared/snapshot.ts";
import { coversHost } from "./certificate.ts";
import {
  type CertificateSource,
  type CertificateSources,
  type FoundSources,
  type InlineCertificate,
  PAIR_REMEDY,
} from "./certificate_source.ts";
import { showElder } from "./identity.ts";
import type { IngressModel, TlsHost, TlsModel } from "./ingress.ts";
import { isSameJson, showSome } from "./json.ts";
import { differenceOf, isSameList, LastResult } from "./memo.ts";
import { type ProblemList, type Recorded, recordProblems, type Report } from "./problems.ts";
import type { TlsStatus } from "./status.ts";

export interface TlsLayout {
  /** Sorted by id. */
  /** In no order. */
  readonly certificates: readonly Certificate[];
  /** Of each Ingress, in the order given. */
  readonly statuses: readonly (readonly TlsStatus[])[];
}

interface TlsInputs {
  readonly ingresses: readonly IngressModel[];
  readonly found: FoundSources;
  readonly published: Snapshot | null;
}

const lastLayout = new LastResult<TlsInputs, Recorded<TlsLayout>>();

/** The very same as before where Ingresses, their Secrets and what counts of `published` are. */
export function layCertificates(
  ingresses: readonly IngressModel[],
  sources: CertificateSources,
  published: Snapshot | null,
  problems: ProblemList,
): TlsLayout {
  let layout: Recorded<TlsLayout> | null = lastLayout.recall((before) =>
    isSameTls(before.ingresses, ingresses) && sources.findsAgain(before.found) &&
    (before.published === published || areUsable(before.found))
  );
  const before = lastLayout.last;
  layout ??= recordProblems((list) => {
    const claims = new TlsClaims(sources, published, list);
    const statuses = ingresses.map((ingress, i) => {
      if (ingress.tls.length === 0) return NO_STATUS;
      const each = ingress.tls.map((entry) => claims.add(ingress, entry));
      const old = before?.inputs.ingresses[i] === ingress ? before.result.value.statuses[i] : each;
      return isSameList(old, each) ? old : each;
    });
    return { certificates: claims.certificates(), statuses };
  });
  lastLayout.keep({ ingresses, found: sources.found(), published }, layout);
  problems.addAll(layout.problems);
  reportUntimely(ingresses, layout.value, sources, problems);
  return layout.value;
}

/** Not part of what is laid, which no clock may change. */
function reportUntimely(
  ingresses: readonly IngressModel[],
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
function isSameTls(before: readonly IngressModel[], now: readonly IngressModel[]): boolean {
  if (before === now) return true;
  if (before.length !== now.length) return false;
  const { removed, added } = differenceOf(before, now);
  return removed.every(({ identity, tls }, i) => {
    const other = added[i];
    return identity.label === other.identity.label &&
      identity.createdAt === other.identity.createdAt && tls.length === other.tls.length &&
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

/** How a host came out: with the Secret's certificate, with the one published before, or without. */
type Outcome = "served" | "kept" | "bare";

interface HostClaim {
  readonly owner: IngressModel;
  readonly source: CertificateSource;
  readonly outcome: Outcome;
}

class TlsClaims {
  #sources: CertificateSources;
  #published: PublishedCertificates;
  #problems: ProblemList;
  #claims = new Map<string, HostClaim>();
  /** By id. */
  #used = new Map<string, UsedCertificate>();

  constructor(
    sources: CertificateSources,
    published: Snapshot | null,
    problems: ProblemList,
  ) {
    this.#sources = sources;
    this.#published = new PublishedCertificates(published);
    this.#problems = problems;
  }

  add(ingress: IngressModel, entry: TlsModel): TlsStatus {
    const { field, secret } = entry;
    if (secret === null) return entry.status.of([], "none");
    const source = this.#sources.find(secret);
    const names = entry.hosts === null ? this.#namesOf(source) : [];
    const hosts = entry.hosts ?? names.map((host) => ({ field, host }));
    const outcomes: (Outcome | "taken")[] = [];
    let allServed = hosts.length > 0;
    for (const host of hosts) {
      const outcome = this.#claim(ingress, host, source);
      outcomes.push(outcome);
      if (outcome !== "served") allServed = false;
    }
    if (allServed) {
      return entry.status.served(
        entry.hosts ?? names,
        () => sorted(hosts.map(({ host }) => host)),
      );
    }
    const withOutcome = (outcome: Outcome | "taken") =>
      hosts.flatMap(({ host }, i) => outcomes[i] === outcome ? host : []);
    if (source.kind !== "usable" || hosts.length === 0) {
      const report = this.#problems.about(ingress.identity.ref);
      reportSource(report, entry, source, withOutcome("kept"), withOutcome("bare"));
    }
    return entry.status.of(
      sorted([...withOutcome("served"), ...withOutcome("kept")]),
      hosts.length === 0 || outcomes.includes("bare")
        ? "failing"
        : outcomes.includes("kept")
        ? "kept"
        : outcomes.includes("taken")
        ? "taken"
        : "served",
    );
  }

  certificates(): Certificate[] {
    return [...this.#used.values()].map(madeCertificate);
  }

  /** The hosts of an entry that lists none. */
  #namesOf(source: CertificateSource): readonly string[] {
    return source.kind === "usable" ? source.names : this.#published.hostsOf(source);
  }

  #claim(
    ingress: IngressModel,
    { field, host }: TlsHost,
    source: CertificateSource,
  ): Outcome | "taken" {
    const other = this.#claims.get(host);
    if (other !== undefined) {
      if (isSame(other.source, source)) return other.outcome;
      reportTaken(this.#problems.about(ingress.identity.ref), ingress, field, host, other);
      return "taken";
    }
    const outcome = this.#serve(host, source);
    this.#claims.set(host, { owner: ingress, source, outcome });
    if (source.kind === "usable" && !coversHost(source.nameSet, host)) {
      this.#problems.about(ingress.identity.ref).warning(field, {
        reason: "CertificateWithoutHost",
        message: `the certificate of Secret ${source.secret.name} does not name ${host}, so ` +
          "clients refuse it",
        remedy: source.names.length === 0
          ? "Use a certificate for this host"
          : `Use a certificate for this host; that one is for ${showSome(source.names)}`,
      });
    }
    return outcome;
  }

  #serve(host: string, source: CertificateSource): Outcome {
    const certificate = source.kind === "usable"
      ? source.certificate
      : this.#published.find(host, source.secret.namespace);
    if (certificate === null) return "bare";
    const used = this.#used.get(certificate.id);
    if (used !== undefined) used.hosts.push(host);
    else this.#used.set(certificate.id, { certificate, hosts: [host] });
    return source.kind === "usable" ? "served" : "kept";
  }
}

interface UsedCertificate {
  readonly certificate: Omit<InlineCertificate, "hosts">;
  /** Each once, in the order in which they were claimed. */
  readonly hosts: string[];
}

/** What was last made of a Secret's certificate. */
const made = new WeakMap<
  UsedCertificate["certificate"],
  { readonly hosts: readonly string[]; readonly certificate: Certificate }
>();

/** The very same as before where it is used for the same hosts. */
function madeCertificate({ certificate: used, hosts }: UsedCertificate): Certificate {
  const last = made.get(used);
  if (last !== undefined && isSameList(last.hosts, hosts)) return last.certificate;
  const { id, chain, key, origin } = used;
  const certificate = { id, hosts: sorted(hosts), chain, key, origin };
  made.set(used, { hosts, certificate });
  return certificate;
}

/** Without repetition. */
function sorted(hosts: readonly string[]): readonly string[] {
  return hosts.length === 1 ? hosts : [...new Set(hosts)].sort();
}

/**
 * The certificates of the snapshot before, for hosts whose Secret cannot be used; looked into only
 * where there is such a one.
 */
class PublishedCertificates {
  readonly #published: Snapshot | null;
  /** By namespace and host, and by namespace and name of the Secret. */
  #index: {
    readonly byHost: ReadonlyMap<string, InlineCertificate>;
    readonly bySecret: ReadonlyMap<string, readonly InlineCertificate[]>;
  } | null = null;

  constructor(published: Snapshot | null) {
    this.#published = published;
  }

  find(host: string, namespace: string): InlineCertificate | null {
    return this.#indexed().byHost.get(`${namespace} ${host}`) ?? null;
  }

  /** The hosts that a Secret's certificate was used for, sorted. */
  hostsOf({ secret: { namespace, name } }: CertificateSource): readonly string[] {
    const certificates = this.#indexed().bySecret.get(`${namespace} ${name}`) ?? [];
    return certificates.flatMap(({ hosts }) => hosts).sort();
  }

  #indexed() {
    if (this.#index !== null) return this.#index;
    const inline = (this.#published?.certificates ?? []).filter(isInline);
    const byHost = new Map(
      inline.flatMap((certificate) =>
        certificate.hosts.map((host) =>
          [`${certificate.origin.namespace} ${host}`, certificate] as const
        )
      ),
    );
    const bySecret = Map.groupBy(
      inline,
      ({ origin: { namespace, name } }) => `${namespace} ${name}`,
    );
    return this.#index = { byHost, bySecret };
  }
}

function isInline(certificate: Certificate): certificate is InlineCertificate {
  return certificate.chain.kind === "pem" && certificate.key.kind === "secret";
}

/** Whether two entries mean the same certificate: by the same Secret, or by copies of one. */
function isSame(a: CertificateSource, b: CertificateSource): boolean {
  return a.label === b.label ||
    (a.kind === "usable" && b.kind === "usable" && a.fingerprint === b.fingerprint);
}

function reportTaken(
  report: Report,
  ingress: IngressModel,
  field: string,
  host: string,
  other: HostClaim,
): void {
  const whose = other.owner === ingress
    ? "an entry before this one"
    : showElder(other.owner.identity, ingress.identity);
  report.error(field, {
    reason: "TlsHostTaken",
    message: `the certificate of ${host} is chosen by ${whose}, so this one is not used for it`,
    remedy: "Let both name the same Secret, or take the host out of one of the two",
  });
}

/** Says what follows for the Ingress from a Secret that cannot be used. */
function reportSource(
  report: Report,
  { field, hosts }: TlsModel,
  source: CertificateSource,
  kept: readonly string[],
  bare: readonly string[],
): void {
  if (source.kind === "usable") {
    if (hosts !== null || source.names.length > 0) return;
    report.error(`${field}.hosts`, {
      reason: "TlsHostsMissing",
      message: "the entry lists no hosts, and the certificate names none, so it is not used",
      remedy: "List the hosts",
    });
    return;
  }
  // A name that cannot be read has its problem already.
  if (source.secret.name === "") return;
  const consequences = [
    ...(kept.length > 0 ? [`the certificate published before stays for ${showSome(kept)}`] : []),
    ...(bare.length > 0 ? [`there is no certificate for ${showSome(bare)}`] : []),
  ];
  const consequence = consequences.length > 0 ? consequences.join(", and ") : "it is not used";
  report.error(`${field}.secretName`, {
    reason: source.kind === "missing" ? "SecretNotFound" : "SecretUnusable",
    message: `${source.reason}, so ${consequence}`,
    remedy: source.kind === "missing"
      ? "Create the Secret, or write the name of one that exists in this namespace"
      : `Write into the Secret ${PAIR_REMEDY}`,
  });
}
