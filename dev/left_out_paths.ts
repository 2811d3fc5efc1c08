/**
 * Paths that no route was made of. In: manifests, the plan made of them and a host. Out: each path of
 * a served Ingress whose rule takes that host and that has no route, with what the translation says
 * of it: another Ingress has the same host and path, or it cannot be read. Pure.
 */
import { asList, fieldOf } from "../controller/base/json.ts";
import { formatObject, type ObjectRef } from "../shared/problem.ts";
import type { Manifests } from "./manifests/manifests.ts";
import { type Plan, refOf } from "./plan.ts";

export interface LeftOutPath {
  readonly object: ObjectRef;
  /** `spec.rules[0].http.paths[1]`. */
  readonly field: string;
  /** As it was written: `app.example.com Prefix /`. */
  readonly written: string;
  readonly because: string;
}

/** @param takes whether the host of a rule takes the host that is asked about. */
export function leftOutPaths(
  { resources }: Manifests,
  { snapshot, statuses, problems }: Plan,
  takes: (host: unknown) => boolean,
): LeftOutPath[] {
  const placeOf = (object: ObjectRef, field: string) => `${formatObject(object)} ${field}`;
  const served = new Set(statuses.map(({ object }) => formatObject(object)));
  const routed = new Set(snapshot.routes.map(({ origin }) => placeOf(origin, origin.field)));
  return resources.ingresses.flatMap((ingress) => {
    const object = refOf(ingress);
    if (!served.has(formatObject(object))) return [];
    const whyOf = (field: string) =>
      problems.find(({ problem }) =>
        problem.object !== null && formatObject(problem.object) === formatObject(object) &&
        (problem.field === field || problem.field.startsWith(`${field}.`))
      )?.problem.message;
    return (asList(fieldOf(ingress.spec, "rules")) ?? []).flatMap((rule, i) => {
      const host = fieldOf(rule, "host");
      if (!takes(host)) return [];
      return (asList(fieldOf(fieldOf(rule, "http"), "paths")) ?? []).flatMap((path, j) => {
        const field = `spec.rules[${i}].http.paths[${j}]`;
        if (routed.has(placeOf(object, field))) return [];
        const parts = [host ?? "*", fieldOf(path, "pathType"), fieldOf(path, "path") ?? "/"];
        const because = whyOf(field) ?? whyOf(`spec.rules[${i}].host`) ?? "it is left out";
        return [{ object, field, written: parts.map(String).join(" "), because }];
      });
    });
  });
}
