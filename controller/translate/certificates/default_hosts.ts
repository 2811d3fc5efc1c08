/**
 * Hosts of the default certificate. In: TLS entries without a certificate of their own, the names of the
 * default certificate, and the certificates of all hosts. Out: the same certificates, with these hosts in
 * the default one, so that plain HTTP to them is redirected to HTTPS as ingress-nginx does.
 *
 * Clients get the default certificate for such a host in any case; being listed makes the host one of HTTPS.
 * A host that the certificate does not name is left out: its clients would be sent to a warning.
 */
import type { Certificate } from "../../../shared/snapshot/types.ts";
import { isSameList } from "../../base/memo.ts";
import type { Ownership } from "../hosts/ownership.ts";
import type { Source } from "../model/source.ts";
import { coversHost } from "./certificate.ts";
import type { FoundDefault } from "./default_certificate.ts";
import type { TlsLayout } from "./tls.ts";

export class DefaultHosts {
  /** What was last made of the default certificate. */
  #last: { readonly before: Certificate; readonly certificate: Certificate } | null = null;

  /**
   * @param certificates With the default one, if there is one; the very same list where it gets no hosts.
   * @param statuses Of each Ingress, in the same order.
   */
  add(
    certificates: readonly Certificate[],
    found: FoundDefault | null,
    ingresses: readonly Source[],
    statuses: TlsLayout["statuses"],
    ownership: Ownership,
  ): readonly Certificate[] {
    if (found === null) return certificates;
    const bare = bareHosts(ingresses, statuses, ownership).filter((host) =>
      coversHost(found.names, host)
    );
    if (bare.length === 0) return certificates;
    const taken = new Set(certificates.flatMap(({ hosts }) => hosts));
    const free = bare.filter((host) =>
      !taken.has(host) && !taken.has(`*${host.slice(host.indexOf("."))}`)
    );
    if (free.length === 0) return certificates;
    const { id } = found.certificate;
    return certificates.map((each) => each.id === id ? this.#with(each, free) : each);
  }

  /** The very same as before for the same certificate and hosts. */
  #with(before: Certificate, added: readonly string[]): Certificate {
    const hosts = [...new Set([...before.hosts, ...added])].sort();
    if (
      this.#last === null || !isSameButHosts(this.#last.before, before) ||
      !isSameList(this.#last.certificate.hosts, hosts)
    ) {
      this.#last = { before, certificate: { ...before, hosts } };
    }
    return this.#last.certificate;
  }
}

function isSameButHosts(a: Certificate, b: Certificate): boolean {
  return a === b ||
    (a.id === b.id && a.chain === b.chain && a.key === b.key &&
      isSameList(a.plain ?? [], b.plain ?? []));
}

/**
 * Hosts of entries that name no Secret, or one that cannot be used, as far as they are their namespace's
 * own. A wildcard counts only where hosts are shared: it would decide about hosts of other namespaces.
 */
function bareHosts(
  ingresses: readonly Source[],
  statuses: TlsLayout["statuses"],
  ownership: Ownership,
): string[] {
  const isShared = ownership.mode === "shared";
  const bare: string[] = [];
  for (const [i, { tls, identity: { ref } }] of ingresses.entries()) {
    for (const [j, { secret, hosts }] of tls.entries()) {
      if (hosts === null || (secret !== null && statuses[i][j].outcome !== "failing")) continue;
      for (const { host } of hosts) {
        const isOwn = isShared ||
          (!host.startsWith("*.") && ownership.standing(host, ref.namespace) === "owner");
        if (isOwn) bare.push(host);
      }
    }
  }
  return bare;
}
