/**
 * Services and EndpointSlices of which only a stub was kept. In: those objects. Out: a problem for each
 * stub. That of an Ingress has its own, in `namespace_bounds.ts`.
 */
import { describeExcess, excessOf } from "../../kube/excess.ts";
import type { Resources } from "../../kube/resources.ts";
import { refOf } from "../../base/identity.ts";
import { LastResult } from "../../base/memo.ts";
import { type ObjectProblem, type ProblemList, recordProblems } from "../../base/problems.ts";

const CONSEQUENCES = {
  Service: "it has no ports for Ingresses",
  EndpointSlice: "its endpoints are left out",
} as const;

type Inputs = Pick<Resources, "services" | "endpointSlices">;

export class TooLargeReader {
  readonly #last = new LastResult<Inputs, readonly ObjectProblem[]>();

  /** The very same as before where the lists are. */
  read({ services, endpointSlices }: Inputs): readonly ObjectProblem[] {
    return this.#last.recall((before) =>
      before.services === services && before.endpointSlices === endpointSlices
    ) ?? this.#last.keep({ services, endpointSlices }, reportAll(services, endpointSlices));
  }
}

function reportAll(
  services: readonly unknown[],
  endpointSlices: readonly unknown[],
): readonly ObjectProblem[] {
  return recordProblems((problems) => {
    for (const service of services) reportOne("Service", service, problems);
    for (const slice of endpointSlices) reportOne("EndpointSlice", slice, problems);
  }).problems;
}

function reportOne(kind: keyof typeof CONSEQUENCES, object: unknown, problems: ProblemList): void {
  const excess = excessOf(object);
  if (excess === null) return;
  const [what, remedy] = describeExcess(excess);
  const message = `${what}, so ${CONSEQUENCES[kind]}`;
  problems.about(refOf(kind, object)).error("", { reason: "ObjectTooLarge", message, remedy });
}
