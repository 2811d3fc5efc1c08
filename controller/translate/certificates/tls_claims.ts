/**
 * What TLS entries ask for. In: entries that are admitted, their Secrets, and what was published. Out:
 * which certificate each host gets, and the status of each entry, with its problems.
 */
import type { Certificate, Snapshot } from "../../../shared/snapshot/types.ts";
import { coversHost } from "./certificate.ts";
import {
  type CertificateSource,
  type CertificateSources,
  type InlineCertificate,
  PAIR_REMEDY,
} from "./certificate_source.ts";
import { showElder } from "../model/source_order.ts";
import { showSome } from "../../base/json.ts";
import { isSameList } from "../../base/memo.ts";
import { HOSTS_ANNOTATION } from "../hosts/namespace_facts.ts";
import type { ProblemList, Report } from "../../base/problems.ts";
import type { Ownership } from "../hosts/ownership.ts";
import { PublishedCertificates } from "./published_certificates.ts";
import type { TlsStatus } from "../model/status.ts";
import { reportNotAdmitted, TlsAdmission } from "./tls_admission.ts";
import type { Source, TlsHost, TlsModel } from "../model/source.ts";

/** How a host came out: with the Secret's certificate, with the one published before, or without. */
type Outcome = "served" | "kept" | "bare";

interface HostClaim {
  readonly owner: Source;
  readonly field: string;
  readonly source: CertificateSource;
  readonly outcome: Outcome;
  /** Of the one that is used; null where there is none. */
  readonly certificateId: string | null;
}

/** One entry as far as it counts. */
export interface AdmittedEntry {
  readonly source: CertificateSource;
  /** In the order of the entry. */
  readonly hosts: readonly TlsHost[];
  /** Hosts below a wildcard of the entry; entries that list them come first. */
  readonly below: readonly (TlsHost & { readonly use: WildcardUse })[];
  /** Wildcards that an entry before has with the same certificate. */
  readonly repeated: readonly { readonly pattern: string; readonly use: WildcardUse }[];
  /** Wildcards that `MAX_USES` other certificates are for. */
  readonly crowded: readonly TlsHost[];
  readonly isRefused: boolean;
  /** What it came to, once it is added. */
  claimed: Claimed | null;
}

const NONE: readonly never[] = [];

/** Hosts, or a wildcard in place of them, by how they came out. */
class Claimed implements Readonly<Record<Outcome | "taken", readonly string[]>> {
  /** Most entries have hosts of one outcome. */
  readonly #hosts: Partial<Record<Outcome | "taken", string[]>> = {};

  add(outcome: Outcome | "taken", host: string): void {
    (this.#hosts[outcome] ??= []).push(host);
  }

  get served(): readonly string[] {
    return this.#hosts.served ?? NONE;
  }

  get kept(): readonly string[] {
    return this.#hosts.kept ?? NONE;
  }

  get bare(): readonly string[] {
    return this.#hosts.bare ?? NONE;
  }

  get taken(): readonly string[] {
    return this.#hosts.taken ?? NONE;
  }

  /** Those with a certificate, sorted. */
  get names(): readonly string[] {
    const { served, kept } = this;
    return sorted(kept.length === 0 ? served : [...served, ...kept]);
  }
}

/** One certificate for the hosts of a namespace below a wildcard. */
interface WildcardUse {
  readonly source: CertificateSource;
  /** Of those hosts, once the first entry with it is added. */
  readonly outcomes: Set<Outcome | "taken">;
}

/**
 * Certificates of one namespace for the hosts below one wildcard: for each all of these are looked
 * at, and there may be thousands. From the second on it is a mistake.
 */
const MAX_USES = 8;

const ALL_OWN = { below: NONE, repeated: NONE, crowded: NONE, isRefused: false } as const;

export class TlsClaims {
  #sources: CertificateSources;
  #published: PublishedCertificates;
  #ownership: Ownership;
  #problems: ProblemList;
  #claims = new Map<string, HostClaim>();
  /** By id. */
  #used = new Map<string, UsedCertificate>();
  readonly #admitted: AdmittedEntry[] = [];
  /** Hosts that entries list; null until it matters. */
  #listed: ReadonlySet<string> | null = null;
  /** Hosts that have an entry whose certificate names them; null until it matters. */
  #named: ReadonlySet<string> | null = null;
  /** By namespace and wildcard. */
  #uses = new Map<string, WildcardUse[]>();
  /** The first entry without hosts, by the label of its Secret: all others count for the same. */
  #withoutHosts = new Map<string, AdmittedEntry>();

  constructor(
    sources: CertificateSources,
    published: Snapshot | null,
    ownership: Ownership,
    problems: ProblemList,
  ) {
    this.#sources = sources;
    this.#published = new PublishedCertificates(published);
    this.#ownership = ownership;
    this.#problems = problems;
  }

  /** To be called with every entry before the first is added; null for one without a Secret. */
  admit(ingress: Source, entry: TlsModel, admission: TlsAdmission): AdmittedEntry | null {
    const { field, secret } = entry;
    if (secret === null) return null;
    const source = this.#sources.find(secret);
    const { ref } = ingress.identity;
    const before = entry.hosts === null ? this.#withoutHosts.get(source.label) : undefined;
    if (before !== undefined && this.#namesOf(source).length > 1) return before;
    const listed = entry.hosts ?? this.#namesOf(source).map((host) => ({ field, host }));
    const isOwn = (one: TlsHost) => admission.admit(one.host, ref.namespace).kind === "own";
    if (listed.length > 0 && listed.every(isOwn)) {
      return this.#keep({ ...ALL_OWN, source, hosts: listed, claimed: null }, entry);
    }
    const hosts: TlsHost[] = [];
    const below: (TlsHost & { readonly use: WildcardUse })[] = [];
    const repeated: { readonly pattern: string; readonly use: WildcardUse }[] = [];
    const crowded: TlsHost[] = [];
    let isRefused = false;
    for (const one of listed) {
      const admitted = admission.admit(one.host, ref.namespace);
      if (admitted.kind === "own") hosts.push(one);
      else if (admitted.kind === "below") {
        const { use, isFirst } = this.#use(`${ref.namespace} ${one.host}`, source);
        if (use === null) crowded.push(one);
        else if (!isFirst) repeated.push({ pattern: one.host, use });
        else for (const host of admitted.hosts) below.push({ field: one.field, host, use });
      } else if (entry.hosts !== null || listed.length === 1) {
        isRefused ||= admitted.kind === "refused";
        reportNotAdmitted(this.#problems.about(ref), one, admitted);
      }
    }
    isRefused ||= hosts.length + below.length + repeated.length + crowded.length === 0;
    return this.#keep(
      { source, hosts, below, repeated, crowded, isRefused, claimed: null },
      entry,
    );
  }

  #keep(made: AdmittedEntry, { hosts }: TlsModel): AdmittedEntry {
    this.#admitted.push(made);
    if (hosts === null) this.#withoutHosts.set(made.source.label, made);
    return made;
  }

  #isListed(host: string): boolean {
    this.#listed ??= new Set(
      this.#admitted.flatMap(({ hosts }) => hosts.map(({ host }) => host)),
    );
    return this.#listed.has(host);
  }

  #isNamed(host: string): boolean {
    this.#named ??= this.#namedHosts();
    return this.#named.has(host);
  }

  #namedHosts(): ReadonlySet<string> {
    const named = new Set<string>();
    for (const { source, hosts, below } of this.#admitted) {
      if (source.kind !== "usable") continue;
      for (const { host } of hosts) if (coversHost(source.nameSet, host)) named.add(host);
      for (const { host } of below) if (coversHost(source.nameSet, host)) named.add(host);
    }
    return named;
  }

  /** What a certificate is for hosts below a wildcard; null where there are too many before it. */
  #use(key: string, source: CertificateSource): { use: WildcardUse | null; isFirst: boolean } {
    let uses = this.#uses.get(key);
    if (uses === undefined) this.#uses.set(key, uses = []);
    const known = uses.find((one) => isSame(one.source, source));
    if (known !== undefined) return { use: known, isFirst: false };
    if (uses.length === MAX_USES) return { use: null, isFirst: false };
    const use: WildcardUse = { source, outcomes: new Set() };
    uses.push(use);
    return { use, isFirst: true };
  }

  add(ingress: Source, entry: TlsModel, admitted: AdmittedEntry | null): TlsStatus {
    if (admitted === null) return entry.status.of([], "none");
    const { source, hosts, isRefused } = admitted;
    const isAgain = admitted.claimed !== null;
    const claimed = admitted.claimed ??= this.#claimAll(ingress, admitted);
    const { served, kept, bare, taken } = claimed;
    if (isAgain && taken.length > 0) this.#reportAgain(ingress, entry, taken);
    if (
      hosts.length > 0 && hosts.length === entry.hosts?.length && served.length === hosts.length
    ) {
      return entry.status.served(entry.hosts, () => claimed.names);
    }
    const lacksNames = entry.hosts === null && this.#namesOf(source).length === 0;
    if (source.kind !== "usable" || lacksNames || entry.hosts?.length === 0) {
      reportSource(this.#problems.about(ingress.identity.ref), entry, source, kept, bare);
    }
    const isListed = entry.hosts === null ? !lacksNames : entry.hosts.length > 0;
    return entry.status.of(
      claimed.names,
      !isListed || bare.length > 0
        ? "failing"
        : kept.length > 0
        ? "kept"
        : taken.length > 0
        ? "taken"
        // All its hosts may be listed by other entries, which is no mistake.
        : isRefused && admitted.below.length === 0
        ? "refused"
        : "served",
    );
  }

  #claimAll(
    ingress: Source,
    { source, hosts, below, repeated, crowded }: AdmittedEntry,
  ): Claimed {
    const claimed = new Claimed();
    for (const one of hosts) claimed.add(this.#claim(ingress, one, source), one.host);
    for (const { field, host, use } of below) {
      if (this.#isListed(host)) continue;
      const outcome = this.#claim(ingress, { field, host }, source);
      use.outcomes.add(outcome);
      claimed.add(outcome, host);
    }
    for (const { pattern, use } of repeated) {
      for (const outcome of use.outcomes) claimed.add(outcome, pattern);
    }
    for (const { field, host } of crowded) {
      claimed.add("taken", host);
      this.#problems.about(ingress.identity.ref).error(field, {
        reason: "TlsHostConflict",
        message: `entries before this one name ${MAX_USES} other certificates for hosts below ` +
          `${host}, so this one is not used for them`,
        remedy: "Reference the same Secret in all of them, or list the hosts",
      });
    }
    return claimed;
  }

  /** An entry without hosts whose names others have, as those of the same Secret before it. */
  #reportAgain(ingress: Source, { field }: TlsModel, [host]: readonly string[]): void {
    const other = this.#claims.get(host);
    if (other === undefined) return;
    reportTaken(this.#problems.about(ingress.identity.ref), ingress, field, host, other);
  }

  certificates(served: ServedCertificates): Certificate[] {
    return [...this.#used.values()].map((used) => served.of(used));
  }

  /** Hosts to which plain HTTP is not redirected although a certificate names them; sorted. */
  plainHosts(admission: TlsAdmission): readonly string[] {
    const hosts = new Set<string>();
    for (const [pattern, claim] of this.#claims) {
      if (!pattern.startsWith("*.")) continue;
      for (const host of this.#foreignBelow(pattern, claim, admission)) hosts.add(host);
    }
    return [...hosts].sort();
  }

  /** Whoever owns a wildcard does not decide that hosts of others below it are HTTPS only. */
  #foreignBelow(pattern: string, claim: HostClaim, admission: TlsAdmission): readonly string[] {
    const { owner: { identity: { ref } }, field, certificateId } = claim;
    const { mode, assigned } = this.#ownership;
    if (certificateId === null || mode === "shared") return [];
    if (assigned.get(pattern)?.namespace === ref.namespace) return [];
    const foreign = admission.exactBelow(pattern).filter((host) =>
      !this.#claims.has(host) && this.#ownership.standing(host, ref.namespace) !== "owner"
    );
    if (foreign.length === 0) return foreign;
    this.#problems.about(ref).warning(field, {
      reason: "RedirectSkipped",
      message: `other namespaces own hosts below ${pattern}, so plain HTTP to them is not ` +
        `redirected to HTTPS: ${showSome(foreign.toSorted())}`,
      remedy: `No action required; to redirect them, annotate Namespace ${ref.namespace} with ` +
        `${HOSTS_ANNOTATION}: "${pattern}"`,
    });
    return foreign;
  }

  /** The hosts of an entry that lists none. */
  #namesOf(source: CertificateSource): readonly string[] {
    return source.kind === "usable" ? source.names : this.#published.hostsOf(source);
  }

  #claim(
    ingress: Source,
    { field, host }: TlsHost,
    source: CertificateSource,
  ): Outcome | "taken" {
    const other = this.#claims.get(host);
    if (other !== undefined) {
      if (isSame(other.source, source)) return other.outcome;
      reportTaken(this.#problems.about(ingress.identity.ref), ingress, field, host, other);
      return "taken";
    }
    const isNamed = source.kind !== "usable" || coversHost(source.nameSet, host);
    const yields = !isNamed && this.#isNamed(host);
    if (source.kind === "usable" && !isNamed) {
      this.#problems.about(ingress.identity.ref).warning(field, {
        reason: "CertificateHostMismatch",
        message: `the certificate of Secret ${source.secret.name} does not name ${host}, so ` +
          (yields
            ? "that of another TLS entry, which does, is used"
            : "clients refuse it, and it causes no redirect of plain HTTP to HTTPS"),
        remedy: source.names.length === 0
          ? "Use a certificate for this host"
          : `Use a certificate for this host; that one is for ${showSome(source.names)}`,
      });
    }
    if (yields) return "taken";
    const { outcome, certificateId } = this.#serve(host, source, isNamed);
    this.#claims.set(host, { owner: ingress, field, source, outcome, certificateId });
    return outcome;
  }

  #serve(
    host: string,
    source: CertificateSource,
    isNamed: boolean,
  ): Pick<HostClaim, "outcome" | "certificateId"> {
    const kept = source.kind === "usable" ? null : this.#published.find(host, source.secret);
    const certificate = source.kind === "usable" ? source.certificate : kept;
    if (certificate === null) return { outcome: "bare", certificateId: null };
    let used = this.#used.get(certificate.id);
    if (used === undefined) {
      used = { certificate, hosts: [], plain: [] };
      this.#used.set(certificate.id, used);
    }
    used.hosts.push(host);
    if (!isNamed || (kept !== null && this.#published.isPlain(kept, host))) used.plain.push(host);
    return { outcome: kept === null ? "served" : "kept", certificateId: certificate.id };
  }
}

interface UsedCertificate {
  readonly certificate: Omit<InlineCertificate, "hosts" | "plain">;
  /** Each once, in the order in which they were claimed. */
  readonly hosts: string[];
  /** See `Certificate.plain`. */
  readonly plain: string[];
}

/** Certificates as they stand in a snapshot. */
export class ServedCertificates {
  /** What was last made of a Secret's certificate. */
  readonly #known = new WeakMap<
    UsedCertificate["certificate"],
    Pick<UsedCertificate, "hosts" | "plain"> & { readonly certificate: Certificate }
  >();

  /** The very same as before where it is used for the same hosts. */
  of({ certificate: used, hosts, plain }: UsedCertificate): Certificate {
    const last = this.#known.get(used);
    if (last !== undefined && isSameList(last.hosts, hosts) && isSameList(last.plain, plain)) {
      return last.certificate;
    }
    const { id, chain, key, origin } = used;
    const certificate = {
      id,
      hosts: sorted(hosts),
      ...(plain.length === 0 ? {} : { plain: sorted(plain) }),
      chain,
      key,
      origin,
    };
    this.#known.set(used, { hosts, plain, certificate });
    return certificate;
  }
}

/** Without repetition. */
function sorted(hosts: readonly string[]): readonly string[] {
  return hosts.length === 1 ? hosts : [...new Set(hosts)].sort();
}

/** Whether two entries mean the same certificate: by the same Secret, or by copies of one. */
function isSame(a: CertificateSource, b: CertificateSource): boolean {
  return a.label === b.label ||
    (a.kind === "usable" && b.kind === "usable" && a.fingerprint === b.fingerprint);
}

function reportTaken(
  report: Report,
  ingress: Source,
  field: string,
  host: string,
  other: HostClaim,
): void {
  const whose = other.owner === ingress
    ? "an entry before this one"
    : showElder(other.owner, ingress);
  report.error(field, {
    reason: "TlsHostConflict",
    message: `the certificate of ${host} is chosen by ${whose}, so this one is not used for it`,
    remedy: "Reference the same Secret in both, or remove the host from one of the two",
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
    ...(kept.length > 0
      ? [`the certificate published before stays in use for ${showSome(kept)}`]
      : []),
    ...(bare.length > 0 ? [`there is no certificate for ${showSome(bare)}`] : []),
  ];
  const consequence = consequences.length > 0 ? consequences.join(", and ") : "it is not used";
  report.error(`${field}.secretName`, {
    reason: source.kind === "missing" ? "SecretNotFound" : "SecretInvalid",
    message: `${source.reason}, so ${consequence}`,
    remedy: source.kind === "missing"
      ? "Create the Secret, or write the name of one that exists in this namespace"
      : source.remedy ?? `Write into the Secret ${PAIR_REMEDY}`,
  });
}
