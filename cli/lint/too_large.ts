/**
 * Ingresses over a bound of one object, of which the controller serves nothing. In: all Ingresses. Out: a
 * finding for each: its requests get 404, or are up to another Ingress that may protect them less.
 */
import { wildcardOver } from "../../controller/translate/model/host.ts";
import { fieldOf } from "../../controller/base/json.ts";
import { sizeFault } from "../../dev/problems/too_large.ts";
import type { HostFinding, Member } from "./host_member.ts";

/** @param members All Ingresses. */
export function tooLarge(members: readonly Member[]): HostFinding[] {
  return members.flatMap((member): HostFinding[] => {
    const fault = sizeFault(member.judged.ingress);
    if (fault === null) return [];
    const heir = protects(member)
      ? members.find((other) => other !== member && takesFrom(other, member))
      : undefined;
    return [{
      name: member.name,
      field: "",
      verdict: heir === undefined ? "BREAKS" : "OPENS",
      rule: "problem/ObjectTooLarge",
      effect: "the Ingress as it is written, whatever its size",
      difference: `${fault.what}, so none of it is served` +
        (heir === undefined
          ? ""
          : `: ${heir.name} may get its requests, which are not protected then as here`),
      remedy: fault.remedy,
    }];
  });
}

/** Whether it has an annotation that protects. */
function protects({ annotations }: Member): boolean {
  return annotations.written.some(({ row, text, replacedBy }) =>
    row !== null && row.protects && replacedBy === null &&
    !annotations.isHarmless(row, text)
  );
}

/** Whether requests for a host of `member` may be up to `other`. */
function takesFrom(other: Member, member: Member): boolean {
  if (other.isCanary) return false;
  if (other.hosts.has("") || fieldOf(other.judged.ingress.spec, "defaultBackend") !== undefined) {
    return true;
  }
  return member.hosts.keys().some((host) =>
    other.hosts.has(host) || other.hosts.has(wildcardOver(host))
  );
}
