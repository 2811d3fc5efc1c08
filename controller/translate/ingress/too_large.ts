/**
 * Services and EndpointSlices of which only a stub was kept. In: those objects. Out: a problem for each
 * stub. That of an Ingress has its own, in `namespace_bounds.ts`.
 */
import { describeExcess, excessOf } from "../../kube/excess.ts";
import type { Resources } from "../../kube/resources.ts";
import { refOf } from "../../base/identity.ts";
import type { ProblemList } from "../../base/problems.ts";

const CONSEQUENCES = {
  Service: "it has no ports for Ingresses",
  EndpointSlice: "its endpoints are left out",
} as const;

export function reportTooLarge(
  { services, endpointSlices }: Pick<Resources, "services" | "endpointSlices">,
  problems: ProblemList,
): void {
  for (const service of services) reportOne("Service", service, problems);
  for (const slice of endpointSlices) reportOne("EndpointSlice", slice, problems);
}

function reportOne(kind: keyof typeof CONSEQUENCES, object: unknown, problems: ProblemList): void {
  const excess = excessOf(object);
  if (excess === null) return;
  const [what, remedy] = describeExcess(excess);
  const message = `${what}, so ${CONSEQUENCES[kind]}`;
  problems.about(refOf(kind, object)).error("", { reason: "ObjectTooLarge", message, remedy });
}
