/**
 * What differs between two sets of certificates. In: the one in force and the next, checked. Out:
 * the certificates that are new, and the names whose certificate is another one now: of ten thousand
 * a rotation posts one to a worker, not all of them with their keys.
 */
import type { Assignment, CertificateDelta, ServerCertificate } from "./store.ts";

/** Compares each set with the one before. */
export class CertificateDiffer {
  /** What each certificate is used for, by its id. */
  #certificates = new Map<string, string>();
  #hosts = new Map<string, string>();
  #ids = new Map<string, string>();
  #last: readonly ServerCertificate[] = [];

  /**
   * What changed since the last call; everything at the first. Of two with the same host the first
   * wins. Ids carry the fingerprint: the same id is the same chain and key.
   */
  diff(certificates: readonly ServerCertificate[]): CertificateDelta {
    const last = this.#last;
    this.#last = certificates;
    if (certificates.length === last.length && certificates.every((one, i) => one === last[i])) {
      return { changed: [], removed: [], hosts: [], ids: [] };
    }
    const known = new Map<string, string>();
    const hosts = new Map<string, string>();
    const ids = new Map<string, string>();
    const changed: ServerCertificate[] = [];
    for (const certificate of mergeById(certificates)) {
      const { id } = certificate;
      const list = `${certificate.hosts.join()} ${certificate.plain?.join() ?? ""}`;
      known.set(id, list);
      if (this.#certificates.get(id) !== list) changed.push(certificate);
      for (const host of certificate.hosts) if (!hosts.has(host)) hosts.set(host, id);
      ids.set(plainId(id), id);
    }
    const delta: CertificateDelta = {
      changed,
      removed: [...this.#certificates.keys()].filter((id) => !known.has(id)),
      hosts: assignments(this.#hosts, hosts),
      ids: assignments(this.#ids, ids),
    };
    this.#certificates = known;
    this.#hosts = hosts;
    this.#ids = ids;
    return delta;
  }
}

function assignments(
  before: ReadonlyMap<string, string>,
  after: ReadonlyMap<string, string>,
): Assignment[] {
  const changed: Assignment[] = [];
  for (const [name, id] of after) if (before.get(name) !== id) changed.push([name, id]);
  for (const name of before.keys()) if (!after.has(name)) changed.push([name, null]);
  return changed;
}

/** Once checked, a certificate carries its fingerprint behind the id that a snapshot gives it. */
export function plainId(id: string): string {
  return id.replace(/ [0-9a-f]{64}$/, "");
}

/** One certificate may come once for each host that it stays in force for. */
function mergeById(certificates: readonly ServerCertificate[]): Iterable<ServerCertificate> {
  const merged = new Map<string, ServerCertificate>();
  for (const certificate of certificates) {
    const { id, hosts, plain } = certificate;
    const other = merged.get(id);
    if (other === undefined) merged.set(id, certificate);
    else {
      const all = [...new Set([...other.hosts, ...hosts])];
      const both = [...new Set([...other.plain ?? [], ...plain ?? []])];
      merged.set(id, { ...other, hosts: all, ...(both.length === 0 ? {} : { plain: both }) });
    }
  }
  return merged.values();
}
