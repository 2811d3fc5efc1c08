/**
 * Hosts of the default certificate. In: TLS entries without a certificate of their own, the names of the
 * default certificate, and the certificates of all hosts. Out: the same certificates, with these hosts in
 * the default one, so that plain HTTP to them is redirected to HTTPS as ingress-nginx does.
 *
 * Clients get the default certificate for such a host in any case; being listed makes the host one of HTTPS.
 * A host that the certificate does not name is left out: browsers would refuse the redirect's target.
 */
import type { Certificate } from "../../../shared/snapshot/types.ts";
import { isSameList, LastResult } from "../../base/memo.ts";
import type { Ownership } from "../hosts/ownership.ts";
import type { Source } from "../model/source.ts";
import { coversHost } from "./certificate.ts";
import type { FoundDefault } from "./default_certificate.ts";
import type { TlsLayout } from "./tls.ts";

interface DefaultInputs {
  readonly certificates: readonly Certificate[];
  readonly found: FoundDefault;
  readonly ingresses: readonly Source[];
  readonly statuses: TlsLayout["statuses"];
  readonly ownership: Ownership;
}

export class DefaultHosts {
  readonly #last = new LastResult<DefaultInputs, readonly Certificate[]>();
  /** What was last made of the default certificate. */
  #made: { readonly before: Certificate; readonly certificate: Certificate } | null = null;
  readonly #withoutHosts = new WeakMap<Certificate, Certificate>();

  /** A published certificate as the default one of new hosts; the very same each time. */
  stripped(published: Certificate): Certificate {
    if (published.hosts.length === 0) return published;
    let certificate = this.#withoutHosts.get(published);
    if (certificate === undefined) {
      const { plain: _, ...rest } = published;
      this.#withoutHosts.set(published, certificate = { ...rest, hosts: [] });
    }
    return certificate;
  }

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
    const inputs: DefaultInputs = { certificates, found, ingresses, statuses, ownership };
    return this.#last.recall((last) => isSameDefault(last, inputs)) ??
      this.#last.keep(inputs, this.#added(inputs));
  }

  #added({ certificates, found, ...rest }: DefaultInputs): readonly Certificate[] {
    const bare = bareHosts(rest).filter((host) => coversHost(found.names, host));
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
      this.#made === null || !isSameButHosts(this.#made.before, before) ||
      !isSameList(this.#made.certificate.hosts, hosts)
    ) {
      this.#made = { before, certificate: { ...before, hosts } };
    }
    return this.#made.certificate;
  }
}

/** Changes of Services and endpoints leave all of this as it was. */
function isSameDefault(a: DefaultInputs, b: DefaultInputs): boolean {
  return a.ingresses === b.ingresses && a.statuses === b.statuses && a.ownership === b.ownership &&
    a.found.certificate === b.found.certificate &&
    isSameList([...a.found.names], [...b.found.names]) &&
    isSameList(a.certificates, b.certificates);
}

function isSameButHosts(a: Certificate, b: Certificate): boolean {
  return a === b ||
    (a.id === b.id && a.chain === b.chain && a.key === b.key &&
      isSameList(a.plain ?? [], b.plain ?? []));
}

/**
 * Hosts of entries that name no Secret, or one that cannot be used, as far as they are their namespace's
 * own and have a rule, which its bounds count. A wildcard counts only where hosts are shared: it would
 * decide about hosts of other namespaces.
 */
function bareHosts(
  { ingresses, statuses, ownership }: Omit<DefaultInputs, "certificates" | "found">,
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
  if (!isShared || bare.length === 0) return bare;
  const named = new Set(ingresses.flatMap(({ rules }) => rules.map(({ host }) => host)));
  return bare.filter((host) => named.has(host));
}
