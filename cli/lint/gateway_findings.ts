/**
 * Findings about objects of Gateway API. In: a folder. Out: each Gateway, class and route with a finding for
 * every condition that says something is not served as it is written, whose reason is the finding's
 * rule; and what is not checked: objects of other controllers, and Secrets and ConfigMaps that are
 * in no file. Pure.
 */
import type { Resources } from "../../controller/kube/resources.ts";
import { CONFIG_MAPS, SECRETS } from "../../controller/kube/types.ts";
import type { ConditionProblem } from "../../controller/problems/gateway/condition_problems.ts";
import { type Clock, Translator } from "../../controller/translate/translator.ts";
import { withAssumedObjects } from "../../dev/gateway/assumed_objects.ts";
import { gatewayProblems } from "../../dev/gateway/gateway_problems.ts";
import { backendsOfRoutes } from "../../dev/gateway/route_backends.ts";
import { gatewayOptionsOf } from "../../dev/plan.ts";
import { formatObject, type Problem } from "../../shared/problem.ts";
import { assumedServices } from "./assumed_services.ts";
import {
  byVerdict,
  type Finding,
  type InputProblem,
  type LintedObject,
  redacted,
  worst,
} from "./finding.ts";
import { translateOptions } from "./judgement.ts";
import type { LintInput } from "./lint_input.ts";
import type { LintOptions } from "./options.ts";

export interface GatewayFindings {
  /** Worst first, then by name. */
  readonly objects: readonly LintedObject[];
  readonly notChecked: readonly InputProblem[];
}

/** Of kinds that are not read: said by the reader of manifests. */
const NOT_SERVED = "KindNotServed";

export function gatewayFindings(
  input: LintInput,
  options: LintOptions,
  clock: Clock,
): GatewayFindings {
  const { watchNamespaces: namespaces } = options;
  const isLinted = (namespace: string) =>
    namespace === "" || namespaces.length === 0 || namespaces.includes(namespace);
  const isOfLinted = ({ object }: Problem) => object !== null && isLinted(object.namespace);
  const unserved = input.problems.map(({ problem }) => problem)
    .filter(({ reason }) => reason === NOT_SERVED);
  const found = problemsOf(input.resources, options, clock);
  const checked = [...unserved, ...found.filter(isChecked)].filter(isOfLinted);
  const unchecked = found.filter((one) => !isChecked(one)).filter(isOfLinted);
  const byObject = Map.groupBy(checked, ({ object }) => formatObject(object!));
  const objects = [...byObject].map(([name, problems]): LintedObject => {
    const findings = problems.map((problem) => findingOf(problem, input));
    return {
      name,
      verdict: worst(findings.map(({ verdict }) => verdict)),
      at: input.locate(problems[0].object, "") ?? findings[0].at,
      findings,
    };
  });
  return {
    objects: objects.sort((a, b) => byVerdict(a, b) || (a.name < b.name ? -1 : 1)),
    notChecked: unchecked.map(({ object, field, message, remedy }) => ({
      message: `${formatObject(object!)} is not checked: ${message}`,
      remedy,
      at: input.locate(object, field),
    })),
  };
}

/** With the Services that no file has: they are most likely in the cluster. */
function problemsOf(
  written: Resources,
  options: LintOptions,
  clock: Clock,
): ConditionProblem[] {
  const { gateways, httpRoutes, gatewayClasses } = written;
  if ((gateways ?? []).length + (httpRoutes ?? []).length + (gatewayClasses ?? []).length === 0) {
    return [];
  }
  const resources = withAssumedObjects({
    ...written,
    services: [
      ...written.services,
      ...assumedServices({ ...written, ingresses: [] }, backendsOfRoutes(written)).services,
    ],
  });
  const gatewayOptions = gatewayOptionsOf(options.backend);
  const { gateway } = new Translator().translate(resources, null, {
    ...translateOptions(resources, options),
    gateway: gatewayOptions,
  }, clock);
  return gateway === null ? [] : gatewayProblems(resources, gateway, gatewayOptions);
}

/** Kinds that may be in the cluster alone. */
const SELDOM_IN_FILES: readonly (string | undefined)[] = [SECRETS.kind, CONFIG_MAPS.kind];

/** Warnings are about objects of others. */
function isChecked({ severity, absent }: ConditionProblem): boolean {
  return severity === "error" && !SELDOM_IN_FILES.includes(absent?.kind);
}

function findingOf({ object, field, reason, message, remedy }: Problem, input: LintInput): Finding {
  return redacted({
    verdict: "BREAKS",
    rule: `gateway/${reason}`,
    effect: `${field === "" ? "the object" : field} as it is written`,
    difference: message,
    remedy,
    field,
    at: input.locate(object, field) ??
      input.problems.find(({ problem }) => problem.object === object)?.at ?? null,
  });
}
