/**
 * What one Ingress does to another through the host that they share. In: all Ingresses. Out:
 * findings by the name of the Ingress that they are about.
 */
import { asList, asText, fieldOf } from "../../controller/base/json.ts";
import type { NginxAnnotations } from "../../controller/translate/annotations/nginx/nginx_annotations.ts";
import { isCanary } from "../../controller/translate/annotations/nginx/refusals.ts";
import { isHonoured } from "../../controller/translate/annotations/nginx/table.ts";
import { annotationsOf } from "./annotation_findings.ts";
import type { Finding } from "./finding.ts";
import { guardBeside, guardsOf } from "./guarded_paths.ts";
import type { JudgedIngress } from "./judgement.ts";

interface Member {
  readonly judged: JudgedIngress;
  readonly namespace: string;
  readonly annotations: NginxAnnotations;
  /** The field of the first rule with a host; "" is any host. */
  readonly hosts: ReadonlyMap<string, string>;
  /** Host and path, one text each. */
  readonly paths: ReadonlySet<string>;
  readonly guards: ReadonlySet<string>;
  readonly isCanary: boolean;
}

export type HostFinding = Omit<Finding, "at"> & { readonly name: string; readonly field: string };

/** Of the proxies: whether all that nginx's paths merge and decode is merged, or refused. */
export interface SlashOptions {
  readonly mergeSlashes: boolean;
  readonly refuseEscapedSlashes: boolean;
}

export function hostFindings(
  judged: readonly JudgedIngress[],
  slashes: SlashOptions,
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
      ...hostWideProtection(host, sharing),
      ...escapedPaths(host, sharing, slashes),
    ]),
    ...members.flatMap((member) => aliases(member, byHost)),
    ...members.flatMap((member) => loneCanary(member, members)),
  ];
}

function memberOf(judged: JudgedIngress): Member {
  const hosts = new Map<string, string>();
  const paths = new Set<string>();
  for (const [i, rule] of (asList(fieldOf(judged.ingress.spec, "rules")) ?? []).entries()) {
    const host = (asText(fieldOf(rule, "host")) ?? "").toLowerCase();
    if (!hosts.has(host)) hosts.set(host, `spec.rules[${i}].host`);
    for (const path of asList(fieldOf(fieldOf(rule, "http"), "paths")) ?? []) {
      paths.add(`${host} ${asText(fieldOf(path, "path")) ?? "/"}`);
    }
  }
  const { namespace } = judged.status.object;
  const annotations = annotationsOf(judged);
  return {
    ...{ judged, namespace, annotations, hosts, paths },
    ...{ guards: guardsOf(annotations), isCanary: isCanary(annotations) },
  };
}

/** nginx merges slashes and decodes %2F before it matches: `//admin` takes the path `/admin`. */
function escapedPaths(
  host: string,
  sharing: readonly Member[],
  { mergeSlashes, refuseEscapedSlashes }: SlashOptions,
): HostFinding[] {
  if (mergeSlashes && refuseEscapedSlashes) return [];
  const flags = [
    ...(mergeSlashes ? [] : ["--merge-slashes"]),
    ...(refuseEscapedSlashes ? [] : ["--refuse-escaped-slashes"]),
  ].join(" and ");
  return sharing.flatMap((member): HostFinding[] => {
    const guard = guardBeside(member, sharing);
    return guard === null ? [] : [{
      name: member.judged.name,
      field: member.hosts.get(host)!,
      verdict: "OPENS",
      rule: "host/slashes",
      effect: "paths are matched with repeated slashes merged and %2F decoded",
      difference: "paths are matched as they are received, so protected paths of " +
        `${guard.judged.name}, written with // or %2F, are forwarded here`,
      remedy: `Start the proxies with ${flags}, and lint as well`,
    }];
  });
}

/** Here such an annotation closes the host in its own namespace; there it holds for all. */
function hostWideProtection(host: string, sharing: readonly Member[]): HostFinding[] {
  if (host === "") return [];
  return sharing.flatMap((by) =>
    by.annotations.written.flatMap(({ name, row, text, replacedBy }) => {
      const isProtection = row !== null && row.protects && row.scope === "host" &&
        !isHonoured(row) && replacedBy === null && !by.annotations.isHarmless(row, text);
      if (!isProtection) return [];
      return sharing.filter(({ namespace }) => namespace !== by.namespace).map((member) => ({
        name: member.judged.name,
        field: member.hosts.get(host)!,
        verdict: "OPENS" as const,
        rule: "host/protected-elsewhere",
        effect: `${name} of ${by.judged.name} holds for the whole host`,
        difference: "it does not hold for this Ingress, which is of another namespace",
        remedy: "Serve the host from one namespace, or protect these paths in the backend",
      }));
    })
  );
}

function aliases(member: Member, byHost: ReadonlyMap<string, unknown>): HostFinding[] {
  const text = member.annotations.textOf("server-alias");
  if (text === null || text === "" || member.isCanary) return [];
  const names = text.split(",").map((name) => name.trim().toLowerCase()).filter((name) =>
    name !== "" && !byHost.has(name)
  );
  if (names.length === 0) return [];
  return [{
    name: member.judged.name,
    field: 'metadata.annotations["nginx.ingress.kubernetes.io/server-alias"]',
    verdict: "BREAKS",
    rule: "host/alias",
    effect: `serves the host as ${names.join(", ")}, too`,
    difference: "no Ingress has these hosts, so requests for them get 404",
    remedy: "Add a rule for each to spec.rules, then remove the annotation",
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
    name: member.judged.name,
    field: 'metadata.annotations["nginx.ingress.kubernetes.io/canary"]',
    verdict: "SAME",
    rule: "host/canary-without-main",
    effect: "no other Ingress of the namespace has its host and path, so it takes no requests",
    difference: null,
    remedy: "Remove the Ingress, or name the folder of its main Ingress as well",
  }];
}
