/**
 * Problems that may be why a URL is not served as somebody expects. In: the question, and what takes the URL.
 * Out: those of files that cannot be read, of the objects that name the host, be they left out, and of what
 * these objects name; for a Gateway those of its routes.
 */
import { asList, asScalar, fieldOf, isAbsent } from "../../controller/base/json.ts";
import type { Explanation } from "../../proxy/router/explain.ts";
import { hostPatternTakes } from "../../proxy/router/host.ts";
import { parseHostPattern } from "../../shared/host/host_pattern.ts";
import { formatObject, type ObjectRef, type Problem } from "../../shared/problem.ts";
import { parentGatewaysOf } from "../gateway/route_parents.ts";
import type { LocatedProblem } from "../manifests/file.ts";
import { refOf } from "../problems/class_problems.ts";
import { SERVICE_LABEL } from "./endpoint_facts.ts";
import type { Question } from "./question.ts";

/** Of the Gateway, and of routes that name it as a parent. */
export function problemsOfGateway(
  { manifests, plan }: Question,
  gateway: string,
): LocatedProblem[] {
  const related = new Set([`Gateway ${gateway}`]);
  for (const route of manifests.resources.httpRoutes ?? []) {
    const { gateways, object, services } = parentGatewaysOf(route);
    if (!gateways.includes(gateway)) continue;
    for (const each of [object, ...services]) related.add(formatObject(each));
  }
  return plan.problems.filter(({ problem: { object } }) =>
    object === null || related.has(formatObject(object))
  );
}

/** Of Gateways that do not take the URL. */
export function problemsOfGateways(
  { plan }: Question,
  gateways: readonly string[],
): LocatedProblem[] {
  return plan.problems.filter(({ problem: { object } }) =>
    object?.kind === "Gateway" && gateways.includes(`${object.namespace}/${object.name}`)
  );
}

export function problemsOfIngresses(
  question: Question,
  explanation: Explanation,
): LocatedProblem[] {
  const { manifests, plan, url } = question;
  const related = new Set<string>();
  const relate = (ref: ObjectRef) => related.add(formatObject(ref));
  const { outcome, considered, certificate } = explanation;
  if (outcome.kind === "route") relate(outcome.route.origin);
  for (const { route } of considered) relate(route.origin);
  if (certificate.certificate !== null) relate(certificate.certificate.origin);
  for (const ingress of manifests.resources.ingresses) {
    const ref = refOf(ingress);
    const rules = rulesOf(ingress);
    if (!rulesName(rules, url.host) && !related.has(formatObject(ref))) continue;
    relate(ref);
    const { namespace } = ref;
    for (const name of namedServices(ingress.spec, rules)) {
      relate({ kind: "Service", namespace, name });
      for (const slice of manifests.resources.endpointSlices) {
        if (fieldOf(slice.metadata?.labels, SERVICE_LABEL) !== name) continue;
        relate({ kind: "EndpointSlice", namespace, name: slice.metadata?.name ?? "" });
      }
    }
    for (const tls of asList(fieldOf(ingress.spec, "tls")) ?? []) {
      const name = fieldOf(tls, "secretName");
      if (typeof name === "string") relate({ kind: "Secret", namespace, name });
    }
  }
  relateShared(question, relate);
  return plan.problems.filter(({ problem, leftOut }) =>
    problem.object === null || related.has(formatObject(problem.object)) ||
    namesHost(problem, leftOut, url.host) ||
    mayHideRules(problem)
  );
}

/** Gateways that share the address of Ingresses, with the routes of theirs that name the host. */
function relateShared({ manifests, plan, url }: Question, relate: (ref: ObjectRef) => void): void {
  const shared = new Map(
    (plan.gateway?.gateways ?? []).filter(({ address }) => address === "shared")
      .map(({ identity }) => [identity.key, identity.ref]),
  );
  if (shared.size === 0) return;
  for (const route of manifests.resources.httpRoutes ?? []) {
    const hostnames = asList(fieldOf(route.spec, "hostnames")) ?? [];
    if (hostnames.length > 0 && !hostnamesTake(hostnames, url.host)) continue;
    const { gateways, object, services } = parentGatewaysOf(route);
    const parents = gateways.flatMap((gateway) => shared.get(gateway) ?? []);
    if (parents.length === 0) continue;
    for (const each of [object, ...parents, ...services]) relate(each);
  }
}

/** A star of theirs stands for one label and more. */
function hostnamesTake(hostnames: readonly unknown[], host: string): boolean {
  return hostnames.some((hostname) =>
    typeof hostname === "string" && hostPatternTakes(hostname.toLowerCase(), host, "suffix")
  );
}

/** Whether an Ingress that is left out names the host, be its kind misspelt. */
function namesHost({ object, reason }: Problem, leftOut: unknown, host: string): boolean {
  const rules = rulesOf(leftOut);
  const isIngress = object?.kind === "Ingress" ||
    (reason === "KindUnknown" && rules.some((rule) => !isAbsent(fieldOf(rule, "http"))));
  return isIngress && rulesName(rules, host);
}

/** An unknown field outside of the lists of an Ingress, such as `rule`: it may name this host. */
function mayHideRules({ object, field, reason }: Problem): boolean {
  return object?.kind === "Ingress" && reason === "FieldUnknown" && !field.includes("[");
}

function rulesOf(ingress: unknown): readonly unknown[] {
  return asList(fieldOf(fieldOf(ingress, "spec"), "rules")) ?? [];
}

function rulesName(rules: readonly unknown[], host: string): boolean {
  return rules.some((rule) => ruleNames(fieldOf(rule, "host"), host));
}

/** Also a host that is written wrongly, if it is this one that was meant. */
export function ruleNames(written: unknown, host: string): boolean {
  if (isAbsent(written) || written === "") return true;
  const text = asScalar(written);
  if (text === null) return false;
  const pattern = parseHostPattern(text);
  return pattern.ok ? hostPatternTakes(pattern.host, host) : text.toLowerCase() === host;
}

function namedServices(spec: unknown, rules: readonly unknown[]): Set<string> {
  const paths = rules.flatMap((rule) => asList(fieldOf(fieldOf(rule, "http"), "paths")) ?? []);
  const backends = [
    fieldOf(spec, "defaultBackend"),
    ...paths.map((path) => fieldOf(path, "backend")),
  ];
  const names = backends.map((backend) => fieldOf(fieldOf(backend, "service"), "name"));
  return new Set(names.filter((name) => typeof name === "string"));
}
