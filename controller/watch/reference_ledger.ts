/**
 * Which Secrets that tenants name are read and kept, or which ConfigMaps: one ledger for each. In: who names which,
 * what is published, and how large each is once it has been read. Out: for each namespace, those within its bounds; so
 * a tenant fills neither the controller's memory nor its calls to the API server, and loses by its own flood none of
 * the certificates that are served already. What is said of Secrets here holds for ConfigMaps, which are `others`.
 *
 * A Secret counts for the namespace of who names it: with Gateways, that may be another one than its own. Published
 * ones come first, and then those of the oldest objects; so every replica, and each start, comes to the same.
 */
import { compareAge, type Identity } from "../base/identity.ts";
import { compareText } from "../base/text_order.ts";

export interface ReferenceBounds {
  /** Secrets that TLS entries of one namespace name, as many that listeners do, and as many others. */
  readonly count: number;
  /** Bytes of the values that are kept of the Secrets which the objects of one namespace name. */
  readonly bytes: number;
}

/** The Secrets that one object names, as `namespace/name`. */
export interface ReferenceUse {
  readonly owner: Identity;
  /** Of TLS entries. */
  readonly certificates: readonly string[];
  /** Of listeners of a Gateway. */
  readonly listeners: readonly string[];
  readonly others: readonly string[];
}

export interface ReferenceDemand {
  readonly uses: readonly ReferenceUse[];
  /** Those that the operator names: they count for no namespace. */
  readonly global: readonly string[];
}

export interface ReferenceChoice {
  /** To be read. */
  readonly wanted: ReadonlySet<string>;
  /** Beyond the bounds. */
  readonly refused: ReadonlySet<string>;
}

/** Of the bound of bytes, how often published Secrets may fill it: a renewed one must not wait for new ones to go. */
const PUBLISHED_SHARE = 2;

export class ReferenceLedger {
  readonly bounds: ReferenceBounds;
  #published: ReadonlySet<string> = new Set();
  #tenants: readonly Tenant[] = [];
  /** Those whose objects name a Secret. */
  #tenantsOf: ReadonlyMap<string, readonly Tenant[]> = new Map();
  /** Bytes of those that have been read. */
  readonly #sizes = new Map<string, number>();

  constructor(bounds: ReferenceBounds) {
    this.bounds = bounds;
  }

  /**
   * By count, before anything is read.
   *
   * @param published Secrets that what is published has something of: they are always wanted while they are named.
   */
  choose({ uses, global }: ReferenceDemand, published: ReadonlySet<string>): ReferenceChoice {
    this.#published = published;
    const tenantsOf = new Map<string, readonly Tenant[]>();
    const refused = new Set<string>();
    const byNamespace = Map.groupBy(uses, ({ owner }) => owner.ref.namespace);
    this.#tenants = [...byNamespace.values()].map((uses) => {
      const tenant = new Tenant(uses, published);
      const [first, ...more] = KINDS.map((kind) => tenant.within(kind, this.bounds.count, refused));
      tenant.keys = more.reduce((all, keys) => all.union(keys), first);
      for (const key of tenant.keys) {
        const before = tenantsOf.get(key);
        tenantsOf.set(key, before === undefined ? [tenant] : [...before, tenant]);
      }
      return tenant;
    });
    // What everybody is shown is no tenant's.
    for (const key of global) tenantsOf.set(key, []);
    for (const key of tenantsOf.keys()) refused.delete(key);
    this.#tenantsOf = tenantsOf;
    for (const key of this.#sizes.keys()) if (!tenantsOf.has(key)) this.#sizes.delete(key);
    for (const tenant of this.#tenants) this.#weigh(tenant);
    return { wanted: new Set(tenantsOf.keys()), refused };
  }

  /** Takes the bytes of a Secret that was read; 0 where there is none. Returns those for which `isDropped` may differ. */
  measure(key: string, bytes: number): ReadonlySet<string> {
    if (this.#sizes.get(key) === bytes) return NONE;
    this.#sizes.set(key, bytes);
    let changed = NONE;
    for (const tenant of this.#tenantsOf.get(key) ?? []) {
      const before = tenant.dropped;
      this.#weigh(tenant);
      if (before !== tenant.dropped) {
        changed = changed.union(before.symmetricDifference(tenant.dropped));
      }
    }
    return changed;
  }

  /** Whether nothing of the Secret is kept, since the namespaces that name it have no room. */
  isDropped(key: string): boolean {
    const tenants = this.#tenantsOf.get(key) ?? [];
    return tenants.length > 0 && tenants.every(({ dropped }) => dropped.has(key));
  }

  #weigh(tenant: Tenant): void {
    const { bytes: limit } = this.bounds;
    let sum = 0;
    for (const key of tenant.keys) sum += this.#sizes.get(key) ?? 0;
    if (sum <= limit) {
      tenant.dropped = NONE;
      return;
    }
    const dropped = new Set<string>();
    let taken = 0;
    for (const key of tenant.ranked()) {
      const bytes = this.#sizes.get(key) ?? 0;
      const most = this.#published.has(key) ? PUBLISHED_SHARE * limit : limit;
      if (taken + bytes > most) dropped.add(key);
      else taken += bytes;
    }
    tenant.dropped = dropped;
  }
}

const KINDS = ["certificates", "listeners", "others"] as const;

const NONE: ReadonlySet<string> = new Set();

/** The objects of one namespace that name Secrets. */
class Tenant {
  /** Of Secrets that are wanted. */
  keys: ReadonlySet<string> = NONE;
  /** Of these, those for which there is no room. */
  dropped: ReadonlySet<string> = NONE;
  readonly #uses: readonly ReferenceUse[];
  readonly #published: ReadonlySet<string>;
  /** The uses, the oldest object first; null until it matters. */
  #byAge: readonly ReferenceUse[] | null = null;
  #ranked: readonly string[] | null = null;

  constructor(uses: readonly ReferenceUse[], published: ReadonlySet<string>) {
    this.#uses = uses;
    this.#published = published;
  }

  /** So many of one kind, and all published ones; `refused` gets the others. */
  within(kind: typeof KINDS[number], count: number, refused: Set<string>): Set<string> {
    const all = new Set(this.#uses.flatMap((use) => use[kind]));
    if (all.size <= count) return all;
    const within = new Set<string>();
    for (const key of all) if (this.#published.has(key)) within.add(key);
    for (const key of this.#oldest().flatMap((use) => use[kind])) {
      if (within.size < count) within.add(key);
      else if (!within.has(key)) refused.add(key);
    }
    return within;
  }

  /** The wanted ones, published ones first. */
  ranked(): readonly string[] {
    if (this.#ranked !== null) return this.#ranked;
    const inOrder = new Set(
      this.#oldest().flatMap((use) => KINDS.flatMap((kind) => use[kind])),
    ).intersection(this.keys);
    const { published = [], others = [] } = Object.groupBy(
      inOrder,
      (key) => this.#published.has(key) ? "published" : "others",
    );
    return this.#ranked = [...published, ...others];
  }

  /** An Ingress and a Service may have one name and one age. */
  #oldest(): readonly ReferenceUse[] {
    return this.#byAge ??= this.#uses.toSorted((a, b) =>
      compareAge(a.owner, b.owner) || compareText(a.owner.ref.kind, b.owner.ref.kind)
    );
  }
}
