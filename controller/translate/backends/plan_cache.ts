/**
 * Plans of backends from one translation to the next. In: a Service, the port that an Ingress names,
 * and its EndpointSlices. Out: its plan, the very same as before where nothing changed that it is made
 * of; so that a proxy is sent an upstream only where it differs.
 */
import {
  type BackendOptions,
  isSamePlan,
  type Plan,
  planBackend,
  type Reached,
} from "./backend_plan.ts";
import type { Slice } from "./endpoints.ts";
import { isSameList } from "../../base/memo.ts";
import { type ObjectProblem, recordProblems } from "../../base/problems.ts";
import { FIRST_PORT } from "../model/backend_ref.ts";
import type { ServiceModel } from "./service.ts";

/** A plan with all that it was made of beside the Service and its port. */
export interface KnownPlan {
  readonly options: BackendOptions;
  readonly slices: readonly Slice[];
  readonly limit: number;
  readonly plan: Plan;
  readonly problems: readonly ObjectProblem[];
  /** What became of it when it was last secured. */
  secured: Reached | null;
  /** The same, and of what was last spoken to otherwise than the Service says; by key of the wish. */
  readonly wished: Map<string, Reached>;
}

/** Of one Service, since Ingresses may name any port, and another one every minute. */
const MAX_PLANS = 100;

export class PlanCache {
  /** By Service, and by the port that is named. */
  readonly #plans = new WeakMap<ServiceModel, Map<number | string, KnownPlan>>();

  /** @param limit Of endpoints; Infinity for none. */
  of(
    service: ServiceModel,
    port: number | string,
    slices: readonly Slice[],
    limit: number,
    options: BackendOptions,
  ): KnownPlan {
    let plans = this.#plans.get(service);
    if (plans === undefined) this.#plans.set(service, plans = new Map());
    const before = plans.get(port);
    const sameOptions = before !== undefined &&
      before.options.allowExternalName === options.allowExternalName &&
      before.options.allowLocalEndpoints === options.allowLocalEndpoints &&
      before.options.denied === options.denied;
    const isSame = sameOptions && before.limit === limit && isSameList(before.slices, slices);
    if (isSame) return before;
    const chosen = service.ports.find((each) =>
      typeof port === "number" ? each.port === port : port === FIRST_PORT || each.name === port
    );
    const { value, problems } = recordProblems((list) =>
      planBackend({ service, port, chosen, slices, limit }, options, list)
    );
    const known = sameOptions && isSamePlan(before.plan, value)
      ? { ...before, slices, limit, problems }
      : { options, slices, limit, plan: value, problems, secured: null, wished: new Map() };
    if (plans.size >= MAX_PLANS) plans.clear();
    plans.set(port, known);
    return known;
  }
}
