/**
 * Hosts that are redirected to HTTPS in ingress-nginx alone. In: all Ingresses, and the snapshot of them. Out: a
 * finding for each TLS entry without a Secret, and for each other host of which plain HTTP is forwarded.
 *
 * In ingress-nginx, each rule host of an Ingress with TLS entries has a certificate, be it the default one, and
 * plain HTTP to any path of the host is redirected, unless ssl-redirect of the path's Ingress is false. Here, only a
 * certificate that names the host, or what the path's own Ingress says, causes it.
 */
import { showSome } from "../../../controller/base/json.ts";
import { wildcardOver } from "../../../controller/translate/model/host.ts";
import { PlainRoutes } from "../../../dev/explain/plain_routes.ts";
import type { Snapshot } from "../../../shared/snapshot/types.ts";
import type { HostFinding, Member } from "../host_member.ts";
import { tlsEntries, type TlsEntry } from "./tls_entry.ts";

/** A host that is plain here, and in ingress-nginx is not. */
interface PlainHost {
  readonly host: string;
  /** As a clause: "no certificate names the host". */
  readonly because: string;
  /** Has TLS entries. */
  readonly by: Member;
  /** The one that should have redirected it; null where the Ingress has none for the host. */
  readonly entry: TlsEntry | null;
}

/** @param members All Ingresses. */
export function plainHosts(members: readonly Member[], snapshot: Snapshot): HostFinding[] {
  const secured = new Map<string, Member>();
  for (const member of members) {
    if (member.isCanary || !member.annotations.hasTls) continue;
    for (const host of member.hosts.keys()) {
      if (host !== "" && !secured.has(host)) secured.set(host, member);
    }
  }
  if (secured.size === 0) return [];
  const plain = new PlainRoutes(snapshot);
  return members.flatMap((member): HostFinding[] => {
    if (member.isCanary) return [];
    const entries = tlsEntries(member.judged.ingress);
    const hosts = [...member.hosts.keys()].flatMap((host): PlainHost[] => {
      const by = secured.get(host) ?? secured.get(wildcardOver(host));
      const because = by === undefined ? null : plain.because(member.name, host);
      return by === undefined || because === null
        ? []
        : [{ host, because, by, entry: entryFor(host, entries) }];
    });
    const unnamed = entries.filter(({ secret }) => secret === null);
    return [
      ...unnamed.map((entry) =>
        unnamedEntry(member, entry, hosts.filter((each) => each.entry === entry))
      ),
      ...hosts.filter(({ entry }) => entry === null || entry.secret !== null)
        .map((each) => plainHost(member, each)),
    ];
  });
}

/** The first one that lists the host, else the first for the names of its certificate. */
function entryFor(host: string, entries: readonly TlsEntry[]): TlsEntry | null {
  return entries.find(({ hosts }) => hosts.includes(host) || hosts.includes(wildcardOver(host))) ??
    entries.find(({ hosts }) => hosts.length === 0) ?? null;
}

function plainHost({ name, hosts, annotations }: Member, plain: PlainHost): HostFinding {
  const { host, because, by, entry } = plain;
  const isOwn = annotations.hasTls;
  return {
    name,
    verdict: "OPENS",
    rule: "tls/plain-host",
    effect: `redirects plain HTTP to ${host} to HTTPS, as ${isOwn ? "the Ingress" : by.name} has ` +
      "TLS entries, with the default certificate where no other names the host",
    difference: `plain HTTP to ${host} is forwarded: ${because}`,
    remedy: `List ${host} in a TLS entry whose certificate names it, or write the annotation ` +
      (isOwn ? 'ssl-redirect: "true"' : 'force-ssl-redirect: "true"'),
    field: entry?.field ?? hosts.get(host)!,
  };
}

const NO_CERTIFICATE =
  "without a certificate of another Ingress or a default one, clients get the TLS alert " +
  "unrecognized_name";

/** @param plain Hosts that it is for. */
function unnamedEntry(
  { name }: Member,
  { field, hosts }: TlsEntry,
  plain: readonly PlainHost[],
): HostFinding {
  const rule = "tls/no-secret";
  const effect = "shows its default certificate, or a fake one";
  if (plain.length === 0) {
    return {
      ...{ name, verdict: "DIFFERS", rule, effect },
      difference: NO_CERTIFICATE,
      remedy: "Write secretName, or start the controller with --default-ssl-certificate",
      field,
    };
  }
  const isListed = hosts.length > 0;
  return {
    ...{ name, verdict: "OPENS", rule },
    effect: `${effect}, and redirects plain HTTP to HTTPS`,
    difference: `plain HTTP to ${showSome(plain.map(({ host }) => host))} is forwarded` +
      (isListed ? " unless the default certificate names the host" : "") + `; ${NO_CERTIFICATE}`,
    remedy: `Write ${isListed ? "secretName" : "hosts and secretName"}, or the annotation ` +
      'ssl-redirect: "true"; or start the controller with --default-ssl-certificate and a ' +
      `certificate that names the hosts${isListed ? "" : ", and list them"}`,
    field,
  };
}
