/**
 * What an Ingress without rules gets of hosts that others name. In: all Ingresses. Out: a finding for the one
 * whose default backend has what no rule takes. ingress-nginx answers with its own default backend there.
 */
import { showSome } from "../../controller/base/json.ts";
import { DEFAULT_BACKEND_FIELD } from "../../controller/translate/model/source.ts";
import type { HostFinding, Member } from "./host_member.ts";

/** @param members All Ingresses. */
export function catchAll(members: readonly Member[]): HostFinding[] {
  const whole = new Set(members.flatMap(wholeHosts));
  const hosts = new Set(
    members.flatMap(({ hosts, isCanary }) => isCanary ? [] : [...hosts.keys()]),
  );
  const partly = [...hosts].filter((host) => host !== "" && !whole.has(host)).sort();
  if (partly.length === 0) return [];
  return members.filter((member) => !member.isCanary && hasRest(member)).map((
    { name },
  ): HostFinding => ({
    name,
    field: DEFAULT_BACKEND_FIELD,
    verdict: "DIFFERS",
    rule: "host/default-backend",
    effect: "takes requests for hosts that no rule names, and answers 404 for others by itself",
    difference: `the default backend also gets requests for ${showSome(partly)} that no path takes`,
    remedy: "Add / with the backend that such requests are to get to the rules of these hosts",
  }));
}

/** Hosts all of whose requests some path of it takes, or its own default backend. */
function wholeHosts({ written, hosts, judged, isCanary }: Member): readonly string[] {
  if (isCanary) return [];
  const { defaultBackend } = judged.ingress.spec ?? {};
  if (defaultBackend !== undefined && defaultBackend !== null) return [...hosts.keys()];
  return written.filter(({ path, type }) => path === "/" && type !== "Exact")
    .map(({ host }) => host);
}

/** Whether it has no rules, and its default backend counts. */
function hasRest({ judged, hosts }: Member): boolean {
  return hosts.size === 0 &&
    judged.status.paths.some(({ field, outcome }) =>
      field === DEFAULT_BACKEND_FIELD && outcome === "served"
    );
}
