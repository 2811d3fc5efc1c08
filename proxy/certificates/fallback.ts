/**
 * Certificates that were good when they were last read. In: those of one load. Out: what stays in
 * place of one that has become unusable, and what that means for those who would have got it.
 */
import { plainId } from "./diff.ts";
import type { ServerCertificate } from "./store.ts";

/** A usable certificate, and until when. */
export interface LoadedCertificate extends ServerCertificate {
  /** Where it comes from: a Secret's namespace and name, or the file of its chain. */
  readonly name: string;
  /** Whether names that no other covers get it. */
  readonly isDefault: boolean;
  /** In ms since the epoch. */
  readonly validTo: number;
}

/** What a certificate of a snapshot is for. */
export interface CertificateUse {
  /** Host patterns. */
  readonly hosts: readonly string[];
  /** For names that no other covers. */
  readonly isDefault: boolean;
  /** To backends. */
  readonly isShown: boolean;
  /** Of listeners of Gateways, for the names that they are for. */
  readonly isListened: boolean;
}

/** Characters of a fingerprint, with which each id ends. */
const FINGERPRINT = 64;

export class CertificateFallback {
  /** By host pattern: a host keeps its certificate even if the broken one has another id. */
  readonly #byHost = new Map<string, LoadedCertificate>();
  /** By the id that a snapshot gives. */
  readonly #byId = new Map<string, LoadedCertificate>();
  #default: LoadedCertificate | null = null;

  /** Takes what stands for `id`: the pair itself, or what stays in its place. */
  take(id: string, certificates: readonly LoadedCertificate[]): void {
    for (const certificate of certificates) {
      for (const host of certificate.hosts) this.#byHost.set(host, certificate);
      if (plainId(certificate.id) === id) this.#byId.set(id, certificate);
      if (certificate.isDefault) this.#default = certificate;
    }
  }

  /** What stays, each for the hosts that it was used for; none if there was nothing. */
  find(id: string, { hosts, isDefault, isShown, isListened }: CertificateUse): LoadedCertificate[] {
    const kept = new Map<string, LoadedCertificate>();
    const keep = (good: LoadedCertificate, host?: string) => {
      const before = kept.get(good.id)?.hosts ?? [];
      const all = host === undefined ? before : [...before, host];
      kept.set(good.id, { ...good, hosts: all, isDefault: false });
    };
    for (const host of hosts) {
      const good = this.#byHost.get(host);
      if (good !== undefined) keep(good, host);
    }
    const same = this.#byId.get(id);
    const isById = isShown || isListened || isDefault || hosts.length === 0;
    if (same !== undefined && isById) keep(same);
    // The snapshot names its default by an id, so one that had another gets that.
    if (isDefault && same === undefined && this.#default !== null) {
      keep({ ...this.#default, id: `${id} ${this.#default.id.slice(-FINGERPRINT)}` });
    }
    return [...kept.values()].map((good) =>
      isDefault && plainId(good.id) === id ? { ...good, isDefault } : good
    );
  }
}

/** What becomes of those that the refused certificate was for, as a clause. */
export function consequence(
  id: string,
  { hosts, isDefault, isShown, isListened }: CertificateUse,
  kept: readonly LoadedCertificate[],
): string {
  const keptHosts = new Set(kept.flatMap((good) => good.hosts));
  const stays: string[] = [];
  const lacks: string[] = [];
  const bare = hosts.filter((host) => !keptHosts.has(host));
  if (keptHosts.size > 0) stays.push(bare.length > 0 ? "for hosts that had one" : "for its hosts");
  if (bare.length > 0) lacks.push(`hosts without a certificate of their own: ${bare.length}`);
  if (isDefault) {
    if (kept.some((good) => good.isDefault)) stays.push("as the default");
    else lacks.push("names that no other certificate covers are refused");
  }
  const isKept = kept.some((good) => plainId(good.id) === id);
  if (isShown) {
    if (isKept) stays.push("for backends");
    else lacks.push("requests to the backends that it is for get 502");
  }
  if (isListened) {
    if (isKept) stays.push("for listeners of Gateways");
    else lacks.push("listeners without another certificate refuse handshakes");
  }
  if (stays.length > 0) lacks.unshift(`the last good one stays ${stays.join(" and ")}`);
  return lacks.join("; ") || "nothing used it";
}
