/**
 * Which hosts a TLS entry counts for. In: the owners of hosts, and a host of an entry. Out: the hosts
 * that it counts for: those that the entry's namespace owns or has a rule for. A rule for any host has
 * none that another namespace's wildcard takes. An entry for a wildcard that the namespace does not own
 * counts for the namespace's own hosts below it.
 */
import type { HostOwner } from "../hosts/host_owner.ts";
import type { Ownership } from "../hosts/ownership.ts";
import type { Report } from "../../base/problems.ts";
import type { Source, TlsHost } from "../model/source.ts";

export type Admission =
  | { readonly kind: "own" }
  /** Hosts below the wildcard, in no order; never none. */
  | { readonly kind: "below"; readonly hosts: readonly string[] }
  /** @property pattern What is owned: the host, or a wildcard above it. */
  | { readonly kind: "refused"; readonly owner: HostOwner; readonly pattern: string }
  /** No rule of the namespace takes the host. */
  | { readonly kind: "unused" };

const OWN: Admission = { kind: "own" };
const UNUSED: Admission = { kind: "unused" };

export class TlsAdmission {
  readonly #ownership: Ownership;
  /** Namespaces with rules, or a default backend, for any host. */
  readonly #any: ReadonlySet<string>;
  /** By namespace and host. */
  readonly #known = new Map<string, Admission>();
  /** Exact hosts by `*.suffix`. */
  #below: ReadonlyMap<string, readonly string[]> | null = null;

  constructor(ingresses: readonly Source[], ownership: Ownership) {
    this.#ownership = ownership;
    const any = new Set<string>();
    for (const { takesAnyHost, identity } of ingresses) {
      if (takesAnyHost) any.add(identity.ref.namespace);
    }
    this.#any = any;
  }

  /** The same for a host and a namespace each time: entries may list one a thousand times. */
  admit(host: string, namespace: string): Admission {
    // Of nearly all entries, for which a key would cost more than the answer.
    if (this.#isOwn(host, namespace)) return OWN;
    const key = `${namespace} ${host}`;
    let admission = this.#known.get(key);
    if (admission === undefined) {
      admission = this.#admit(host, namespace);
      this.#known.set(key, admission);
    }
    return admission;
  }

  #isOwn(host: string, namespace: string): boolean {
    return this.#ownership.mode === "shared" ||
      (this.#ownership.owners.has(host) &&
        this.#ownership.standing(host, namespace) === "owner");
  }

  /** Of a host that is not the namespace's own. */
  #admit(host: string, namespace: string): Admission {
    const { owners } = this.#ownership;
    const pattern = owners.has(host) ? host : this.#ownership.wildcardAbove(host);
    const owner = pattern === undefined ? undefined : owners.get(pattern);
    const isAbove = pattern !== host;
    const isOwn = pattern !== undefined &&
      this.#ownership.standing(pattern, namespace) === "owner";
    const takesAny = this.#any.has(namespace);
    if (host.startsWith("*.")) {
      const hosts = this.exactBelow(host).filter((one) =>
        this.#ownership.standing(one, namespace) === "owner"
      );
      // One for all hosts includes them.
      if (isAbove && takesAny && (owner === undefined || isOwn)) return OWN;
      if (hosts.length > 0) return { kind: "below", hosts };
    }
    if (pattern === undefined || owner === undefined) return takesAny ? OWN : UNUSED;
    if (isOwn) return OWN;
    return isAbove && !takesAny ? UNUSED : { kind: "refused", owner, pattern };
  }

  /** Exact hosts that somebody owns. */
  exactBelow(wildcard: string): readonly string[] {
    this.#below ??= Map.groupBy(
      [...this.#ownership.owners.keys()].filter((host) =>
        !host.startsWith("*.") && host.includes(".")
      ),
      (host) => `*${host.slice(host.indexOf("."))}`,
    );
    return this.#below.get(wildcard) ?? [];
  }
}

/** Says why an entry does not count for a host that it lists. */
export function reportNotAdmitted(
  report: Report,
  { field, host }: TlsHost,
  admission: Extract<Admission, { kind: "refused" | "unused" }>,
): void {
  if (admission.kind === "refused") {
    const { owner: { namespace }, pattern } = admission;
    report.error(field, {
      reason: "HostNotOwned",
      ...(pattern === host
        ? {
          message: `host ${host} belongs to namespace ${namespace}, so the certificate is not ` +
            "used for it",
          remedy: "Remove the host from the TLS entry; certificates are never shared",
        }
        : {
          message: `host ${host} is below ${pattern}, which belongs to namespace ${namespace}, ` +
            "so the certificate is not used for it",
          remedy: "Add a rule for the host, or remove it from the TLS entry; certificates are " +
            "never shared",
        }),
    });
    return;
  }
  report.warning(field, {
    reason: "TlsHostWithoutRule",
    message: `no rule of this namespace has host ${host}, so the certificate is not used for it`,
    remedy: "Add a rule for the host, or remove it from the TLS entry",
  });
}
