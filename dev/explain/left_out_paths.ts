/**
 * Paths that no route was made of. In: manifests, the plan made of them and a host. Out: each path of
 * a served Ingress whose rule takes that host and that has no route, with what the translation says
 * of it: another Ingress has the same host and path, another namespace the host, it cannot be read, or
 * the whole Ingress is left out. Pure.
 */
import { asList, asScalar, describe, fieldOf, shortened } from "../../controller/base/json.ts";
import { fieldOfAnnotation } from "../../controller/translate/annotations/nginx/refusals.ts";
import { readRoutePath } from "../../shared/snapshot/route_path.ts";
import { formatObject, type ObjectRef, type Problem } from "../../shared/problem.ts";
import type { Manifests } from "../manifests/manifests.ts";
import type { Plan } from "../plan.ts";
import { refOf } from "../problems/class_problems.ts";

/** Of problems that are errors with all paths of an Ingress. */
const WHOLE: ReadonlySet<string> = new Set(["", "spec", "spec.rules"]);

/** The Ingress of a canary is left out with a warning. */
const CANARY = fieldOfAnnotation("canary");

export interface LeftOutPath {
  readonly object: ObjectRef;
  /** `spec.rules[0].http.paths[1]`. */
  readonly field: string;
  /** As it was written: `app.example.com Prefix /`. */
  readonly written: string;
  /** The path alone. */
  readonly path: string;
  readonly because: string;
  /** Whether it would get the request without all others. */
  readonly isMatch: boolean;
}

/**
 * @param takes whether the host of a rule takes the host that is asked about.
 * @param requested the canonical path of the request; null for one that is refused.
 */
export function leftOutPaths(
  { resources }: Pick<Manifests, "resources">,
  { snapshot, statuses, problems }: Plan,
  takes: (host: unknown) => boolean,
  requested: string | null,
): LeftOutPath[] {
  const placeOf = (object: ObjectRef, field: string) => `${formatObject(object)} ${field}`;
  const served = new Set(statuses.map(({ object }) => formatObject(object)));
  const routed = new Set(snapshot.routes.map(({ origin }) => placeOf(origin, origin.field)));
  return resources.ingresses.flatMap((ingress) => {
    const object = refOf(ingress);
    if (!served.has(formatObject(object))) return [];
    const own = problems.map(({ problem }) => problem).filter((problem) =>
      problem.object !== null && formatObject(problem.object) === formatObject(object)
    );
    return (asList(fieldOf(ingress.spec, "rules")) ?? []).flatMap((rule, i) => {
      const host = fieldOf(rule, "host");
      if (!takes(host)) return [];
      return (asList(fieldOf(fieldOf(rule, "http"), "paths")) ?? []).flatMap((path, j) => {
        const field = `spec.rules[${i}].http.paths[${j}]`;
        if (routed.has(placeOf(object, field))) return [];
        const [type, value] = [fieldOf(path, "pathType"), fieldOf(path, "path") ?? "/"];
        const written = [host || "*", type, value].map(shown).join(" ");
        const because = reasonOf(own, field, `spec.rules[${i}].host`)?.message ??
          "no problem says why";
        const text = asScalar(value) ?? "";
        const isMatch = requested !== null && takesPath(type, text, requested);
        return [{ object, field, written, path: text, because, isMatch }];
      });
    });
  });
}

/** Longer values are cut. */
const MAX_SHOWN = 200;

/** What somebody wrote; in brackets what it is where it is no text. */
function shown(value: unknown): string {
  const text = asScalar(value);
  return text === null ? `(${describe(value)})` : shortened(text, MAX_SHOWN);
}

/** As Ingresses define their path types; ImplementationSpecific is a prefix. */
function takesPath(type: unknown, written: string, requested: string): boolean {
  const path = readRoutePath(type === "Exact" ? "Exact" : "Prefix", written);
  if (!path.ok) return false;
  const { value } = path.match;
  if (requested === value) return true;
  return type !== "Exact" && (value === "/" || requested.startsWith(`${value}/`));
}

/** Of several problems the one for which the path has no route: a warning may be about something else. */
function reasonOf(problems: readonly Problem[], path: string, host: string): Problem | undefined {
  const ofPath = ({ field }: Problem) => field === path || field.startsWith(`${path}.`);
  const ofHost = ({ field }: Problem) => field === host;
  const isError = ({ severity }: Problem) => severity === "error";
  return problems.find((problem) => ofHost(problem) && problem.reason === "HostNotOwned") ??
    problems.find((problem) => ofPath(problem) && isError(problem)) ??
    problems.find(ofPath) ??
    problems.find((problem) => ofHost(problem) && isError(problem)) ??
    problems.find(({ field, severity }) =>
      field === CANARY || (severity === "error" && WHOLE.has(field))
    ) ??
    problems.find(ofHost);
}
