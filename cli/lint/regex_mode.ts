/**
 * Hosts of which one Ingress makes all paths regular expressions. In: the Ingresses of a host. Out: a
 * finding for each other one, whose paths then mean something else than it says, there and here.
 */
import {
  asksForRegex,
  isRegex,
  readRegexWish,
} from "../../controller/translate/annotations/nginx/rewrite.ts";
import { type HostFinding, type Member, type MemberPath, oldestOf } from "./host_member.ts";

const ANNOTATIONS: readonly string[] = ["use-regex", "rewrite-target"];

export function regexNeighbours(host: string, sharing: readonly Member[]): HostFinding[] {
  if (host === "" || sharing.length < 2) return [];
  const rest = restOf(host, sharing);
  const asking = sharing.filter((member) =>
    pathsOf(member, host).some((each) => asks(member, each)) ||
    (member === rest && isRegex(REST, readRegexWish(member.annotations)))
  );
  if (asking.length === 0) return [];
  return sharing.flatMap((member): HostFinding[] => {
    const by = asking.find((other) => other !== member);
    const changed = pathsOf(member, host).filter((each) => !asks(member, each));
    if (by === undefined || changed.length === 0 || asking.includes(member)) return [];
    const [{ path, field }] = changed;
    const name = ANNOTATIONS.find((each) => (by.annotations.textOf(each) ?? "") !== "");
    return [{
      name: member.name,
      field,
      verdict: "SAME",
      rule: "host/regular-expressions",
      effect:
        `${name} of ${by.name} makes all paths of ${host} regular expressions, there and here: ` +
        `${path} has the requests of every path that begins with it, in any case`,
      difference: null,
      remedy: "Nothing to do if that is what you want; else give one of them a host of its own",
    }];
  });
}

/** Requests that no path of a host takes, for which ingress-nginx has a location of its own. */
const REST = { path: "/", type: "Prefix" } as const;

/** The Ingress whose annotations count for them; null where a path takes them, or its age is not known. */
function restOf(host: string, sharing: readonly Member[]): Member | null {
  const isTaken = sharing.some((member) =>
    pathsOf(member, host).some(({ path, type }) => path === REST.path && type === REST.type)
  );
  return isTaken ? null : oldestOf(sharing.filter(({ isCanary }) => !isCanary));
}

function pathsOf({ isCanary, written }: Member, host: string): readonly MemberPath[] {
  return isCanary ? [] : written.filter((each) => each.host === host);
}

function asks({ annotations }: Member, { path, type }: MemberPath): boolean {
  return asksForRegex({ path, type }, readRegexWish(annotations));
}
