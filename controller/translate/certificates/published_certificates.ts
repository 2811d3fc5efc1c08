/**
 * The certificates of the snapshot before, for hosts whose Secret cannot be used. In: that snapshot,
 * which is looked into only where there is such a one. Out: the certificate of a host, and the hosts of
 * a Secret.
 */
import type { ObjectRef } from "../../../shared/problem.ts";
import type { Certificate, Snapshot } from "../../../shared/snapshot/types.ts";
import type { CertificateSource, InlineCertificate } from "./certificate_source.ts";

export class PublishedCertificates {
  readonly #published: Snapshot | null;
  /** By namespace and host, and by namespace and name of the Secret. */
  #index: {
    readonly byHost: ReadonlyMap<string, InlineCertificate>;
    readonly bySecret: ReadonlyMap<string, readonly InlineCertificate[]>;
  } | null = null;

  /** By namespace and name of the Secret. */
  readonly #hosts = new Map<string, readonly string[]>();
  readonly #plain = new Map<InlineCertificate, ReadonlySet<string>>();

  constructor(published: Snapshot | null) {
    this.#published = published;
  }

  /** Whether plain HTTP to a host of the certificate is not redirected. */
  isPlain(certificate: InlineCertificate, host: string): boolean {
    let plain = this.#plain.get(certificate);
    if (plain === undefined) {
      plain = new Set(certificate.plain);
      this.#plain.set(certificate, plain);
    }
    return plain.has(host);
  }

  /** @param secret Whose certificate the host is to have. */
  find(host: string, { namespace, name }: ObjectRef): InlineCertificate | null {
    const found = this.#indexed().byHost.get(`${namespace} ${host}`);
    if (found === undefined) return null;
    // The default certificate has hosts without a certificate of their own: none to be kept.
    const isDefault = found.id === this.#published?.defaultCertificate;
    return isDefault && found.origin.name !== name ? null : found;
  }

  /** The hosts that a Secret's certificate was used for, sorted. */
  hostsOf({ secret: { namespace, name } }: CertificateSource): readonly string[] {
    const key = `${namespace} ${name}`;
    let hosts = this.#hosts.get(key);
    if (hosts === undefined) {
      hosts = (this.#indexed().bySecret.get(key) ?? []).flatMap(({ hosts }) => hosts).sort();
      this.#hosts.set(key, hosts);
    }
    return hosts;
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

export function isInline(certificate: Certificate): certificate is InlineCertificate {
  return certificate.chain.kind === "pem" && certificate.key.kind === "secret";
}
