/**
 * What one namespace may have served. In: Ingresses, oldest first, what was published, and bounds. Out:
 * the Ingresses within the bounds: one that goes over them is replaced by what was published of it,
 * with a problem. No namespace can take the memory of proxies from the others.
 *
 * What was published stays, even where it is more than the bounds. Of what is new, the oldest Ingress
 * has the first choice, and each is served whole or not at all. The outcome depends on the objects and
 * on what was published alone, so that every replica comes to the same.
 */
import type { Snapshot } from "../../../shared/snapshot/types.ts";
import { describeExcess, type Excess } from "../../kube/excess.ts";
import type { Identity } from "../../base/identity.ts";
import type { Demands } from "./demand.ts";
import { differenceOf, LastResult } from "../../base/memo.ts";
import { recordProblems, type Report } from "../../base/problems.ts";
import { hasPathWithoutRoom, type PublishedModels, PublishedParts } from "./published_sources.ts";
import type { Source, SourceList } from "../model/source.ts";

export interface NamespaceBounds {
  /** Paths, and hosts without one. */
  readonly routes: number;
  /** Bytes of hosts and paths, each route with its host, and of settings of routes, each once. */
  readonly hostBytes: number;
  /** Secrets that TLS entries name. */
  readonly certificates: number;
}

/**
 * A proxy of four workers takes some 14 KiB for a route and 140 KiB for a certificate
 * (`shared/snapshot/memory.ts`), so one namespace at its bounds fits the default memory of 1 GiB. The
 * largest tenants known to us have a tenth of it.
 */
export const DEFAULT_NAMESPACE_BOUNDS: NamespaceBounds = {
  routes: 10_000,
  hostBytes: 4 << 20,
  certificates: 1_000,
};

interface Inputs {
  readonly list: SourceList;
  readonly bounds: NamespaceBounds;
  /** Null where no namespace is over its bounds, so that nothing depends on it. */
  readonly published: Snapshot | null;
}

interface Bounded {
  readonly list: SourceList;
  readonly isOver: boolean;
}

/** Reports an Ingress that does not fit; the model is of what was published of it. */
export type RefusalReport = (model: Source, report: Report) => void;

export class NamespaceAdmission {
  readonly #demands: Demands;
  readonly #models: PublishedModels;
  readonly #memory = new LastResult<Inputs, Bounded>();
  readonly #totals: NamespaceTotals;

  constructor(demands: Demands, models: PublishedModels) {
    this.#demands = demands;
    this.#models = models;
    this.#totals = new NamespaceTotals(demands);
  }

  /** The very same list as before where nothing changed, and as given where no namespace is over. */
  admit(list: SourceList, published: Snapshot | null, bounds: NamespaceBounds): SourceList {
    const last = this.#memory.recall((before) =>
      before.list === list && isSameBounds(before.bounds, bounds) &&
      (before.published === published || this.#memory.last?.result.isOver === false)
    );
    if (last !== null) return last.list;
    this.#totals.update(list.ingresses);
    const over = this.#totals.over(bounds);
    const inputs = { list, bounds, published };
    if (over.size === 0) return this.#memory.keep(inputs, { list, isOver: false }).list;
    return this.#memory.keep(inputs, {
      list: this.apply(list, published, bounds, over),
      isOver: true,
    }).list;
  }

  /**
   * Applies bounds to some namespaces.
   *
   * @param refused Those of the cluster report otherwise.
   */
  apply(
    list: SourceList,
    published: Snapshot | null,
    bounds: NamespaceBounds,
    over: ReadonlySet<string>,
    refused?: RefusalReport,
  ): SourceList {
    const parts = new PublishedParts(published, over);
    const concerned = list.ingresses.filter(({ identity }) => over.has(identity.ref.namespace));
    const ledgers = new Map(
      [...Map.groupBy(concerned, ({ identity }) => identity.ref.namespace)].map((
        [namespace, own],
      ) => [namespace, new Ledger(namespace, own, parts, bounds, this.#demands)]),
    );
    const { value, problems } = recordProblems((problems) =>
      list.ingresses.map((ingress) => {
        const ledger = ledgers.get(ingress.identity.ref.namespace);
        if (ledger === undefined) return ingress;
        const report = problems.about(ingress.identity.ref);
        if (ingress.excess !== null && refused === undefined) {
          const model = this.#models.of(ingress, parts, ledger.admitSettings(ingress));
          reportExcess(ingress.excess, model, report);
          return model;
        }
        const bound = ledger.admit(ingress);
        if (bound === null) return ingress;
        const model = this.#models.of(ingress, parts, ledger.admitSettings(ingress));
        if (refused !== undefined) refused(model, report);
        else reportFull(ingress.identity, model, bound, bounds, report);
        return model;
      })
    );
    return { ...list, ingresses: value, problems: [...list.problems, ...problems] };
  }
}

export function isSameBounds(a: NamespaceBounds, b: NamespaceBounds): boolean {
  return a.routes === b.routes && a.hostBytes === b.hostBytes && a.certificates === b.certificates;
}

/** What the Ingresses of one namespace ask for together. */
interface Total {
  ingresses: number;
  /** Ingresses with more than one may have. */
  excesses: number;
  routes: number;
  bytes: number;
  secrets: number;
}

/**
 * Of each namespace, added and subtracted as Ingresses come and go: a sum over 10,000 of them takes
 * 3 ms of every translation.
 */
class NamespaceTotals {
  readonly #demands: Demands;
  readonly #totals = new Map<string, Total>();
  #ingresses: readonly Source[] = [];

  constructor(demands: Demands) {
    this.#demands = demands;
  }

  update(ingresses: readonly Source[]): void {
    const { removed, added } = differenceOf(this.#ingresses, ingresses);
    for (const ingress of removed) this.#add(ingress, -1);
    for (const ingress of added) this.#add(ingress, 1);
    this.#ingresses = ingresses;
  }

  /** Namespaces whose Ingresses ask for more than the bounds. */
  over(bounds: NamespaceBounds): ReadonlySet<string> {
    const over = new Set<string>();
    for (const [namespace, { excesses, routes, bytes, secrets }] of this.#totals) {
      if (
        excesses > 0 || routes > bounds.routes || bytes > bounds.hostBytes ||
        secrets > bounds.certificates
      ) over.add(namespace);
    }
    return over;
  }

  /** @param sign -1 for an Ingress that goes. */
  #add(ingress: Source, sign: 1 | -1): void {
    const { namespace } = ingress.identity.ref;
    const { routes, bytes, settings, secrets } = this.#demands.of(ingress);
    let total = this.#totals.get(namespace);
    if (total === undefined) {
      total = { ingresses: 0, excesses: 0, routes: 0, bytes: 0, secrets: 0 };
      this.#totals.set(namespace, total);
    }
    total.ingresses += sign;
    if (ingress.excess !== null) total.excesses += sign;
    total.routes += sign * routes.size;
    total.bytes += sign * bytes;
    // Of settings and Secrets that several have, once for each: `Ledger` counts them once.
    for (const size of settings.values()) total.bytes += sign * size;
    total.secrets += sign * secrets.size;
    if (total.ingresses === 0) this.#totals.delete(namespace);
  }
}

/** What one namespace has, of what it may have. */
class Ledger {
  readonly #parts: PublishedParts;
  readonly #bounds: NamespaceBounds;
  readonly #demands: Demands;
  #routes = 0;
  #bytes = 0;
  readonly #secrets: Set<string>;
  /** Ids of settings that are counted. */
  readonly #settings = new Set<string>();

  /** What was published of the Ingresses is there from the start. */
  constructor(
    namespace: string,
    ingresses: readonly Source[],
    parts: PublishedParts,
    bounds: NamespaceBounds,
    demands: Demands,
  ) {
    this.#parts = parts;
    this.#bounds = bounds;
    this.#demands = demands;
    const published = new Map<string, number>();
    const wanted = new Map<string, number>();
    for (const ingress of ingresses) {
      const { identity } = ingress;
      const routes = parts.routesOf(identity);
      for (const { host, match: { path } } of routes) {
        this.#routes++;
        this.#bytes += host.length + path.value.length;
      }
      for (const [id, size] of parts.settingsSizesOf(identity)) published.set(id, size);
      if (routes.length === 0) continue;
      for (const [id, size] of demands.of(ingress).settings) wanted.set(id, size);
    }
    // No route of a snapshot, and so counted by who asks for it.
    for (const { kind, host } of ingresses.flatMap((ingress) => parts.otherNamesOf(ingress))) {
      if (kind !== "alias") continue;
      this.#routes++;
      this.#bytes += host.length + 1;
    }
    this.#count(this.#fits(wanted, published) ? wanted : published);
    const named = new Set(ingresses.flatMap((ingress) => [...demands.of(ingress).secrets]));
    this.#secrets = new Set(
      [...parts.secretsOf(namespace).values()].filter((name) => named.has(name)),
    );
  }

  /**
   * Whether all Ingresses can have their settings, in place of those that were published and before
   * anything else is added: what is changed, and takes no more than before, must not be closed.
   */
  #fits(wanted: ReadonlyMap<string, number>, published: ReadonlyMap<string, number>): boolean {
    const bytes = sum(wanted);
    return bytes <= sum(published) || this.#bytes + bytes <= this.#bounds.hostBytes;
  }

  /** Null where the Ingress fits, and counts from now on; else the bound that it does not fit. */
  admit(ingress: Source): keyof NamespaceBounds | null {
    const demand = this.#demands.of(ingress);
    let routes = 0;
    let bytes = 0;
    // A place that another Ingress has costs nothing.
    for (const [id, size] of demand.routes) {
      if (this.#parts.hasRoute(id)) continue;
      routes++;
      bytes += size;
    }
    for (const { id, host, match: { path } } of this.#parts.routesOf(ingress.identity)) {
      if (demand.routes.has(id)) continue;
      routes--;
      bytes -= host.length + (path.written ?? path.value).length;
    }
    bytes += this.#newSettings(demand.settings);
    const secrets = [...demand.secrets].filter((name) => !this.#secrets.has(name));
    const { routes: maxRoutes, hostBytes, certificates } = this.#bounds;
    if (routes > 0 && this.#routes + routes > maxRoutes) return "routes";
    if (bytes > 0 && this.#bytes + bytes > hostBytes) return "hostBytes";
    if (secrets.length > 0 && this.#secrets.size + secrets.length > certificates) {
      return "certificates";
    }
    this.#routes += routes;
    this.#bytes += bytes;
    for (const id of demand.settings.keys()) this.#settings.add(id);
    for (const name of secrets) this.#secrets.add(name);
    return null;
  }

  /** Whether the settings alone fit, of an Ingress that does not; they count from now on. */
  admitSettings(ingress: Source): boolean {
    const { settings } = this.#demands.of(ingress);
    const bytes = this.#newSettings(settings);
    if (bytes > 0 && this.#bytes + bytes > this.#bounds.hostBytes) return false;
    this.#count(settings);
    return true;
  }

  /** Bytes of those that are not counted yet. */
  #newSettings(settings: ReadonlyMap<string, number>): number {
    let bytes = 0;
    for (const [id, size] of settings) {
      if (!this.#settings.has(id)) bytes += size;
    }
    return bytes;
  }

  #count(settings: ReadonlyMap<string, number>): void {
    this.#bytes += this.#newSettings(settings);
    for (const id of settings.keys()) this.#settings.add(id);
  }
}

function sum(sizes: ReadonlyMap<string, number>): number {
  let sum = 0;
  for (const size of sizes.values()) sum += size;
  return sum;
}

const FLAGS: Readonly<Record<keyof NamespaceBounds, readonly [what: string, flag: string]>> = {
  routes: ["routes", "--max-namespace-routes"],
  hostBytes: ["bytes of hosts, paths and settings", "--max-namespace-host-bytes"],
  certificates: ["certificates", "--max-namespace-certificates"],
};

/** Without the number that there would be: each change of it would be another problem. */
function reportFull(
  { ref: { namespace } }: Identity,
  published: Source,
  bound: keyof NamespaceBounds,
  bounds: NamespaceBounds,
  report: Report,
): void {
  const [what, flag] = FLAGS[bound];
  report.error(bound === "certificates" ? "spec.tls" : "spec.rules", {
    reason: "NamespaceLimitExceeded",
    message: `with it namespace ${namespace} would have more than ${bounds[bound]} ${what}, so ` +
      consequence(published),
    remedy: `Remove routes or TLS entries from the namespace, or raise ${flag} of the controller`,
  });
}

function reportExcess(excess: Excess, published: Source, report: Report): void {
  const [what, remedy] = describeExcess(excess);
  const message = `${what}, so ${consequence(published)}`;
  report.error("spec", { reason: "ObjectTooLarge", message, remedy });
}

/** What becomes of an Ingress that does not fit; `published` is what stands in its place. */
export function consequence(published: Source): string {
  const hasPaths = published.rules.length > 0;
  // Unlike what is not supported, it cannot be accepted.
  if (hasPaths && published.refusals.some(({ fault }) => fault !== null)) {
    return "its published paths stay, and return 503 for its annotations";
  }
  if (hasPathWithoutRoom(published)) {
    return "paths that it protects more than its published configuration does return 503, and its " +
      "other paths keep that configuration";
  }
  return hasPaths ? "its published configuration stays active" : "it is not served";
}
