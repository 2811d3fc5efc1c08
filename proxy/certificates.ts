/**
 * The certificates in force. In: those of a snapshot, as PEM. Out: the one for a server name: exact,
 * then wildcard, then the default.
 *
 * A context is made when a name is first asked for: 2,000 of them cost half a second and 12 MiB a
 * thread, and most names are not asked for between two changes. One that stays in force keeps its
 * context, so sessions resume over a change elsewhere.
 */
import tls from "node:tls";
import type { Secret } from "../shared/snapshot.ts";

/** A certificate whose chain and key are at hand and have been checked. */
export interface ServerCertificate {
  readonly id: string;
  /** Host patterns: `app.example.com`, `*.example.com`. */
  readonly hosts: readonly string[];
  readonly chain: string;
  readonly key: Secret;
}

/** A certificate in force, with its context once it has been asked for. */
export class CertificateEntry {
  readonly id: string;
  readonly #certificate: ServerCertificate;
  #context: tls.SecureContext | null = null;

  constructor(certificate: ServerCertificate) {
    this.id = certificate.id;
    this.#certificate = certificate;
  }

  /** Whether it is made out for this name (lower case, no last dot). */
  covers(name: string): boolean {
    const { hosts } = this.#certificate;
    const dot = name.indexOf(".");
    return hosts.includes(name) || (dot > 0 && hosts.includes(`*${name.slice(dot)}`));
  }

  /** Throws only for what the check before should have refused. */
  get context(): tls.SecureContext {
    return this.#context ??= tls.createSecureContext({
      cert: this.#certificate.chain,
      key: this.#certificate.key.reveal(),
      minVersion: "TLSv1.2",
    });
  }
}

export class Certificates {
  #entries = new Map<string, CertificateEntry>();
  #exact = new Map<string, CertificateEntry>();
  #wildcard = new Map<string, CertificateEntry>();
  #default: CertificateEntry | null = null;

  get size(): number {
    return this.#entries.size;
  }

  /** Puts these in force. Of two with the same host the first wins. Connections are left alone. */
  apply(certificates: readonly ServerCertificate[], defaultId: string | null): void {
    const entries = new Map<string, CertificateEntry>();
    const exact = new Map<string, CertificateEntry>();
    const wildcard = new Map<string, CertificateEntry>();
    for (const certificate of certificates) {
      const entry = this.#entries.get(certificate.id) ?? new CertificateEntry(certificate);
      entries.set(entry.id, entry);
      for (const host of certificate.hosts) {
        const [map, name] = host.startsWith("*.") ? [wildcard, host.slice(2)] : [exact, host];
        if (!map.has(name)) map.set(name, entry);
      }
    }
    this.#entries = entries;
    this.#exact = exact;
    this.#wildcard = wildcard;
    // A file's certificate carries its fingerprint behind the path.
    const isDefault = ({ id }: CertificateEntry) =>
      id === defaultId || id.startsWith(`${defaultId} `);
    this.#default = [...entries.values()].find(isDefault) ?? null;
  }

  /** The certificate made out for this name (lower case, no last dot), or null. */
  covering(name: string): CertificateEntry | null {
    const exact = this.#exact.get(name);
    if (exact !== undefined) return exact;
    const dot = name.indexOf(".");
    return dot <= 0 ? null : this.#wildcard.get(name.slice(dot + 1)) ?? null;
  }

  /** The certificate that a client gets that asks for this name ("" for none). */
  find(name: string): CertificateEntry | null {
    return this.covering(name) ?? this.#default;
  }
}
