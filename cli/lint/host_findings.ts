/**
 * What one Ingress does to another through the host that they share. In: all Ingresses. Out:
 * findings by the name of the Ingress that they are about.
 */
import { isHonoured } from "../../controller/translate/annotations/nginx/table.ts";
import {
  accepterOf,
  readAccepted,
} from "../../controller/translate/annotations/own_annotations.ts";
import { readHost } from "../../controller/translate/model/host.ts";
import { catchAll } from "./catch_all.ts";
import { firstOfHost, firstOfService } from "./first_wins.ts";
import { type HostFinding, type Member, memberOf } from "./host_member.ts";
import type { Judgement } from "./judgement.ts";
import type { LintOptions } from "./options.ts";
import { regexNeighbours } from "./regex_mode.ts";
import { plainHosts } from "./tls/plain_hosts.ts";
import { tooLarge } from "./too_large.ts";
import { unsupportedNeighbours } from "./unsupported_patterns.ts";

export type HostFindingOptions = Pick<
  LintOptions,
  "hostOwnership" | "acceptUnsupported" | "allowAcceptUnsupportedAnnotation"
>;

export function hostFindings(
  { judged, snapshot }: Pick<Judgement, "judged" | "snapshot">,
  options: HostFindingOptions,
): HostFinding[] {
  const members = judged.map(memberOf);
  const byHost = new Map<string, Member[]>();
  for (const member of members) {
    for (const host of member.hosts.keys()) {
      const sharing = byHost.get(host);
      if (sharing === undefined) byHost.set(host, [member]);
      else sharing.push(member);
    }
  }
  return [
    ...[...byHost].flatMap(([host, sharing]) => [
      ...hostWideProtection(host, sharing, options),
      ...regexNeighbours(host, sharing),
      ...unsupportedNeighbours(host, sharing),
      ...firstOfHost(host, sharing),
      ...(options.hostOwnership === "shared" ? sharedAmongNamespaces(host, sharing) : []),
    ]),
    ...members.flatMap(aliases),
    ...members.flatMap((member) => loneCanary(member, members)),
    ...firstOfService(members),
    ...catchAll(members),
    ...tooLarge(members),
    ...plainHosts(members, snapshot),
  ];
}

/** Where hosts are judged as shared: the controller must be started so, too. */
function sharedAmongNamespaces(host: string, sharing: readonly Member[]): HostFinding[] {
  if (host === "") return [];
  return sharing.flatMap((member): HostFinding[] => {
    const other = sharing.find(({ namespace }) => namespace !== member.namespace);
    return other === undefined ? [] : [{
      name: member.name,
      field: member.hosts.get(host)!,
      verdict: "SAME",
      rule: "host/namespaces",
      effect: `${host} is shared with ${other.name}, of another namespace`,
      difference: null,
      remedy: "Start the controller with --host-ownership=shared, as lint",
    }];
  });
}

/**
 * Here such an annotation closes the host, in its own namespace where hosts have owners; if it is accepted,
 * nothing. There it holds for all.
 */
function hostWideProtection(
  host: string,
  sharing: readonly Member[],
  options: HostFindingOptions,
): HostFinding[] {
  const isShared = options.hostOwnership === "shared";
  return sharing.flatMap((by) =>
    by.annotations.written.flatMap(({ name, row, text, replacedBy }) => {
      const isProtection = row !== null && row.protects && row.scope === "host" &&
        !isHonoured(row) && replacedBy === null && !by.annotations.isHarmless(row, text);
      if (!isProtection) return [];
      const own = readAccepted(by.judged.ingress.metadata?.annotations);
      const isAccepted = accepterOf(name, own, options) !== null;
      const isOfOwner = (one: Member) => isShared || one.namespace === by.namespace;
      const open = sharing.filter((one) => one !== by && (isAccepted || !isOfOwner(one)));
      return open.map((member) => ({
        name: member.name,
        field: member.hosts.get(host)!,
        verdict: "OPENS" as const,
        rule: "host/protected-elsewhere",
        effect: host === ""
          ? `${name} of ${by.name} holds for all rules without a host`
          : `${name} of ${by.name} holds for the whole host`,
        ...(isOfOwner(member)
          ? {
            difference: `it holds for no Ingress, as ${name} is accepted as unsupported`,
            remedy: `Do not accept ${name}, or protect these paths in the backend`,
          }
          : {
            difference: "it does not hold for this Ingress, which is of another namespace",
            remedy: "Serve the host from one namespace, or protect these paths in the backend",
          }),
      }));
    })
  );
}

/** Names of hosts are no regular expressions here; the finding of the annotation has other faults. */
function aliases(member: Member): HostFinding[] {
  const text = member.annotations.textOf("server-alias");
  if (text === null || text === "" || member.isCanary) return [];
  const names = text.split(",").map((name) => name.trim()).filter((name) =>
    name.startsWith("~") && !readHost(name).ok
  );
  if (names.length === 0) return [];
  return [{
    name: member.name,
    field: 'metadata.annotations["nginx.ingress.kubernetes.io/server-alias"]',
    verdict: "BREAKS",
    rule: "host/alias",
    effect: `serves the host as ${names.join(", ")}, too`,
    difference: "these are left out, so requests for such hosts get 404",
    remedy: "List the names one by one",
  }];
}

/** A canary is an alternative of another Ingress; without one it takes no requests there either. */
function loneCanary(member: Member, members: readonly Member[]): HostFinding[] {
  if (!member.isCanary) return [];
  const hasMain = members.some((other) =>
    other.namespace === member.namespace && !other.isCanary &&
    [...member.paths].some((path) => other.paths.has(path))
  );
  return hasMain ? [] : [{
    name: member.name,
    field: 'metadata.annotations["nginx.ingress.kubernetes.io/canary"]',
    verdict: "SAME",
    rule: "host/canary-without-main",
    effect: "no other Ingress of the namespace has its host and path, so it takes no requests",
    difference: null,
    remedy: "Remove the Ingress, or name the folder of its main Ingress as well",
  }];
}
