/**
 * The certificates in force. In: those of a snapshot, as PEM. Out: the one for a server name: exact,
 * then wildcard, then the default.
 *
 * A context is made when a name is first asked for: 2,000 of them cost half a second and 12 MiB a
 * thread, and most names are not asked for between two changes. One that stays in force keeps its
 * context, so sessions resume over a change elsewhere.
 */
import { createPrivateKey } from "node:crypto";
import tls from "node:tls";
import { type Names, staysPlain } from "../../shared/host/plain_hosts.ts";
import type { Secret } from "../../shared/redacted.ts";

/** A certificate whose chain and key are at hand and have been checked. */
export interface ServerCertificate {
  readonly id: string;
  /** Host patterns: `app.example.com`, `*.example.com`. */
  readonly hosts: readonly string[];
  /** Hosts to which plain HTTP is not redirected; see `Certificate` of the snapshot. */
  readonly plain?: readonly string[];
  readonly chain: string;
  readonly key: Secret;
}

/**
 * Signature schemes by type of key, or by curve, which has one scheme each (RFC 8446 §4.2.3). Those of SHA-1 are
 * left out. Browsers offer neither that of P-521 nor that of Ed25519.
 */
const SCHEMES: Readonly<Record<string, readonly number[]>> = {
  rsa: [0x0401, 0x0501, 0x0601, 0x0804, 0x0805, 0x0806],
  prime256v1: [0x0403],
  secp384r1: [0x0503],
  secp521r1: [0x0603],
  ed25519: [0x0807],
};

/** So many names are compared sooner than one is hashed. */
const FEW_NAMES = 8;

/** A certificate may be for 10,000 hosts of one Ingress, and each request asks for one. */
class HostNames implements Names {
  readonly #list: readonly string[];
  /** Made when it is first of use. */
  #set: ReadonlySet<string> | null = null;

  constructor(list: readonly string[]) {
    this.#list = list;
  }

  includes(name: string): boolean {
    if (this.#list.length <= FEW_NAMES) return this.#list.includes(name);
    this.#set ??= new Set(this.#list);
    return this.#set.has(name);
  }
}

/**
 * A certificate in force, with its context once it has been asked for. It never changes, so a
 * connection goes on with the names for which it was opened.
 */
export class CertificateEntry {
  readonly id: string;
  readonly #certificate: ServerCertificate;
  readonly #names: { readonly hosts: Names; readonly plain?: Names };
  #context: tls.SecureContext | null = null;
  /** Key of `SCHEMES`: the curve or the type of the private key; null until it is needed. */
  #keyName: string | null = null;

  /** @param before the entry of the same certificate for other names, if there was one. */
  constructor(certificate: ServerCertificate, before?: CertificateEntry) {
    this.id = certificate.id;
    this.#certificate = certificate;
    const { hosts, plain } = certificate;
    this.#names = {
      hosts: new HostNames(hosts),
      plain: plain === undefined ? undefined : new HostNames(plain),
    };
    this.#context = before === undefined ? null : before.#context;
  }

  get hosts(): readonly string[] {
    return this.#certificate.hosts;
  }

  /** Whether it is made out for this name (lower case, no last dot). */
  covers(name: string): boolean {
    const { hosts } = this.#names;
    const dot = name.indexOf(".");
    return hosts.includes(name) || (dot > 0 && hosts.includes(`*${name.slice(dot)}`));
  }

  /** Whether plain HTTP to this name, which it covers, goes to HTTPS. */
  redirects(name: string): boolean {
    return !staysPlain(this.#names, name);
  }

  /** To show to backends. */
  get pair(): ServerCertificate {
    return this.#certificate;
  }

  /** Whether a client verifies its signatures that knows these schemes (RFC 8446 §4.2.3). */
  isVerifiedBy(schemes: readonly number[]): boolean {
    this.#keyName ??= keyName(this.#certificate.key);
    const known = SCHEMES[this.#keyName];
    return known === undefined || schemes.some((scheme) => known.includes(scheme));
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

/** A name, and the id of the certificate that it has now; null where it has none any more. */
export type Assignment = readonly [name: string, id: string | null];

export interface CertificateDelta {
  /** New ones, and those that are used for other hosts than before. */
  readonly changed: readonly ServerCertificate[];
  /** Ids. */
  readonly removed: readonly string[];
  /** Host patterns whose certificate is another one. */
  readonly hosts: readonly Assignment[];
  /** Ids that a snapshot gives, and the full ones that stand for them now. */
  readonly ids: readonly Assignment[];
}

export class Certificates {
  readonly #entries = new Map<string, CertificateEntry>();
  /** From the ids that a snapshot gives, and from names, to the ids of entries. */
  readonly #ids = new Map<string, string>();
  readonly #exact = new Map<string, string>();
  readonly #wildcard = new Map<string, string>();
  #default: string | null = null;

  get size(): number {
    return this.#entries.size;
  }

  /** Puts what has changed in force. Connections are left alone. */
  apply({ changed, removed, hosts, ids }: CertificateDelta, defaultId: string | null): void {
    for (const certificate of changed) {
      const { id } = certificate;
      this.#entries.set(id, new CertificateEntry(certificate, this.#entries.get(id)));
    }
    for (const id of removed) this.#entries.delete(id);
    for (const [host, id] of hosts) {
      if (host.startsWith("*.")) assign(this.#wildcard, host.slice(2), id);
      else assign(this.#exact, host, id);
    }
    for (const [name, id] of ids) assign(this.#ids, name, id);
    this.#default = defaultId;
  }

  /** By the id that a snapshot gives it. */
  byId(id: string): CertificateEntry | null {
    return this.#entry(this.#ids.get(id));
  }

  /** The certificate made out for this name (lower case, no last dot), or null. */
  covering(name: string): CertificateEntry | null {
    const exact = this.#exact.get(name);
    if (exact !== undefined) return this.#entry(exact);
    const dot = name.indexOf(".");
    return dot <= 0 ? null : this.#entry(this.#wildcard.get(name.slice(dot + 1)));
  }

  /**
   * Whether a request for a name must come on a connection of its own, as another certificate than the one
   * shown is made out for it. RFC 9110 §15.5.20
   */
  isMisdirected(
    name: string,
    shown: { readonly id?: string; covers(name: string): boolean },
  ): boolean {
    if (shown.covers(name)) return false;
    const other = this.covering(name);
    // The same one may have got the name since the handshake.
    return other !== null && other.id !== shown.id;
  }

  /** The certificate that a client gets that asks for this name ("" for none). */
  find(name: string): CertificateEntry | null {
    return this.covering(name) ?? (this.#default === null ? null : this.byId(this.#default));
  }

  /**
   * Of the certificates with these ids the first that a client with these signature schemes verifies,
   * or else the first; null where none can be used.
   *
   * @param schemes Asked only where there are several.
   */
  preferred(ids: readonly string[], schemes: () => readonly number[]): CertificateEntry | null {
    const entries = ids.flatMap((id) => this.byId(id) ?? []);
    if (entries.length <= 1) return entries[0] ?? null;
    const known = schemes();
    return entries.find((entry) => entry.isVerifiedBy(known)) ?? entries[0];
  }

  #entry(id: string | undefined): CertificateEntry | null {
    return id === undefined ? null : this.#entries.get(id) ?? null;
  }
}

/**
 * The curve of a private key, or else its type, as `node:crypto` names them. Not from the certificate, whose getter
 * fails for RSA keys of more than 4,096 bits (Deno 2.9).
 */
function keyName(key: Secret): string {
  const { asymmetricKeyDetails, asymmetricKeyType } = createPrivateKey(key.reveal());
  return asymmetricKeyDetails?.namedCurve ?? asymmetricKeyType ?? "";
}

function assign(map: Map<string, string>, name: string, id: string | null): void {
  if (id === null) map.delete(name);
  else map.set(name, id);
}
