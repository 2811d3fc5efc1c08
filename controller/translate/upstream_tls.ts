/**
 * How connections to a backend are secured. In: a Service whose port has `appProtocol: https`, its
 * annotations, and the Secrets that they name. Out: the upstream's TLS settings, with the certificate
 * that it shows; or that there are none, because what was asked for cannot be had.
 *
 * Nothing is ever sent with less protection than was asked for: a Secret that cannot be used leaves
 * what was published before in force, and without that the backend is not asked at all.
 */
import { isIP } from "node:net";
import type { ObjectRef } from "../../shared/problem.ts";
import { readChain } from "../../shared/key_pair.ts";
import type { Certificate, PemText, Snapshot, UpstreamTls } from "../../shared/snapshot.ts";
import { readCertificate, readSecretValue } from "./certificate.ts";
import { inlineCertificate, showTime } from "./certificate_source.ts";
import { compareText, type Identified, indexObjects, keyOf } from "./identity.ts";
import { asObject, describe, fieldOf, isAbsent, quote } from "./json.ts";
import { isDnsName } from "./names.ts";
import type { ProblemList, Report } from "./problems.ts";

const PREFIX = "pingress.io/upstream-tls-";
const NAME = `${PREFIX}name`;
const CA = `${PREFIX}ca`;
const CLIENT_CERTIFICATE = `${PREFIX}client-certificate`;
const VERIFY = `${PREFIX}verify`;

/** Of a Service, in the order of the table in docs/annotations.md. */
export const UPSTREAM_TLS_ANNOTATIONS = [NAME, CA, CLIENT_CERTIFICATE, VERIFY];

/** The upstream that is to be secured. */
export interface SecuredUpstream {
  readonly id: string;
  readonly service: Identified;
  /** The name that a Service of type ExternalName stands for; else null. */
  readonly externalName: string | null;
}

export class UpstreamTlsReader {
  #secrets: ReadonlyMap<string, Identified>;
  #now: number;
  #problems: ProblemList;
  /** What was published before, by upstream id. */
  #published: ReadonlyMap<string, UpstreamTls>;
  /** Published before, by id. */
  #publishedCertificates: ReadonlyMap<string, Certificate>;
  /** Those that are shown, by id. */
  #shown = new Map<string, Certificate>();

  /** @param now Milliseconds since the epoch; decides about problems only. */
  constructor(
    secrets: readonly unknown[],
    published: Snapshot | null,
    now: number,
    problems: ProblemList,
  ) {
    this.#secrets = indexObjects("Secret", secrets, problems);
    this.#now = now;
    this.#problems = problems;
    this.#published = new Map(
      (published?.upstreams ?? []).flatMap(({ id, tls }) => tls === undefined ? [] : [[id, tls]]),
    );
    this.#publishedCertificates = new Map(
      (published?.certificates ?? []).map((certificate) => [certificate.id, certificate]),
    );
  }

  /** Null where the backend must not be asked; the problem is with the Service then. */
  read({ id, service, externalName }: SecuredUpstream): UpstreamTls | null {
    const { ref } = service.identity;
    const annotations = annotationsOf(service);
    const report = this.#problems.about(ref);
    reportUnknown(annotations, report);
    const before = this.#published.get(id);
    const serverName = readServerName(
      fieldOf(annotations, NAME),
      externalName ?? `${ref.name}.${ref.namespace}.svc`,
      report,
    );
    const ca = this.#readAuthorities(annotations, ref, before, report);
    const clientCertificate = this.#readClientCertificate(annotations, ref, before, report);
    const verify = readVerify(fieldOf(annotations, VERIFY), report);
    if (serverName === null || ca === null || clientCertificate === null) return null;
    // Public authorities issue certificates for names in the Internet's DNS only.
    const isPrivate = isAbsent(fieldOf(annotations, NAME)) && externalName === null;
    if (verify && ca === undefined && isPrivate) {
      report.warning(fieldNamed(CA), {
        reason: "UpstreamAuthorityMissing",
        message:
          `no annotation names the authority that issued the certificate for ${serverName}, ` +
          "and no public one does, so requests get 502",
        remedy: `Name a Secret that has its certificate as ca.crt by ${CA}, or write ` +
          `${VERIFY}: "false" where anybody may pose as the backend`,
      });
    }
    return {
      serverName,
      ...(ca === undefined ? {} : { ca }),
      ...(clientCertificate === undefined ? {} : { clientCertificate }),
      ...(verify ? {} : { verify: false }),
    };
  }

  /** Settings of a Service that is spoken to in plain text protect nothing. */
  reportUnused(service: Identified): void {
    const report = this.#problems.about(service.identity.ref);
    for (const name of Object.keys(annotationsOf(service) ?? {}).sort()) {
      if (!name.startsWith(PREFIX)) continue;
      report.warning(fieldNamed(name), {
        reason: "UpstreamTlsUnused",
        message: `annotation ${quote(name)} has no effect: the Service is spoken to in plain text`,
        remedy: "Write appProtocol: https at the Service's port, or take the annotation off",
      });
    }
  }

  /** Certificates that are shown to backends, sorted by id; for no host. */
  certificates(): Certificate[] {
    return [...this.#shown.values()].sort((a, b) => compareText(a.id, b.id));
  }

  /** Undefined where none are asked for; null where they cannot be had. */
  #readAuthorities(
    annotations: unknown,
    { namespace }: ObjectRef,
    before: UpstreamTls | undefined,
    report: Report,
  ): PemText | undefined | null {
    const written = fieldOf(annotations, CA);
    if (isAbsent(written)) return undefined;
    const found = this.#findSecret(written, namespace);
    let fault = found.fault;
    if (found.secret !== null) {
      const text = readSecretValue(found.secret, "ca.crt");
      const chain = text.ok ? readChain(text.text, "ca.crt") : text.message;
      if (typeof chain !== "string") return { kind: "pem", pem: chain.pem };
      fault = `Secret ${written} cannot be used: ${chain}`;
    }
    const kept = before?.ca;
    report.error(fieldNamed(CA), {
      reason: "UpstreamAuthorityUnusable",
      message: `${fault}, so ${consequence(kept, "the authority published before stays")}`,
      remedy: "Name a Secret of this namespace that has the authority's PEM certificate as ca.crt",
    });
    return kept ?? null;
  }

  /** The id; undefined where none is asked for, null where it cannot be had. */
  #readClientCertificate(
    annotations: unknown,
    { namespace }: ObjectRef,
    before: UpstreamTls | undefined,
    report: Report,
  ): string | undefined | null {
    const written = fieldOf(annotations, CLIENT_CERTIFICATE);
    if (isAbsent(written)) return undefined;
    const field = fieldNamed(CLIENT_CERTIFICATE);
    const found = this.#findSecret(written, namespace);
    let fault = found.fault;
    if (found.secret !== null) {
      const reading = readCertificate(found.secret);
      if (reading.ok) {
        const { validTo } = reading.certificate;
        if (this.#now > validTo) {
          report.warning(field, {
            reason: "CertificateExpired",
            message: `the certificate of Secret ${written} has expired on ${showTime(validTo)}, ` +
              "so backends refuse it",
            remedy: "Replace the certificate by one that is valid now, and check its renewal",
          });
        }
        return this.#show(inlineCertificate(namespace, String(written), reading.certificate));
      }
      fault = `Secret ${written} cannot be used: ${reading.message}`;
    }
    const kept = this.#publishedCertificates.get(before?.clientCertificate ?? "");
    report.error(field, {
      reason: "ClientCertificateUnusable",
      message: `${fault}, so ${consequence(kept, "the certificate published before stays")}`,
      remedy: "Name a Secret of this namespace of type kubernetes.io/tls",
    });
    return kept === undefined ? null : this.#show(kept);
  }

  #show({ id, chain, key, origin }: Omit<Certificate, "hosts">): string {
    this.#shown.set(id, { id, hosts: [], chain, key, origin });
    return id;
  }

  #findSecret(written: unknown, namespace: string): FoundSecret {
    if (typeof written !== "string" || !isDnsName(written)) {
      const shown = typeof written === "string" ? quote(written) : describe(written);
      return { secret: null, fault: `${shown} is not the name of a Secret` };
    }
    const secret = asObject(this.#secrets.get(keyOf({ namespace, name: written }))?.object);
    return secret === null
      ? { secret, fault: `there is no Secret ${quote(written)} in namespace ${namespace}` }
      : { secret, fault: "" };
  }
}

interface FoundSecret {
  readonly secret: object | null;
  /** A clause, where there is no Secret. */
  readonly fault: string;
}

/** Null for a name that no certificate can be for. */
function readServerName(written: unknown, usual: string, report: Report): string | null {
  if (isAbsent(written)) return usual;
  const name = typeof written === "string" ? written.toLowerCase().replace(/\.$/, "") : "";
  if (isDnsName(name) || isIP(name) !== 0) return name;
  report.error(fieldNamed(NAME), {
    reason: "UpstreamNameInvalid",
    message: `${quote(written)} is no name that a certificate can be for, so requests get 503`,
    remedy: "Write the DNS name or IP address that the backend's certificate names",
  });
  return null;
}

function readVerify(written: unknown, report: Report): boolean {
  const field = fieldNamed(VERIFY);
  if (isAbsent(written) || written === "true") return true;
  if (written === "false") {
    report.warning(field, {
      reason: "UpstreamUnverified",
      message: "the backend's certificate is not verified, so anybody on the way may pose as it",
      remedy: `Name the authority that issued it by ${CA}, and take this off`,
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
    if (!name.startsWith(PREFIX) || UPSTREAM_TLS_ANNOTATIONS.includes(name)) continue;
    report.warning(fieldNamed(name), {
      reason: "UpstreamTlsUnknown",
      message: `there is no annotation ${quote(name)}, so it has no effect`,
      remedy: `Write one of ${UPSTREAM_TLS_ANNOTATIONS.join(", ")}`,
    });
  }
}

function consequence(kept: unknown, instead: string): string {
  return kept === undefined ? "requests get 503" : instead;
}

function annotationsOf({ object }: Identified): object | null {
  return asObject(fieldOf(fieldOf(object, "metadata"), "annotations"));
}

function fieldNamed(annotation: string): string {
  return `metadata.annotations[${JSON.stringify(annotation)}]`;
}
