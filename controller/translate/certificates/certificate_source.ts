/**
 * Secrets as sources of certificates. In: Secrets of unknown shape, and a time. Out: for each that is
 * asked for its certificate, or why it has none; with problems about the Secret itself, once.
 */
import { createHash } from "node:crypto";
import type { ObjectRef } from "../../../shared/problem.ts";
import type { Certificate, PemSecret, PemText, Snapshot } from "../../../shared/snapshot/types.ts";
import { readChain } from "../../../shared/key_pair.ts";
import {
  type CertificateModel,
  type CertificateReading,
  readCertificate,
  readSecretValue,
} from "./certificate.ts";
import {
  type Identified,
  type Identity,
  readIdentity,
  type SecretName,
} from "../../base/identity.ts";
import { fieldOf, quote } from "../../base/json.ts";
import { describeExcess, excessOf } from "../../kube/excess.ts";
import type { ProblemList, ProblemText, Report } from "../../base/problems.ts";
import { type Pair, pairExcess, rsaExcess } from "./pair_limits.ts";

/** A certificate whose chain and key are in the snapshot itself. */
export type InlineCertificate = Certificate & {
  readonly chain: PemText;
  readonly key: PemSecret;
};

export type CertificateSource =
  | {
    readonly kind: "usable";
    readonly secret: ObjectRef;
    /** `formatObject` of the Secret. */
    readonly label: string;
    readonly certificate: Omit<InlineCertificate, "hosts">;
    /** Host patterns that the certificate names, sorted. */
    readonly names: readonly string[];
    readonly nameSet: ReadonlySet<string>;
    /** Equal for equal chains and keys, wherever they are. */
    readonly fingerprint: string;
  }
  /** `reason`: a clause such as `Secret web-tls cannot be used: it has no tls.key`. */
  | {
    readonly kind: "missing" | "unusable";
    readonly secret: ObjectRef;
    readonly label: string;
    readonly reason: string;
    /** Of the Secret; missing where it has to be written anew. */
    readonly remedy?: string;
  };

/** By `namespace/name`, in the order in which they were asked for. */
export type FoundSources = ReadonlyMap<string, CertificateSource>;

const TLS_TYPE = "kubernetes.io/tls";

/** What a Secret is to hold, after "write". */
export const PAIR_REMEDY = "a PEM chain, the server's certificate first, as tls.crt and its key " +
  "as tls.key (kubectl create secret tls)";

/**
 * The longest RSA key of a certificate that is served, by default, in bits. A handshake with 8,192
 * takes 66 ms of a proxy's event loop, in which other tenants' connections wait.
 */
export const DEFAULT_MAX_RSA_BITS = 4096;

export const RSA_REMEDY = "Reissue the certificate with an ECDSA P-256 or RSA 2048 key";

const DATE_REMEDY = "Replace the certificate with a valid one, and check its renewal";

/** What a certificate has too much of to be served. */
interface Excess {
  /** Of the Secret. */
  readonly field: string;
  /** A clause. */
  readonly fault: string;
  readonly remedy: string;
  /** Of the problem where it is served all the same. */
  readonly reason: string;
}

/** A Secret, with the certificate that it holds once it is asked for. */
export class SecretModel implements Identified {
  readonly identity: Identity;
  readonly object: object;
  #reading: CertificateReading | null = null;
  #inline: Omit<InlineCertificate, "hosts"> | null = null;
  #source: CertificateSource | null = null;
  #shown: InlineCertificate | null = null;
  #authority: PemText | string | null = null;

  constructor(identity: Identity, object: object) {
    this.identity = identity;
    this.object = object;
  }

  get reading(): CertificateReading {
    return this.#reading ??= readCertificate(this.object);
  }

  /** The certificate as it stands in a snapshot. */
  get source(): CertificateSource {
    return this.#source ??= this.#readSource();
  }

  /** For clients to trust, from `ca.crt`; or a clause that says what is wrong with it. */
  get authority(): PemText | string {
    return this.#authority ??= readAuthority(this.object);
  }

  /** The certificate for no host, as it is shown to backends; null where there is none. */
  get shown(): InlineCertificate | null {
    if (this.#shown === null && this.reading.ok) {
      const { id, chain, key, origin } = this.#inlined(this.reading.certificate);
      this.#shown = { id, hosts: [], chain, key, origin };
    }
    return this.#shown;
  }

  #readSource(): CertificateSource {
    const { ref, label } = this.identity;
    const { reading } = this;
    if (!reading.ok) {
      const reason = `Secret ${ref.name} cannot be used: ${reading.message}`;
      return { kind: "unusable", secret: ref, label, reason };
    }
    return {
      kind: "usable",
      secret: ref,
      label,
      names: reading.certificate.names,
      nameSet: new Set(reading.certificate.names),
      fingerprint: reading.certificate.fingerprint,
      certificate: this.#inlined(reading.certificate),
    };
  }

  #inlined(certificate: CertificateModel): Omit<InlineCertificate, "hosts"> {
    return this.#inline ??= inlineCertificate(this.identity.ref, certificate);
  }
}

/** Null for one without an identity. */
export function readSecret(object: object): SecretModel | null {
  const identity = readIdentity("Secret", object);
  return identity === null ? null : new SecretModel(identity, object);
}

/** Secrets in whose place the certificate that was published of them stays in use. */
export interface HeldPairs {
  /** As it was published; null where the Secret's own counts. */
  find(secret: SecretName): SecretModel | null;
  /** Why that is so. */
  problem(secret: SecretName): ProblemText;
  /** A published certificate as its Secret had it; null where it cannot be read. */
  asPublished(certificate: InlineCertificate): SecretModel | null;
}

export class CertificateSources {
  #secrets: ReadonlyMap<string, SecretModel>;
  #now: number;
  #problems: ProblemList;
  #maxRsaBits: number;
  #held: HeldPairs | null;
  /** Those that were published last; null until somebody asks. */
  #publishedIds: ReadonlySet<string> | null = null;
  #published: Snapshot | null;
  /** By `namespace/name`. */
  #sources = new Map<string, CertificateSource>();
  /** Those that were found for Gateways alone. */
  #ofGateways = new Map<string, CertificateSource>();
  #notes = new Map<string, ProblemText[]>();

  /**
   * @param now Milliseconds since the epoch; decides about problems only.
   * @param published What was published last: a certificate in it that is larger than it may be, or has
   * an RSA key of more bits than `maxRsaBits`, is served on, so that a new limit takes nobody down.
   */
  constructor(
    secrets: ReadonlyMap<string, SecretModel>,
    now: number,
    problems: ProblemList,
    published: Snapshot | null,
    maxRsaBits = DEFAULT_MAX_RSA_BITS,
    held: HeldPairs | null = null,
  ) {
    this.#secrets = secrets;
    this.#now = now;
    this.#problems = problems;
    this.#published = published;
    this.#maxRsaBits = maxRsaBits;
    this.#held = held;
  }

  /** What was found until now for Ingresses, for `changedSince` of later sources. */
  found(): FoundSources {
    return this.#sources;
  }

  /**
   * What is wrong now with those that were found and are used, by `namespace/name`: a problem of the
   * Ingresses as well, since `kubectl describe` shows no Events of a Secret.
   */
  notes(): ReadonlyMap<string, readonly ProblemText[]> {
    return this.#notes;
  }

  /** The Secret of a usable source, as it counts; undefined where there is none. */
  modelOf(secret: SecretName): SecretModel | undefined {
    return this.#held?.find(secret) ?? this.#secrets.get(secret.key);
  }

  /** As in `HeldPairs`. */
  asPublished(certificate: InlineCertificate): SecretModel | null {
    return this.#held?.asPublished(certificate) ?? null;
  }

  /**
   * Finds the same Secrets, and says which of them have changed, by `namespace/name`.
   *
   * @param isUsed Others are left out.
   */
  changedSince(before: FoundSources, isUsed: (key: string) => boolean): readonly string[] {
    const changed: string[] = [];
    for (const [key, source] of before) {
      if (!isUsed(key)) continue;
      const { secret: ref, label } = source;
      if (!isSameSource(source, this.find({ ref, key, label }))) changed.push(key);
    }
    return changed;
  }

  /** @param secret As an Ingress names it, whatever that is. */
  find(secret: SecretName): CertificateSource {
    return foundIn(this.#sources, secret, () => this.findForGateway(secret));
  }

  /** As `find`, but `found` has only what Ingresses name as well: Gateways remember their own. */
  findForGateway(secret: SecretName): CertificateSource {
    const ofIngresses = this.#sources.get(secret.key);
    if (ofIngresses !== undefined) return ofIngresses;
    const read = () => this.#read(secret);
    return foundIn(this.#ofGateways, secret, read);
  }

  #read(secret: SecretName): CertificateSource {
    const { ref, key, label } = secret;
    const found = this.#secrets.get(key);
    if (found === undefined) {
      const reason = ref.name === ""
        ? "the Secret's name cannot be read"
        : `there is no Secret ${quote(ref.name)} in namespace ${ref.namespace}`;
      return { kind: "missing", secret: ref, label, reason };
    }
    const excess = excessOf(found.object);
    if (excess !== null) {
      // Nothing is wrong with the Secret: whoever names it has the problem, and there may be thousands.
      const [what, remedy] = describeExcess(excess);
      const reason = `Secret ${ref.name} cannot be used: ${what}`;
      return { kind: "unusable", secret: ref, label, reason, remedy };
    }
    const report = this.#problems.about(ref);
    const { reading } = found;
    if (!reading.ok) {
      report.error(reading.field, {
        reason: "SecretInvalid",
        message: `${reading.message}, so it is not used`,
        remedy: `Write ${PAIR_REMEDY}`,
      });
      return found.source;
    }
    const refused = this.#refuse(reading.certificate, found.source, report);
    if (refused !== null) return refused;
    reportType(fieldOf(found.object, "type"), report);
    const used = this.modelOf(secret) ?? found;
    const notes: ProblemText[] = [];
    if (used !== found && this.#held !== null) {
      const problem = this.#held.problem(secret);
      report.error(reading.certificate.field, problem);
      notes.push(problem);
    }
    if (used.reading.ok) {
      this.#reportCertificate(used.reading.certificate, report);
      const whose = `the certificate of Secret ${ref.name}`;
      const untimely = untimelyText(whose, used.reading.certificate, this.#now);
      if (untimely !== null) notes.push(untimely);
    }
    if (notes.length > 0) this.#notes.set(key, notes);
    return used.source;
  }

  /** The source in place of one that has too much of something; null for one that may be used. */
  #refuse(
    certificate: CertificateModel,
    source: CertificateSource,
    report: Report,
  ): CertificateSource | null {
    if (source.kind !== "usable") return null;
    const excess = this.#rsaExcess(certificate) ?? sizeExcess(certificate, source.certificate);
    if (excess === null) return null;
    const { field, fault, remedy } = excess;
    if (this.#isPublished(source.certificate.id)) {
      const message = `${fault}; the certificate stays in use, as it was published before`;
      report.warning(field, { reason: excess.reason, message, remedy });
      return null;
    }
    report.error(field, {
      reason: "SecretInvalid",
      message: `${fault}, so it is not used`,
      remedy,
    });
    const { secret, label } = source;
    const why = `Secret ${secret.name} cannot be used: ${fault}`;
    return { kind: "unusable", secret, label, reason: why, remedy };
  }

  #rsaExcess({ rsaBits }: CertificateModel): Excess | null {
    const fault = rsaExcess(rsaBits, this.#maxRsaBits);
    return fault === null ? null : {
      ...{ field: KEY_FIELD, fault },
      remedy: RSA_REMEDY,
      reason: "CertificateKeyTooLong",
    };
  }

  #isPublished(id: string): boolean {
    const published = this.#published?.certificates ?? [];
    return (this.#publishedIds ??= new Set(published.map((each) => each.id))).has(id);
  }

  #reportCertificate(certificate: CertificateModel, report: Report): void {
    const { field } = certificate;
    const untimely = untimelyText("the certificate", certificate, this.#now);
    if (untimely !== null) report.warning(field, untimely);
    if (!certificate.isLinked) {
      report.warning(field, {
        reason: "CertificateChainBroken",
        message: "a certificate of the chain is not signed by the next, so clients may refuse it",
        remedy: "Write the server's certificate first, then each issuer's up to the root's",
      });
    }
    if (!certificate.hasAlternativeNames) {
      report.warning(field, {
        reason: "CertificateWithoutNames",
        message: "the certificate has no subjectAltName of type DNS, so clients refuse it",
        remedy: "Reissue it with its names as subjectAltName",
      });
    }
  }
}

const KEY_FIELD = 'data["tls.key"]';

function sizeExcess({ field }: CertificateModel, pair: Pair): Excess | null {
  const excess = pairExcess(pair);
  if (excess === null) return null;
  const { part, fault, remedy } = excess;
  return {
    field: part === "chain" ? field : KEY_FIELD,
    ...{ fault, remedy, reason: "CertificateTooLarge" },
  };
}

function foundIn(
  sources: Map<string, CertificateSource>,
  { key }: SecretName,
  read: () => CertificateSource,
): CertificateSource {
  let source = sources.get(key);
  if (source === undefined) sources.set(key, source = read());
  return source;
}

/** Null for a certificate that is valid now. */
function untimelyText(
  whose: string,
  { validFrom, validTo }: CertificateModel,
  now: number,
): ProblemText | null {
  if (now > validTo) {
    return {
      reason: "CertificateExpired",
      message: `${whose} has expired on ${showTime(validTo)}, so clients refuse it`,
      remedy: DATE_REMEDY,
    };
  }
  if (now >= validFrom) return null;
  return {
    reason: "CertificateNotYetValid",
    message: `${whose} is valid from ${showTime(validFrom)} on, so clients refuse it`,
    remedy: DATE_REMEDY,
  };
}

/** A Secret's certificate, as it stands in a snapshot. */
function inlineCertificate(
  { namespace, name }: ObjectRef,
  { fingerprint, chain, key }: CertificateModel,
): Omit<InlineCertificate, "hosts"> {
  return {
    // With the Secret's name, so that what is kept for a namespace is known to come from it.
    id: createHash("sha256").update(`${namespace}/${name} ${fingerprint}`).digest("hex"),
    chain: { kind: "pem", pem: chain },
    key: { kind: "secret", pem: key },
    origin: { kind: "Secret", namespace, name, field: "data" },
  };
}

function readAuthority(secret: object): PemText | string {
  const text = readSecretValue(secret, "ca.crt");
  const chain = text.ok ? readChain(text.text, "ca.crt") : text.message;
  return typeof chain === "string" ? chain : { kind: "pem", pem: chain.pem };
}

export function isSameSource(a: CertificateSource, b: CertificateSource): boolean {
  return a === b ||
    (a.kind !== "usable" && a.kind === b.kind && a.label === b.label && a.reason === b.reason);
}

function reportType(type: unknown, report: Report): void {
  if (type === TLS_TYPE) return;
  report.warning("type", {
    reason: "SecretTypeUnexpected",
    message: `the Secret is of type ${quote(type ?? "Opaque")} and not ${TLS_TYPE}; ` +
      "its certificate is used anyway",
    remedy: `Recreate it with type: ${TLS_TYPE}, which the API server validates`,
  });
}

/** `2026-11-21T10:00:00Z`. */
export function showTime(time: number): string {
  return new Date(time).toISOString().replace(".000Z", "Z");
}
