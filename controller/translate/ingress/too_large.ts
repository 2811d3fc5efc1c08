/**
 * Objects of which only a stub was kept, and which have no condition of ours. In: those objects. Out: a problem
 * for each stub. That of an Ingress has its own, in `namespace_bounds.ts`.
 */
import { describeExcess, excessOf } from "../../kube/excess.ts";
import type { Resources } from "../../kube/resources.ts";
import { refOf } from "../../base/identity.ts";
import { LastResult } from "../../base/memo.ts";
import { type ObjectProblem, type ProblemList, recordProblems } from "../../base/problems.ts";

const CONSEQUENCES = {
  Service: "it has no ports for Ingresses",
  EndpointSlice: "its endpoints are left out",
  ReferenceGrant: "it permits nothing",
  BackendTLSPolicy: "the Services that it targets get no requests of HTTPRoutes",
} as const;

type Inputs = Pick<
  Resources,
  "services" | "endpointSlices" | "referenceGrants" | "backendTlsPolicies"
>;

const NONE: readonly never[] = [];

export class TooLargeReader {
  readonly #last = new LastResult<readonly (readonly unknown[])[], readonly ObjectProblem[]>();

  /** The very same as before where the lists are. */
  read(inputs: Inputs): readonly ObjectProblem[] {
    const { services, endpointSlices, referenceGrants, backendTlsPolicies } = inputs;
    const lists = [services, endpointSlices, referenceGrants ?? NONE, backendTlsPolicies ?? NONE];
    return this.#last.recall((before) => before.every((list, i) => list === lists[i])) ??
      this.#last.keep(lists, reportAll(lists));
  }
}

/** @param lists In the order of `CONSEQUENCES`. */
function reportAll(lists: readonly (readonly unknown[])[]): readonly ObjectProblem[] {
  const kinds = Object.keys(CONSEQUENCES) as (keyof typeof CONSEQUENCES)[];
  return recordProblems((problems) => {
    for (const [i, list] of lists.entries()) {
      for (const object of list) reportOne(kinds[i], object, problems);
    }
  }).problems;
}

function reportOne(kind: keyof typeof CONSEQUENCES, object: unknown, problems: ProblemList): void {
  const excess = excessOf(object);
  if (excess === null) return;
  const [what, remedy] = describeExcess(excess);
  const message = `${what}, so ${CONSEQUENCES[kind]}`;
  problems.about(refOf(kind, object)).error("", { reason: "ObjectTooLarge", message, remedy });
}
