/**
 * How connections to a backend are secured. In: a Service whose port is spoken to by TLS
 * (`appProtocol: https`, `grpcs` and the like), its annotations, and the Secrets that they name.
 * Out: the upstream's TLS settings, with the certificate that it shows; or that there are none,
 * because what was asked for cannot be had.
 *
 * Nothing is ever sent with less protection than was asked for: a Secret that cannot be used leaves
 * what was published before in force, and without that the backend is not asked at all.
 */
import { isIP } from "node:net";
import type { ObjectRef, ProblemFacts } from "../../../shared/problem.ts";
import type {
  Certificate,
  PemText,
  Snapshot,
  UpstreamTls,
} from "../../../shared/snapshot/types.ts";
import {
  DEFAULT_MAX_RSA_BITS,
  RSA_REMEDY,
  type SecretModel,
  showTime,
} from "../certificates/certificate_source.ts";
import { authorityExcess, pairExcess, rsaExcess } from "../certificates/pair_limits.ts";
import {
  isSecretFault,
  NO_PARTS,
  readSecretParts,
  type SecretFault,
  type SecretParts,
} from "../certificates/secret_parts.ts";
import { type Identified, keyOf } from "../../base/identity.ts";
import { asObject, describe, fieldOf, isAbsent, quote } from "../../base/json.ts";
import { describeExcess, excessOf } from "../../kube/excess.ts";
import { isDnsName } from "../../base/names.ts";
import type { ProblemList, ProblemText, Report } from "../../base/problems.ts";
import type { Fault, Note } from "./fault.ts";
import type { TlsWish } from "../model/backend_wish.ts";
import {
  fieldOfOwnAnnotation,
  UPSTREAM_TLS,
  UPSTREAM_TLS_ANNOTATIONS,
  UPSTREAM_TLS_PREFIX,
} from "../annotations/own_annotation_names.ts";

const { name: NAME, ca: CA, clientCertificate: CLIENT_CERTIFICATE, verify: VERIFY } = UPSTREAM_TLS;

/** The upstream that is to be secured. */
export interface SecuredUpstream {
  readonly id: string;
  readonly service: Identified;
  /** The name that a Service of type ExternalName stands for; else null. */
  readonly externalName: string | null;
}

export class UpstreamTlsReader {
  #secrets: ReadonlyMap<string, SecretModel>;
  #published: PublishedTls;
  #now: number;
  #problems: ProblemList;
  #maxRsaBits: number;
  /** Those that are shown, by id. */
  #shown = new Map<string, Certificate>();

  /**
   * @param now Milliseconds since the epoch; decides about problems only.
   * @param maxRsaBits Of client certificates: with a longer key, each handshake with a backend blocks the event
   * loop of a proxy, for all tenants. One that the upstream has already stays in use, as those of hosts do.
   */
  constructor(
    secrets: ReadonlyMap<string, SecretModel>,
    published: Snapshot | null,
    now: number,
    problems: ProblemList,
    maxRsaBits = DEFAULT_MAX_RSA_BITS,
  ) {
    this.#secrets = secrets;
    this.#published = new PublishedTls(published);
    this.#now = now;
    this.#problems = problems;
    this.#maxRsaBits = maxRsaBits;
  }

  /** Null where the backend must not be asked; the problem is with the Service then. */
  read({ id, service, externalName }: SecuredUpstream): UpstreamTls | null {
    const { ref } = service.identity;
    const annotations = annotationsOf(service);
    const report = this.#problems.about(ref);
    reportUnknown(annotations, report);
    const serverName = readServerName(
      fieldOf(annotations, NAME),
      externalName ?? `${ref.name}.${ref.namespace}.svc`,
      report,
    );
    const ca = this.#readAuthorities(annotations, ref, id, report);
    const clientCertificate = this.#readClientCertificate(annotations, ref, id, report);
    const verify = readVerify(fieldOf(annotations, VERIFY), report);
    if (serverName === null || ca === null || clientCertificate === null) return null;
    // Public authorities issue certificates for names in the Internet's DNS only.
    const isPrivate = isAbsent(fieldOf(annotations, NAME)) && externalName === null;
    if (verify && ca === undefined && isPrivate) {
      report.warning(fieldOfOwnAnnotation(CA), {
        reason: "UpstreamCaMissing",
        message: `no annotation names the CA of the certificate for ${serverName}, ` +
          "and it is not issued by a public CA, so requests get 502",
        facts: { status: 502 },
        remedy: `Reference a Secret with the CA certificate as ca.crt by ${CA}, or write ` +
          `${VERIFY}: "false" to accept any certificate`,
      });
    }
    return {
      serverName,
      ...(ca === undefined ? {} : { ca }),
      ...(clientCertificate === undefined ? {} : { clientCertificate }),
      ...(verify ? {} : { verify: false }),
    };
  }

  /** As a source wishes, in place of what the Service's annotations say. */
  readWished(
    { id, service, externalName }: SecuredUpstream,
    wish: TlsWish,
  ): WishedTls {
    const { ref } = service.identity;
    const read = wish.secret === null
      ? NO_PARTS
      : withinLimits(this.#partsOf(wish.secret, ref.namespace), wish.secret.name);
    const tooLong = isSecretFault(read) ? null : rsaExcess(read.rsaBits, this.#maxRsaBits);
    const parts = isSecretFault(read) || tooLong === null || this.#isShown(id, read.certificate)
      ? read
      : { clause: `Secret ${wish.secret?.name} cannot be used: ${tooLong}` };
    if (isSecretFault(parts)) {
      const kept = this.#published.settings(id);
      const { field } = wish;
      // What was published stays, with the certificate that it shows.
      const shown = this.#published.clientCertificate(id);
      if (kept === undefined || (kept.clientCertificate !== undefined && shown === undefined)) {
        return { tls: null, fault: secretFault(field, parts) };
      }
      if (shown !== undefined) this.#show({ ...shown, hosts: [] });
      return {
        tls: kept,
        note: { field, ...secretText(parts, ", so the published settings stay in use") },
      };
    }
    if (parts.certificate !== null) this.#show(parts.certificate);
    const { serverName, sni, verify, verifyDepth, version } = wish;
    return {
      tls: {
        serverName: serverName ?? externalName ?? `${ref.name}.${ref.namespace}.svc`,
        ...(sni ? {} : { sni: false }),
        ...(parts.authority === null ? {} : { ca: parts.authority }),
        ...(parts.certificate === null ? {} : { clientCertificate: parts.certificate.id }),
        ...(verify ? verifyDepth === null ? {} : { verifyDepth } : { verify: false }),
        ...(version === null ? {} : { version }),
      },
      note: verify ? tooLong === null ? null : { field: wish.field, ...keptText(tooLong) } : {
        field: wish.verifyField,
        reason: "UpstreamUnverified",
        message: `the certificates of the endpoints of Service ${ref.name} are not verified, so ` +
          "anybody on the way may pose as it",
        remedy: "Name a Secret with its authority as ca.crt by proxy-ssl-secret and set " +
          `proxy-ssl-verify to "on", or annotate the Service with ${CA}`,
      },
    };
  }

  /**
   * Why the Secret of a wish cannot be used, also where none of its settings count; null without.
   *
   * @param namespace Of the object that wishes.
   */
  faultOf({ secret, field }: TlsWish, namespace: string): Fault | null {
    const parts = secret === null ? NO_PARTS : this.#partsOf(secret, namespace);
    return isSecretFault(parts) ? secretFault(field, parts) : null;
  }

  #partsOf(
    { namespace, name }: NonNullable<TlsWish["secret"]>,
    own: string,
  ): SecretParts | SecretFault {
    if (namespace !== own) {
      return {
        clause: `Secret ${name} is in namespace ${namespace}, not in ${own} as the Ingress`,
      };
    }
    return readSecretParts({ namespace, name }, this.#secrets);
  }

  /** Certificates that are shown to backends, in no order; for no host. */
  certificates(): readonly Certificate[] {
    return [...this.#shown.values()];
  }

  /** Undefined where none are asked for; null where they cannot be had. */
  #readAuthorities(
    annotations: unknown,
    { namespace }: ObjectRef,
    upstream: string,
    report: Report,
  ): PemText | undefined | null {
    const written = fieldOf(annotations, CA);
    if (isAbsent(written)) return undefined;
    const found = this.#findSecret(written, namespace);
    let fault = found.fault;
    if (found.secret !== null) {
      const { authority } = found.secret;
      const why = typeof authority === "string" ? authority : authorityExcess(authority);
      if (typeof authority !== "string" && why === null) return authority;
      fault = `Secret ${written} cannot be used: ${why}`;
    }
    const kept = this.#published.settings(upstream)?.ca;
    report.error(fieldOfOwnAnnotation(CA), {
      reason: "UpstreamCaInvalid",
      message: `${fault}, so ${consequence(kept, "the CA published before stays in use")}`,
      remedy: found.remedy ??
        "Reference a Secret of this namespace with the CA certificate (PEM) as ca.crt",
      facts: factsOf(kept, found),
    });
    return kept ?? null;
  }

  /** The id; undefined where none is asked for, null where it cannot be had. */
  #readClientCertificate(
    annotations: unknown,
    { namespace }: ObjectRef,
    upstream: string,
    report: Report,
  ): string | undefined | null {
    const written = fieldOf(annotations, CLIENT_CERTIFICATE);
    if (isAbsent(written)) return undefined;
    const field = fieldOfOwnAnnotation(CLIENT_CERTIFICATE);
    const found = this.#findSecret(written, namespace);
    let fault = found.fault;
    if (found.secret !== null) {
      const { reading, shown } = found.secret;
      const size = shown === null ? null : pairExcess(shown)?.fault ?? null;
      const tooLong = reading.ok ? rsaExcess(reading.certificate.rsaBits, this.#maxRsaBits) : null;
      const why = size ?? (this.#isShown(upstream, shown) ? null : tooLong);
      if (reading.ok && shown !== null && why === null) {
        const { validTo } = reading.certificate;
        if (tooLong !== null) report.warning(field, keptText(tooLong));
        if (this.#now > validTo) {
          report.warning(field, {
            reason: "CertificateExpired",
            message: `the certificate of Secret ${written} has expired on ${showTime(validTo)}, ` +
              "so backends refuse it",
            remedy: "Replace the certificate with a valid one, and check its renewal",
          });
        }
        return this.#show(shown);
      }
      fault = `Secret ${written} cannot be used: ${reading.ok ? why : reading.message}`;
    }
    const kept = this.#published.clientCertificate(upstream);
    report.error(field, {
      reason: "ClientCertificateInvalid",
      message: `${fault}, so ${consequence(kept, "the certificate published before stays in use")}`,
      remedy: found.remedy ?? "Reference a Secret of this namespace of type kubernetes.io/tls",
      facts: factsOf(kept, found),
    });
    return kept === undefined ? null : this.#show({ ...kept, hosts: [] });
  }

  /** Whether the upstream got this certificate before. */
  #isShown(upstream: string, certificate: Certificate | null): boolean {
    return certificate !== null &&
      this.#published.clientCertificate(upstream)?.id === certificate.id;
  }

  #show(certificate: Certificate): string {
    this.#shown.set(certificate.id, certificate);
    return certificate.id;
  }

  #findSecret(written: unknown, namespace: string): FoundSecret {
    if (typeof written !== "string" || !isDnsName(written)) {
      const shown = typeof written === "string" ? quote(written) : describe(written);
      return { secret: null, fault: `${shown} is not the name of a Secret`, isMissing: false };
    }
    const secret = this.#secrets.get(keyOf({ namespace, name: written })) ?? null;
    const excess = excessOf(secret?.object);
    if (excess !== null) {
      const [what, remedy] = describeExcess(excess);
      const fault = `Secret ${written} cannot be used: ${what}`;
      return { secret: null, fault, isMissing: false, remedy };
    }
    return secret === null
      ? {
        secret,
        fault: `there is no Secret ${quote(written)} in namespace ${namespace}`,
        isMissing: true,
      }
      : { secret, fault: "", isMissing: false };
  }
}

/** What was published before; looked into only where something cannot be used. */
class PublishedTls {
  readonly #published: Snapshot | null;
  /** By upstream id. */
  #settings: ReadonlyMap<string, UpstreamTls> | null = null;
  /** By id. */
  #certificates: ReadonlyMap<string, Certificate> | null = null;

  constructor(published: Snapshot | null) {
    this.#published = published;
  }

  settings(upstream: string): UpstreamTls | undefined {
    this.#settings ??= new Map(
      (this.#published?.upstreams ?? [])
        .flatMap(({ id, tls }) => tls === undefined ? [] : [[id, tls]]),
    );
    return this.#settings.get(upstream);
  }

  clientCertificate(upstream: string): Certificate | undefined {
    this.#certificates ??= new Map(
      (this.#published?.certificates ?? []).map((certificate) => [certificate.id, certificate]),
    );
    return this.#certificates.get(this.settings(upstream)?.clientCertificate ?? "");
  }
}

function withinLimits(parts: SecretParts | SecretFault, name: string): SecretParts | SecretFault {
  if (isSecretFault(parts)) return parts;
  const { authority, certificate } = parts;
  const excess = (certificate === null ? null : pairExcess(certificate)?.fault) ??
    (authority === null ? null : authorityExcess(authority));
  return excess === null ? parts : { clause: `Secret ${name} cannot be used: ${excess}` };
}

/** Of a key that stays in use. */
function keptText(fault: string): ProblemText {
  return {
    reason: "CertificateKeyTooLong",
    message: `${fault}; the certificate stays in use, as it was published before`,
    remedy: RSA_REMEDY,
  };
}

type WishedTls =
  | { readonly tls: UpstreamTls; readonly note: Note | null; readonly fault?: undefined }
  | { readonly tls: null; readonly fault: Fault };

function secretText({ clause, facts, remedy }: SecretFault, consequence = ""): ProblemText {
  return {
    reason: "UpstreamSecretInvalid",
    message: `${clause}${consequence}`,
    ...(facts === undefined ? {} : { facts }),
    remedy: remedy ??
      "Write namespace/name of a Secret of the Ingress's namespace that has the backend's " +
        "authority as ca.crt, and the certificate to show as tls.crt and tls.key",
  };
}

function secretFault(field: string, fault: SecretFault): Fault {
  // As in ingress-nginx, whose location returns 503 and has nothing else.
  return { at: { field }, status: 503, closes: true, ...secretText(fault) };
}

/** Whether a Service says how TLS to its endpoints is secured. */
export function hasTlsSettings(service: Identified): boolean {
  return UPSTREAM_TLS_ANNOTATIONS.some((name) => !isAbsent(fieldOf(annotationsOf(service), name)));
}

/** Of problems with settings that are not used. */
export const UNUSED_TLS = "UpstreamTlsIgnored";

/** Settings of a Service that is spoken to in plain text protect nothing. */
export function reportUnusedTls(service: Identified, problems: ProblemList): void {
  const report = problems.about(service.identity.ref);
  for (const name of Object.keys(annotationsOf(service) ?? {}).sort()) {
    if (!name.startsWith(UPSTREAM_TLS_PREFIX)) continue;
    report.warning(fieldOfOwnAnnotation(name), {
      reason: UNUSED_TLS,
      message: `annotation ${quote(name)} has no effect: the Service is accessed without TLS`,
      remedy: "Write appProtocol: https (or grpcs) at the Service's port, or remove the annotation",
    });
  }
}

interface FoundSecret {
  readonly secret: SecretModel | null;
  /** A clause, where there is no Secret. */
  readonly fault: string;
  readonly isMissing: boolean;
  /** Missing where another Secret has to be written. */
  readonly remedy?: string;
}

/** Null for a name that no certificate can be for. */
function readServerName(written: unknown, usual: string, report: Report): string | null {
  if (isAbsent(written)) return usual;
  const name = typeof written === "string" ? written.toLowerCase().replace(/\.$/, "") : "";
  if (isDnsName(name) || isIP(name) !== 0) return name;
  report.error(fieldOfOwnAnnotation(NAME), {
    reason: "UpstreamNameInvalid",
    message: `${quote(written)} is not a valid name in a certificate, so requests get 503`,
    remedy: "Write the DNS name or IP address that the backend's certificate names",
    facts: { status: 503 },
  });
  return null;
}

function readVerify(written: unknown, report: Report): boolean {
  const field = fieldOfOwnAnnotation(VERIFY);
  if (isAbsent(written) || written === "true") return true;
  if (written === "false") {
    report.warning(field, {
      reason: "UpstreamUnverified",
      message:
        "the backend's certificate is not verified, so anybody on the network path can impersonate it",
      remedy: `Reference its CA by ${CA}, and remove this annotation`,
    });
    return false;
  }
  report.error(field, {
    reason: "UpstreamVerifyInvalid",
    message: `${quote(written)} is neither "true" nor "false", so certificates are verified`,
    remedy: `Write "true" or "false", with quotes`,
  });
  return true;
}

function reportUnknown(annotations: unknown, report: Report): void {
  for (const name of Object.keys(asObject(annotations) ?? {}).sort()) {
    if (!name.startsWith(UPSTREAM_TLS_PREFIX) || UPSTREAM_TLS_ANNOTATIONS.includes(name)) continue;
    report.warning(fieldOfOwnAnnotation(name), {
      reason: "UpstreamAnnotationUnknown",
      message: `there is no annotation ${quote(name)}, so it has no effect`,
      remedy: `Write one of ${UPSTREAM_TLS_ANNOTATIONS.join(", ")}`,
    });
  }
}

/** Of a problem whose message ends with the `consequence`. */
function factsOf(kept: unknown, { isMissing }: FoundSecret): ProblemFacts {
  return {
    ...(kept === undefined ? { status: 503 } : {}),
    ...(isMissing ? { isSecretMissing: true as const } : {}),
  };
}

function consequence(kept: unknown, instead: string): string {
  return kept === undefined ? "requests get 503" : instead;
}

function annotationsOf({ object }: Identified): object | null {
  return asObject(fieldOf(fieldOf(object, "metadata"), "annotations"));
}
