/**
 * From the Service port that an Ingress names to an upstream. In: Services and EndpointSlices. Out:
 * the action of a route, with the upstream that it forwards to, or 503 and a problem.
 */
import type { Upstream } from "../../../shared/snapshot/types.ts";
import type { Resources } from "../../kube/resources.ts";
import {
  type BackendOptions,
  type Finding,
  insecure,
  notReached,
  type Plan,
  type Reached,
  reached,
  type Resolution,
} from "./backend_plan.ts";
import { fieldOfFault, reportFinding } from "./backend_report.ts";
import { API_SERVICE, type Denied, DeniedReader } from "./denied.ts";
import { isSamePart } from "../../../shared/snapshot/equality.ts";
import { EndpointLimiter, type NamedBound } from "./endpoint_bound.ts";
import { EndpointIndex, type Slice, type SlicesByService, tallyOf } from "./endpoints.ts";
import { keyOf, ObjectIndex } from "../../base/identity.ts";
import type { Fault, Note } from "./fault.ts";
import { type KnownPlan, PlanCache } from "./plan_cache.ts";
import type { ProblemList, Report } from "../../base/problems.ts";
import type { ServiceModel } from "./service.ts";
import { planHost } from "./resolved_host.ts";
import { SortedList } from "../../base/sorted_list.ts";
import { hasTlsSettings, UNUSED_TLS, type UpstreamTlsReader } from "./upstream_tls.ts";
import { isWished, overruled, wishedProtocol } from "./wished_protocol.ts";
import { compareText } from "../../base/text_order.ts";
import { RenamedUpstreams } from "./renamed_upstreams.ts";
import type { BackendRef, ServiceBackend } from "../model/backend_ref.ts";
import type { BackendWish } from "../model/backend_wish.ts";

/** What resolvers know from one translation to the next. */
export class BackendMemory {
  /** Each Service is read once. */
  readonly services: ObjectIndex<ServiceModel>;
  readonly endpoints = new EndpointIndex();
  readonly denied = new DeniedReader();
  readonly limiter = new EndpointLimiter();
  readonly plans = new PlanCache();
  readonly renamed = new RenamedUpstreams();
  readonly byId = new SortedList<Upstream>((a, b) => compareText(a.id, b.id));
  /** Of the last resolver. */
  slices: SlicesByService | null = null;
  allowsLocalEndpoints = false;
  upstreams: readonly Upstream[] = [];

  constructor(services: ObjectIndex<ServiceModel>) {
    this.services = services;
  }
}

export class BackendResolver {
  /** What no backend's address may be. */
  readonly denied: Denied;
  readonly #memory: BackendMemory;
  #services: ReadonlyMap<string, ServiceModel>;
  #slices: SlicesByService;
  #tls: UpstreamTlsReader;
  #options: BackendOptions;
  #problems: ProblemList;
  /** Endpoints that each upstream may have, by namespace, where it is over the bound. */
  #limits: ReadonlyMap<string, number>;
  #found: FoundBackends;
  /** Of backends that are not as they were found before, by id; null where all may differ. */
  #touched: Map<string, Upstream | null> | null = null;
  /** Whether the backend that is being found has problems, or settings of TLS. */
  #isNoted = false;

  constructor(
    memory: BackendMemory,
    resources: Resources,
    tls: UpstreamTlsReader,
    options: Omit<BackendOptions, "denied">,
    bound: NamedBound,
    problems: ProblemList,
  ) {
    this.#memory = memory;
    this.#tls = tls;
    this.#services = memory.services.of(resources.services, problems);
    this.#slices = memory.endpoints.of(resources.endpointSlices, problems);
    this.denied = memory.denied.read({
      service: this.#services.get(API_SERVICE)?.object ?? null,
      slices: this.#slicesOf(API_SERVICE).map(({ object }) => object),
      nodes: resources.nodes ?? null,
      serviceCidrs: resources.serviceCidrs ?? null,
    });
    const { allowExternalName, allowLocalEndpoints } = options;
    this.#options = { allowExternalName, allowLocalEndpoints, denied: this.denied };
    this.#problems = problems;
    this.#limits = memory.limiter.limits(
      { ...bound, upstreams: bound.upstreams(this.#services) },
      (service) => tallyOf(this.#slicesOf(service), this.#options),
      memory.allowsLocalEndpoints === allowLocalEndpoints
        ? memory.endpoints.changedSince(memory.slices)
        : null,
      problems,
    );
    memory.slices = this.#slices;
    memory.allowsLocalEndpoints = allowLocalEndpoints;
    this.#found = this.#nothingFound();
  }

  /**
   * Problems go to the report that is asked for, of the object that names the backend; null for none.
   *
   * @param fallback gets the requests where the Service has no endpoints, and it has some.
   */
  resolve(
    backend: BackendRef,
    report: (() => Report) | null,
    fallback: ServiceBackend | null = null,
  ): Resolution {
    if (backend.kind === "broken") return { action: backend.action, isServed: false };
    const found = this.#findOnce(backend);
    found.users++;
    const { fault, resolution } = found.finding;
    if (report === null) return resolution;
    if (fallback !== null) {
      const instead = this.#resolveFallback(backend, fault, fallback, report);
      if (instead !== null) return instead;
    }
    reportFinding(backend, found.finding, report);
    return resolution;
  }

  /** What is wrong with a backend that was resolved without a report. */
  report(backend: ServiceBackend, report: () => Report): void {
    const found = this.#found.byId.get(backend.id);
    if (found !== undefined) reportFinding(backend, found.finding, report);
  }

  /** The same as text; null where nothing keeps it from requests. */
  faultOf(backend: ServiceBackend): Pick<Fault, "message" | "remedy"> | null {
    return this.#found.byId.get(backend.id)?.finding.fault ?? null;
  }

  /** Null where it is not needed, or has no endpoints itself. */
  #resolveFallback(
    backend: ServiceBackend,
    fault: Fault | null,
    fallback: ServiceBackend,
    report: () => Report,
  ): Resolution | null {
    // Found, whether it is needed or not: so that a change of it is noticed.
    const found = this.#findOnce(fallback);
    found.users++;
    const { fault: own, resolution } = found.finding;
    if (own !== null) {
      report().warning(fallback.nameField, {
        reason: "DefaultBackendInvalid",
        message: `${own.message}, so it gets no requests for backends without endpoints`,
        remedy: own.remedy,
      });
      return null;
    }
    if (fault === null || !WITHOUT_ENDPOINTS.includes(fault.reason)) return null;
    report().warning(fieldOfFault(fault, backend), {
      reason: fault.reason,
      message: `${fault.message}, so requests go to Service ${fallback.name}`,
      remedy: fault.remedy,
    });
    return resolution;
  }

  /** Whether names that users write may be resolved by proxies. */
  get resolvesNames(): boolean {
    return this.#options.allowExternalName;
  }

  /** How a resolved backend is spoken to; null where there is none. */
  protocolOf(backend: BackendRef): Upstream["protocol"] | null {
    if (backend.kind === "broken") return null;
    return this.#found.byId.get(backend.id)?.finding.upstream?.protocol ?? null;
  }

  /** Every upstream that a resolved route forwards to, sorted by id. */
  upstreams(): readonly Upstream[] {
    const { byId, noted } = this.#found;
    let isSame = this.#touched !== null;
    for (const [id, before] of this.#touched ?? []) {
      if (byId.get(id)?.users === 0) {
        byId.delete(id);
        noted.delete(id);
      }
      isSame &&= (byId.get(id)?.finding.upstream ?? null) === before;
    }
    const memory = this.#memory;
    if (isSame) return memory.upstreams;
    // Who wishes what the Service says has the Service's own.
    const upstreams = new Map<string, Upstream>();
    for (const { finding: { upstream } } of byId.values()) {
      if (upstream !== null) upstreams.set(upstream.id, upstream);
    }
    return memory.upstreams = memory.byId.of([...upstreams.values()]);
  }

  /** What was found until now, for `findsAgain` of a later resolver. */
  found(): FoundBackends {
    return this.#found;
  }

  /**
   * Finds the same backends, and says whether the same becomes of requests to all of them. Only those
   * are looked at of which something may have changed. Changes `before`, which is of no use then.
   *
   * @param left How often each, by id, is no longer asked for.
   */
  findsAgain(before: FoundBackends, left: ReadonlyMap<string, number>): boolean {
    const { byId, noted } = before;
    const again = this.#changedSince(before) ?? byId.keys();
    this.#found = { ...this.#nothingFound(), byId, noted };
    this.#touched = new Map();
    for (const [id, times] of left) {
      this.#touch(id);
      byId.get(id)!.users -= times;
    }
    let isSame = true;
    for (const id of again) {
      const found = byId.get(id)!;
      this.#touch(id);
      if (found.users === 0) {
        byId.delete(id);
        noted.delete(id);
        continue;
      }
      const finding = this.#findNoted(found.backend);
      isSame = isSameOutcome(found.finding, finding) && isSame;
      found.finding = finding;
    }
    return isSame;
  }

  /** Ids of backends that may have changed, in the order in which they were found; null for all. */
  #changedSince(before: FoundBackends): readonly string[] | null {
    const services = this.#memory.services.changedSince(before.services);
    const slices = this.#memory.endpoints.changedSince(before.slices);
    if (
      services === null || slices === null || !isSameOptions(before.options, this.#options) ||
      !isSameLimits(before.limits, this.#limits)
    ) return null;
    if (services.size + slices.size === 0) return [...before.noted];
    const changed: string[] = [];
    for (const [id, { key }] of before.byId) {
      if (services.has(key) || slices.has(key) || before.noted.has(id)) changed.push(id);
    }
    return changed;
  }

  /**
   * Backends that a stage of the last translation has asked for, and need not be there any more: of
   * findings that were made anew meanwhile, nobody has.
   *
   * @param counts How often each, by id.
   */
  release({ byId }: FoundBackends, counts: ReadonlyMap<string, number>): void {
    if (this.#found.byId !== byId) return;
    for (const [id, times] of counts) {
      const found = byId.get(id);
      if (found === undefined) continue;
      this.#touch(id);
      found.users -= times;
    }
  }

  /** The Services that it knows, by `namespace/name`. */
  get services(): ReadonlyMap<string, ServiceModel> {
    return this.#services;
  }

  /** As if nothing had been asked for. */
  forget(): void {
    this.#found = this.#nothingFound();
    this.#touched = null;
  }

  #nothingFound(): FoundBackends {
    return {
      byId: new Map(),
      noted: new Set(),
      services: this.#services,
      slices: this.#slices,
      options: this.#options,
      limits: this.#limits,
    };
  }

  #touch(id: string): void {
    if (this.#touched === null || this.#touched.has(id)) return;
    this.#touched.set(id, this.#found.byId.get(id)?.finding.upstream ?? null);
  }

  /** @param key `keyOf` the Service. */
  #slicesOf(key: string): readonly Slice[] {
    return this.#slices.get(key) ?? NO_SLICES;
  }

  #findOnce(backend: ServiceBackend): FoundBackend {
    let found = this.#found.byId.get(backend.id);
    if (found === undefined) {
      this.#touch(backend.id);
      found = { backend, key: keyOf(backend), finding: this.#findNoted(backend), users: 0 };
      this.#found.byId.set(backend.id, found);
    }
    return found;
  }

  #findNoted(backend: ServiceBackend): Finding {
    this.#isNoted = false;
    const finding = this.#find(backend);
    if (this.#isNoted) this.#found.noted.add(backend.id);
    else this.#found.noted.delete(backend.id);
    return finding;
  }

  #find(backend: ServiceBackend): Finding {
    const finding = backend.isName === true ? this.#findHost(backend) : this.#findService(backend);
    return backend.keepsId === true ? this.#memory.renamed.of(finding, backend.id) : finding;
  }

  #findHost(backend: ServiceBackend): Finding {
    // Found anew each time, as the Service that it may be comes and goes.
    this.#isNoted = true;
    return planHost(backend, this.#options, (key) => this.#services.has(key));
  }

  #findService({ namespace, name, port, id, wish }: ServiceBackend): Finding {
    const key = keyOf({ namespace, name });
    const service = this.#services.get(key);
    if (service === undefined) {
      return this.#secretFaultOf(wish, namespace) ?? notReached({
        at: "name",
        status: 503,
        reason: "ServiceNotFound",
        message: `there is no Service ${name} in namespace ${namespace}`,
        remedy: "Create the Service, or write the name of one that exists",
      });
    }
    const limit = this.#limits.get(namespace) ?? Infinity;
    const slices = this.#slicesOf(key);
    const known = this.#memory.plans.of(service, port, slices, limit, this.#options);
    this.#isNoted = known.problems.length > 0 || known.plan.kind === "secured";
    if (wish !== null) {
      const finding = this.#findWished(known, id, wish, service);
      if (finding !== null) return finding;
    }
    this.#problems.addAll(known.problems);
    const { plan } = known;
    if (plan.kind === "settled") return plan.finding;
    const { upstream, fault, externalName } = plan;
    const tls = this.#tls.read({ id: upstream.id, service, externalName });
    if (tls === null) return insecure(name);
    if (known.secured === null || !isSamePart(known.secured.upstream.tls, tls)) {
      known.secured = reached({ ...upstream, tls }, fault);
    }
    return known.secured;
  }

  /** Null where the Service says the same, or what must not be weakened. */
  #findWished(
    known: KnownPlan,
    id: string,
    wish: BackendWish,
    service: ServiceModel,
  ): Finding | null {
    const { plan } = known;
    const planned = plan.kind === "settled" ? plan.finding : plan;
    const { namespace } = service.identity.ref;
    if (planned.upstream === null) return this.#secretFaultOf(wish, namespace);
    const wished = wishedProtocol(planned.upstream.protocol, wish, hasTlsSettings(service));
    if (wish.tls !== null && !isWished(wished)) {
      const fault = this.#secretFaultOf(wish, namespace);
      if (fault !== null) return fault;
    }
    if (wished === null) return unusedTls(plan, wish);
    const { protocol, tls } = wished;
    const { ref } = service.identity;
    this.#problems.addAll(
      known.problems.filter(({ reason }) => tls === null || reason !== UNUSED_TLS),
    );
    const upstream = { ...planned.upstream, id, protocol };
    const { fault } = planned;
    if (tls === null) return keep(known, id, reached(upstream, fault));
    this.#isNoted = true;
    const externalName = plan.kind === "secured"
      ? plan.externalName
      : upstream.addresses.kind === "dns"
      ? upstream.addresses.name
      : null;
    const secured = { id, service, externalName };
    if (tls === "of the Service") {
      const read = this.#tls.read(secured);
      if (read === null) return insecure(ref.name);
      return keep(known, id, reached({ ...upstream, tls: read }, fault, overruled(wish)));
    }
    const read = this.#tls.readWished(secured, tls);
    if (read.tls === null) return notReached(read.fault);
    return keep(known, id, reached({ ...upstream, tls: read.tls }, fault, read.note));
  }

  /**
   * Null where the Secret of a wish can be used, or there is none. As in ingress-nginx, which denies the path
   * whatever the protocol, and whether the Service exists.
   */
  #secretFaultOf(wish: BackendWish | null, namespace: string): Finding | null {
    if (wish === null || wish.tls === null || wish.tls.secret === null) return null;
    this.#isNoted = true;
    const fault = this.#tls.faultOf(wish.tls, namespace);
    return fault === null ? null : notReached(fault);
  }
}

/** Null where nothing is to be said of it. */
function unusedTls(plan: Plan, { tls }: BackendWish): Finding | null {
  if (tls === null || plan.kind !== "settled" || plan.finding.upstream === null) return null;
  const { upstream, fault } = plan.finding;
  return reached(upstream, fault, {
    field: tls.field,
    reason: UNUSED_TLS,
    message: "the annotation has no effect, as the backend is spoken to in plain text",
    remedy: "Set backend-protocol to HTTPS or GRPCS, or remove the annotation",
  });
}

/** Faults of Services that have no endpoints, or would have none if they existed. */
const WITHOUT_ENDPOINTS = ["EndpointsMissing", "ServiceNotFound", "ServicePortNotFound"];

/** The very same as before where it says the same. */
function keep({ wished }: KnownPlan, id: string, now: Reached): Reached {
  const before = wished.get(id);
  const isSame = before !== undefined && isSamePart(before.upstream, now.upstream) &&
    isSameNote(before.note, now.note) && before.fault?.message === now.fault?.message;
  if (isSame) return before;
  if (wished.size >= MAX_WISHED) wished.clear();
  wished.set(id, now);
  return now;
}

/** Of one port, since Ingresses may wish anything, and something else every minute. */
const MAX_WISHED = 100;

function isSameNote(a: Note | null, b: Note | null): boolean {
  return a?.field === b?.field && a?.message === b?.message && a?.remedy === b?.remedy;
}

const NO_SLICES: readonly Slice[] = [];

interface FoundBackend {
  readonly backend: ServiceBackend;
  /** `keyOf` the Service. */
  readonly key: string;
  finding: Finding;
  /** How often it was asked for. */
  users: number;
}

/** What one resolver has found, and of what. */
export interface FoundBackends {
  /** By upstream id, in the order in which they were asked for. */
  readonly byId: Map<string, FoundBackend>;
  /** Ids of those with problems, or settings of TLS: each resolver finds them anew. */
  readonly noted: Set<string>;
  readonly services: ReadonlyMap<string, ServiceModel>;
  readonly slices: SlicesByService;
  readonly options: BackendOptions;
  readonly limits: ReadonlyMap<string, number>;
}

function isSameOptions(a: BackendOptions, b: BackendOptions): boolean {
  return a.allowExternalName === b.allowExternalName &&
    a.allowLocalEndpoints === b.allowLocalEndpoints && a.denied === b.denied;
}

function isSameLimits(a: ReadonlyMap<string, number>, b: ReadonlyMap<string, number>): boolean {
  return a.size === b.size && a.entries().every(([namespace, limit]) => b.get(namespace) === limit);
}

/** Whether routes to it, and what is said of them, are the same; endpoints may be others. */
function isSameOutcome(a: Finding, b: Finding): boolean {
  return a === b ||
    (isSamePart(a.resolution.action, b.resolution.action) &&
      a.resolution.isServed === b.resolution.isServed &&
      a.upstream?.protocol === b.upstream?.protocol &&
      JSON.stringify(a.fault?.at) === JSON.stringify(b.fault?.at) &&
      isSameNote(noteOf(a), noteOf(b)) &&
      a.fault?.reason === b.fault?.reason && a.fault?.message === b.fault?.message &&
      a.fault?.remedy === b.fault?.remedy);
}

function noteOf(finding: Finding): Note | null {
  return finding.upstream === null ? null : finding.note;
}
