/**
 * Annotations of which ingress-nginx reads one for a whole host or Service. In: the Ingresses that share
 * it. Out: a finding for each one that says something else than the oldest, which alone is read there.
 */
import { fieldOfAnnotation } from "../../controller/translate/annotations/nginx/refusals.ts";
import { BY_NAME, isHonoured } from "../../controller/translate/annotations/nginx/table.ts";
import { type HostFinding, type Member, oldestOf } from "./host_member.ts";

interface Group {
  /** Names it; the Ingress has it where this one has a value. */
  readonly main: string;
  /** Read together with it. */
  readonly others?: readonly string[];
  /** Whether an Ingress without it counts as well, and may be the one that is read. */
  readonly countsWithout?: true;
  /** Whether the same one is read here. */
  readonly isSameHere?: true;
}

/** Of the first Ingress of the host that has one. */
const OF_HOST: readonly Group[] = [
  { main: "server-alias", isSameHere: true },
  {
    main: "auth-tls-secret",
    others: ["auth-tls-verify-client", "auth-tls-verify-depth", "auth-tls-match-cn"],
  },
  { main: "ssl-ciphers" },
  { main: "ssl-prefer-server-ciphers" },
  { main: "server-snippet" },
];

/** Of the first Ingress that names the port of a Service. */
const OF_SERVICE: readonly Group[] = [
  { main: "load-balance", countsWithout: true },
  {
    main: "upstream-hash-by",
    others: ["upstream-hash-by-subset", "upstream-hash-by-subset-size"],
    countsWithout: true,
  },
  { main: "service-upstream", countsWithout: true },
  { main: "affinity" },
];

export function firstOfHost(host: string, sharing: readonly Member[]): HostFinding[] {
  return OF_HOST.flatMap((group) => losers(group, sharing, `the host ${host === "" ? "*" : host}`));
}

/** @param members All Ingresses. */
export function firstOfService(members: readonly Member[]): HostFinding[] {
  const byService = new Map<string, Member[]>();
  for (const member of members) {
    if (member.isCanary) continue;
    for (const service of member.services.keys()) {
      const sharing = byService.get(service);
      if (sharing === undefined) byService.set(service, [member]);
      else sharing.push(member);
    }
  }
  return [...byService].flatMap(([service, sharing]) =>
    OF_SERVICE.flatMap((group) => losers(group, sharing, `the Service ${service}`))
  );
}

function losers(group: Group, sharing: readonly Member[], what: string): HostFinding[] {
  if (sharing.length < 2) return [];
  const { main, others = [], countsWithout, isSameHere } = group;
  const texts = new Map<Member, string>();
  for (const member of sharing) {
    const own = member.isCanary ? "" : member.annotations.textOf(main) ?? "";
    if (own === "" && (countsWithout !== true || member.isCanary)) continue;
    texts.set(
      member,
      JSON.stringify([own, ...others.map((name) => member.annotations.textOf(name) ?? "")]),
    );
  }
  if (new Set(texts.values()).size < 2) return [];
  const having = [...texts.keys()];
  const oldest = oldestOf(having);
  // In the table since `having` is not empty; what it says of the whole group holds.
  const row = BY_NAME.get(main)!.row;
  const isHonouredHere = isHonoured(row) && isSameHere !== true;
  return having
    .filter((member) => oldest === null || texts.get(member) !== texts.get(oldest))
    .map((member): HostFinding => ({
      name: member.name,
      field: fieldOf(member, main, what, sharing),
      verdict: isHonouredHere ? "DIFFERS" : "SAME",
      rule: "host/first-wins",
      effect: `${main}: for ${what} that of the oldest Ingress alone is read, which ` +
        (oldest === null ? `is this one or ${nameOthers(member, having)}` : `is ${oldest.name}`),
      difference: isHonouredHere ? "each Ingress has its own here" : null,
      remedy: `Write the same ${main} in all of them, or remove it from all but the oldest`,
    }));
}

/** The annotation, or where it is missing the rule or backend by which the Ingress has a part in it. */
function fieldOf(member: Member, main: string, what: string, sharing: readonly Member[]): string {
  if ((member.annotations.textOf(main) ?? "") !== "") {
    const written = member.annotations.written.find(({ name }) => BY_NAME.get(name)?.name === main);
    return fieldOfAnnotation(written?.name ?? main);
  }
  const shared = [...member.services].find(([service]) =>
    what.endsWith(service) && sharing.includes(member)
  );
  return shared?.[1] ?? "";
}

const MAX_NAMED = 3;

function nameOthers(member: Member, having: readonly Member[]): string {
  const others = having.filter((other) => other !== member).map(({ name }) => name);
  const more = others.length - MAX_NAMED;
  return others.slice(0, MAX_NAMED).join(", ") + (more > 0 ? ` or one of ${more} more` : "");
}
