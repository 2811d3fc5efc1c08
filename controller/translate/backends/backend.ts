/**
 * From the Service port that an Ingress names to an upstream. In: Services and EndpointSlices. Out:
 * the action of a route, with the upstream that it forwards to, or 503 and a problem.
 */
import type { Upstream, UpstreamTls } from "../../../shared/snapshot/types.ts";
import type { Resources } from "../../kube/resources.ts";
import {
  type BackendOptions,
  type Finding,
  isSamePlan,
  notReached,
  type Plan,
  planBackend,
  type Reached,
  reached,
  type Resolution,
} from "./backend_plan.ts";
import type { BackendRef } from "../ingress/backend_ref.ts";
import { API_SERVICE, type Denied, readDenied } from "./denied.ts";
import { type EndpointBound, endpointLimits } from "./endpoint_bound.ts";
import { EndpointIndex, type Slice } from "./endpoints.ts";
import { keyOf, ObjectIndex } from "../../base/identity.ts";
import { isSameList } from "../../base/memo.ts";
import {
  type ObjectProblem,
  type ProblemList,
  recordProblems,
  type Report,
} from "../../base/problems.ts";
import { isSameAction } from "../model/route_place.ts";
import { type ServiceModel, serviceModel } from "./service.ts";
import { SortedList } from "../../base/sorted_list.ts";
import type { UpstreamTlsReader } from "./upstream_tls.ts";
import { compareText } from "../../base/text_order.ts";

const SERVICES = new ObjectIndex(serviceModel);
const BY_ID = new SortedList<Upstream>((a, b) => compareText(a.id, b.id));

export class BackendResolver {
  /** What no backend's address may be. */
  readonly denied: Denied;
  #services: ReadonlyMap<string, ServiceModel>;
  #endpoints: EndpointIndex;
  #tls: UpstreamTlsReader;
  #options: BackendOptions;
  #problems: ProblemList;
  /** Endpoints that each upstream may have, by namespace, where it is over the bound. */
  #limits: ReadonlyMap<string, number>;
  /** By upstream id. */
  #found = new Map<string, FoundBackend>();

  constructor(
    resources: Resources,
    tls: UpstreamTlsReader,
    options: Omit<BackendOptions, "denied">,
    bound: EndpointBound,
    problems: ProblemList,
  ) {
    this.#tls = tls;
    this.#services = SERVICES.of(resources.services, problems);
    this.#endpoints = new EndpointIndex(resources.endpointSlices, problems);
    this.denied = readDenied({
      service: this.#services.get(API_SERVICE)?.object ?? null,
      slices: this.#endpoints.slicesOf(API_SERVICE).map(({ object }) => object),
      nodes: resources.nodes ?? null,
      serviceCidrs: resources.serviceCidrs ?? null,
    });
    const { allowExternalName, allowLocalEndpoints } = options;
    this.#options = { allowExternalName, allowLocalEndpoints, denied: this.denied };
    this.#problems = problems;
    this.#limits = endpointLimits(
      bound,
      (service) =>
        this.#endpoints.slicesOf(service)
          .reduce((sum, slice) => sum + slice.addresses(this.#options).value.length, 0),
      problems,
    );
  }

  /** Problems go to the report that is asked for, of the object that names the backend. */
  resolve(backend: BackendRef, report: () => Report): Resolution {
    if (backend.kind === "broken") return { action: backend.action, isServed: false };
    const found = this.#findOnce(backend);
    found.users++;
    const { fault, resolution } = found.finding;
    if (fault !== null) {
      const field = fault.at === "port" ? backend.portField : backend.nameField;
      report().error(field, {
        reason: fault.reason,
        message: `${fault.message}, so requests get ${fault.status}`,
        remedy: fault.remedy,
      });
    }
    return resolution;
  }

  /** How a resolved backend is spoken to; null where there is none. */
  protocolOf(backend: BackendRef): Upstream["protocol"] | null {
    if (backend.kind === "broken") return null;
    return this.#found.get(backend.id)?.finding.upstream?.protocol ?? null;
  }

  /** Every upstream that a resolved route forwards to, sorted by id. */
  upstreams(): readonly Upstream[] {
    return BY_ID.of([...this.#found.values()].flatMap(({ finding }) => finding.upstream ?? []));
  }

  /** What was found until now, for `findsAgain` of a later resolver. */
  found(): FoundBackends {
    return this.#found;
  }

  /**
   * Finds the same backends, and says whether the same becomes of requests to all of them.
   *
   * @param left How often each, by id, is no longer asked for.
   */
  findsAgain(before: FoundBackends, left: ReadonlyMap<string, number>): boolean {
    let isSame = true;
    for (const { backend, finding, users } of before.values()) {
      const remaining = users - (left.get(backend.id) ?? 0);
      if (remaining === 0) continue;
      const found = this.#findOnce(backend);
      found.users = remaining;
      isSame = isSameOutcome(finding, found.finding) && isSame;
    }
    return isSame;
  }

  /** As if nothing had been asked for. */
  forget(): void {
    this.#found.clear();
  }

  #findOnce(backend: ServiceBackend): FoundBackend {
    let found = this.#found.get(backend.id);
    if (found === undefined) {
      found = { backend, finding: this.#find(backend), users: 0 };
      this.#found.set(backend.id, found);
    }
    return found;
  }

  #find({ namespace, name, port }: ServiceBackend): Finding {
    const key = keyOf({ namespace, name });
    const service = this.#services.get(key);
    if (service === undefined) {
      return notReached({
        at: "name",
        status: 503,
        reason: "ServiceNotFound",
        message: `there is no Service ${name} in namespace ${namespace}`,
        remedy: "Create the Service, or write the name of one that exists",
      });
    }
    const limit = this.#limits.get(namespace) ?? Infinity;
    const known = this.#plan(service, port, this.#endpoints.slicesOf(key), limit);
    this.#problems.addAll(known.problems);
    const { plan } = known;
    if (plan.kind === "settled") return plan.finding;
    const { upstream, fault, externalName } = plan;
    const tls = this.#tls.read({ id: upstream.id, service, externalName });
    if (tls === null) return insecure(name);
    if (known.secured === null || !isSameTls(known.secured.upstream.tls, tls)) {
      known.secured = reached({ ...upstream, tls }, fault);
    }
    return known.secured;
  }

  /** From the last translation, if the objects that it comes from are the same. */
  #plan(
    service: ServiceModel,
    port: number | string,
    slices: readonly Slice[],
    limit: number,
  ): KnownPlan {
    let plans = knownPlans.get(service);
    if (plans === undefined) knownPlans.set(service, plans = new Map());
    const before = plans.get(port);
    const sameOptions = before !== undefined &&
      before.options.allowExternalName === this.#options.allowExternalName &&
      before.options.allowLocalEndpoints === this.#options.allowLocalEndpoints &&
      before.options.denied === this.#options.denied;
    const isSame = sameOptions && before.limit === limit && isSameList(before.slices, slices);
    if (isSame) return before;
    const chosen = service.ports.find((each) =>
      typeof port === "number" ? each.port === port : each.name === port
    );
    const { value, problems } = recordProblems((list) =>
      planBackend({ service, port, chosen, slices, limit }, this.#options, list)
    );
    const known = sameOptions && isSamePlan(before.plan, value)
      ? { ...before, slices, limit, problems }
      : { options: this.#options, slices, limit, plan: value, problems, secured: null };
    if (plans.size >= MAX_PLANS) plans.clear();
    plans.set(port, known);
    return known;
  }
}

type ServiceBackend = Extract<BackendRef, { readonly kind: "service" }>;

interface FoundBackend {
  readonly backend: ServiceBackend;
  readonly finding: Finding;
  /** How often it was asked for. */
  users: number;
}

/** By upstream id, in the order in which they were asked for. */
export type FoundBackends = ReadonlyMap<string, FoundBackend>;

/** A plan with all that it was made of beside the Service and its port. */
interface KnownPlan {
  readonly options: BackendOptions;
  readonly slices: readonly Slice[];
  readonly limit: number;
  readonly plan: Plan;
  readonly problems: readonly ObjectProblem[];
  /** What became of it when it was last secured. */
  secured: Reached | null;
}

/** Of one Service, since Ingresses may name any port, and another one every minute. */
const MAX_PLANS = 100;

/** By Service, and by the port that is named. */

const knownPlans = new WeakMap<ServiceModel, Map<number | string, KnownPlan>>();

/** Whether routes to it, and what is said of them, are the same; endpoints may be others. */
function isSameOutcome(a: Finding, b: Finding): boolean {
  return a === b ||
    (isSameAction(a.resolution.action, b.resolution.action) &&
      a.resolution.isServed === b.resolution.isServed &&
      a.upstream?.protocol === b.upstream?.protocol && a.fault?.at === b.fault?.at &&
      a.fault?.reason === b.fault?.reason && a.fault?.message === b.fault?.message &&
      a.fault?.remedy === b.fault?.remedy);
}

function isSameTls(a: UpstreamTls | undefined, b: UpstreamTls): boolean {
  return a !== undefined && a.serverName === b.serverName && a.ca?.pem === b.ca?.pem &&
    a.clientCertificate === b.clientCertificate && a.verify === b.verify;
}

/** The Service's own problem says what of its annotations is wrong. */
function insecure(service: string): Finding {
  return notReached({
    at: "name",
    status: 503,
    reason: "UpstreamTlsUnusable",
    message: `Service ${service} cannot be spoken to by TLS as its annotations ask for`,
    remedy: `Mend the annotations; what is wrong is reported for Service ${service}`,
  });
}
