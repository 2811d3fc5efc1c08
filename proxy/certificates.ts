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

/**
 * A certificate in force, with its context once it has been asked for. It never changes, so a
 * connection goes on with the names for which it was opened.
 */
export class CertificateEntry {
  readonly id: string;
  readonly #certificate: ServerCertificate;
  #context: tls.SecureContext | null = null;

  /** @param before the entry of the same certificate for other names, if there was one. */
  constructor(certificate: ServerCertificate, before?: CertificateEntry) {
    this.id = certificate.id;
    this.#certificate = certificate;
    this.#context = before === undefined ? null : before.#context;
  }

  get hosts(): readonly string[] {
    return this.#certificate.hosts;
  }

  /** Whether it is made out for this name (lower case, no last dot). */
  covers(name: string): boolean {
    const { hosts } = this.#certificate;
    const dot = name.indexOf(".");
    return hosts.includes(name) || (dot > 0 && hosts.includes(`*${name.slice(dot)}`));
  }

  /** To show to backends. */
  get pair(): ServerCertificate {
    return this.#certificate;
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
  #ids = new Map<string, CertificateEntry>();
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
    for (const certificate of mergeById(certificates)) {
      const before = this.#entries.get(certificate.id);
      const isSame = before !== undefined && before.hosts.join() === certificate.hosts.join();
      const entry = isSame ? before : new CertificateEntry(certificate, before);
      entries.set(entry.id, entry);
      for (const host of certificate.hosts) {
        const [map, name] = host.startsWith("*.") ? [wildcard, host.slice(2)] : [exact, host];
        if (!map.has(name)) map.set(name, entry);
      }
    }
    this.#entries = entries;
    this.#exact = exact;
    this.#wildcard = wildcard;
    this.#ids = new Map([...entries.values()].map((entry) => [plainId(entry.id), entry]));
    this.#default = defaultId === null ? null : this.#ids.get(defaultId) ?? null;
  }

  /** By the id that a snapshot gives it. */
  byId(id: string): CertificateEntry | null {
    return this.#ids.get(id) ?? null;
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

/** Once checked, a certificate carries its fingerprint behind the id that a snapshot gives it. */
function plainId(id: string): string {
  return id.replace(/ [0-9a-f]{64}$/, "");
}

/** One certificate may come once for each host that it stays in force for. */
function mergeById(certificates: readonly ServerCertificate[]): Iterable<ServerCertificate> {
  const merged = new Map<string, ServerCertificate>();
  for (const certificate of certificates) {
    const { id, hosts } = certificate;
    const other = merged.get(id);
    if (other === undefined) merged.set(id, certificate);
    else merged.set(id, { ...other, hosts: [...new Set([...other.hosts, ...hosts])] });
  }
  return merged.values();
}
