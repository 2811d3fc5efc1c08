/**
 * Certificates for hosts. In: the TLS entries of Ingresses, oldest first, the Secrets that they name,
 * and what was published last. Out: certificates with the hosts that each is used for, and what
 * became of each entry.
 *
 * A host belongs to the first entry that names it. While that one's Secret cannot be used, the host
 * keeps the certificate that it was published with, so that half an update takes nobody down; but
 * only one that came from the same namespace, or another tenant's key could be had by asking for it.
 */
import { formatObject } from "../../shared/problem.ts";
import type { Certificate, Snapshot } from "../../shared/snapshot.ts";
import { coversHost } from "./certificate.ts";
import type {
  CertificateSource,
  CertificateSources,
  InlineCertificate,
} from "./certificate_source.ts";
import { compareText, showElder } from "./identity.ts";
import { showSome } from "./json.ts";
import type { IngressModel, TlsHost, TlsModel } from "./ingress.ts";
import type { TlsStatus } from "./status.ts";

export interface TlsLayout {
  /** Sorted by id. */
  readonly certificates: readonly Certificate[];
  readonly statuses: ReadonlyMap<IngressModel, readonly TlsStatus[]>;
}

export function layCertificates(
  ingresses: readonly IngressModel[],
  sources: CertificateSources,
  published: Snapshot | null,
): TlsLayout {
  const claims = new TlsClaims(sources, published);
  const statuses = new Map(
    ingresses.map((ingress) => [ingress, ingress.tls.map((entry) => claims.add(ingress, entry))]),
  );
  return { certificates: claims.certificates(), statuses };
}

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
  #claims = new Map<string, HostClaim>();
  /** By id. */
  #used = new Map<string, UsedCertificate>();

  constructor(sources: CertificateSources, published: Snapshot | null) {
    this.#sources = sources;
    this.#published = new PublishedCertificates(published);
  }

  add(ingress: IngressModel, entry: TlsModel): TlsStatus {
    const { field, secretName } = entry;
    if (secretName === null) return { field, hosts: [], outcome: "none" };
    const source = this.#sources.find(ingress.identity.ref.namespace, secretName);
    const hosts = entry.hosts ?? this.#namesOf(source).map((host) => ({ field, host }));
    const results = hosts.map((host) => ({
      host: host.host,
      outcome: this.#claim(ingress, host, source),
    }));
    const withOutcome = (outcome: Outcome | "taken") =>
      results.filter((result) => result.outcome === outcome).map(({ host }) => host);
    reportSource(ingress, entry, source, withOutcome("kept"), withOutcome("bare"));
    return {
      field,
      hosts: [...new Set([...withOutcome("served"), ...withOutcome("kept")])].sort(),
      outcome: results.length === 0 || withOutcome("bare").length > 0
        ? "failing"
        : withOutcome("kept").length > 0
        ? "kept"
        : withOutcome("taken").length > 0
        ? "taken"
        : "served",
    };
  }

  certificates(): Certificate[] {
    return [...this.#used.values()]
      .map(({ certificate, hosts }) => ({
        id: certificate.id,
        hosts: [...hosts].sort(),
        chain: certificate.chain,
        key: certificate.key,
        origin: certificate.origin,
      }))
      .sort((a, b) => compareText(a.id, b.id));
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
      reportTaken(ingress, field, host, other);
      return "taken";
    }
    const outcome = this.#serve(host, source);
    this.#claims.set(host, { owner: ingress, source, outcome });
    if (source.kind === "usable" && !coversHost(source.names, host)) {
      ingress.report.warning(field, {
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
    if (used !== undefined) used.hosts.add(host);
    else this.#used.set(certificate.id, { certificate, hosts: new Set([host]) });
    return source.kind === "usable" ? "served" : "kept";
  }
}

interface UsedCertificate {
  readonly certificate: Omit<InlineCertificate, "hosts">;
  readonly hosts: Set<string>;
}

/** The certificates of the snapshot before, for hosts whose Secret cannot be used. */
class PublishedCertificates {
  /** By namespace and host. */
  #byHost = new Map<string, InlineCertificate>();
  /** By namespace and name of the Secret. */
  #bySecret = new Map<string, InlineCertificate[]>();

  constructor(published: Snapshot | null) {
    for (const certificate of published?.certificates ?? []) {
      if (!isInline(certificate)) continue;
      const { namespace, name } = certificate.origin;
      for (const host of certificate.hosts) this.#byHost.set(`${namespace} ${host}`, certificate);
      const ofSecret = this.#bySecret.get(`${namespace} ${name}`);
      if (ofSecret === undefined) this.#bySecret.set(`${namespace} ${name}`, [certificate]);
      else ofSecret.push(certificate);
    }
  }

  find(host: string, namespace: string): InlineCertificate | null {
    return this.#byHost.get(`${namespace} ${host}`) ?? null;
  }

  /** The hosts that a Secret's certificate was used for, sorted. */
  hostsOf({ secret: { namespace, name } }: CertificateSource): readonly string[] {
    const certificates = this.#bySecret.get(`${namespace} ${name}`) ?? [];
    return certificates.flatMap(({ hosts }) => hosts).sort();
  }
}

function isInline(certificate: Certificate): certificate is InlineCertificate {
  return certificate.chain.kind === "pem" && certificate.key.kind === "secret";
}

/** Whether two entries mean the same certificate: by the same Secret, or by copies of one. */
function isSame(a: CertificateSource, b: CertificateSource): boolean {
  return formatObject(a.secret) === formatObject(b.secret) ||
    (a.kind === "usable" && b.kind === "usable" && a.fingerprint === b.fingerprint);
}

function reportTaken(ingress: IngressModel, field: string, host: string, other: HostClaim): void {
  const whose = other.owner === ingress
    ? "an entry before this one"
    : showElder(other.owner.identity, ingress.identity);
  ingress.report.error(field, {
    reason: "TlsHostTaken",
    message: `the certificate of ${host} is chosen by ${whose}, so this one is not used for it`,
    remedy: "Let both name the same Secret, or take the host out of one of the two",
  });
}

/** Says what follows for the Ingress from a Secret that cannot be used. */
function reportSource(
  ingress: IngressModel,
  { field, hosts }: TlsModel,
  source: CertificateSource,
  kept: readonly string[],
  bare: readonly string[],
): void {
  if (source.kind === "usable") {
    if (hosts !== null || source.names.length > 0) return;
    ingress.report.error(`${field}.hosts`, {
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
  ingress.report.error(`${field}.secretName`, {
    reason: source.kind === "missing" ? "SecretNotFound" : "SecretUnusable",
    message: `${source.reason}, so ${consequence}`,
    remedy: source.kind === "missing"
      ? "Create the Secret, or write the name of one that exists in this namespace"
      : `Mend the Secret; what is wrong is reported for Secret ${source.secret.name}`,
  });
}
