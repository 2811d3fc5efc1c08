/**
 * Objects of one kind that tenants name, within bounds of their namespaces. In: who names which, and what is in use.
 * Out: a store of those that are read and kept, and stubs of those for which their namespaces have no room; a stub says
 * which bound that is. They are read, or read again, once there is room.
 */
import { type Exceeded, excessOf } from "../kube/excess.ts";
import type { KubeObject } from "../kube/types.ts";
import { NamedObjects, type NamedObjectsOptions } from "./named_objects.ts";
import { type ReferenceBounds, type ReferenceDemand, ReferenceLedger } from "./reference_ledger.ts";

export interface BoundedObjectsOptions<T extends KubeObject>
  extends Omit<NamedObjectsOptions<T>, "admit"> {
  readonly bounds: ReferenceBounds;
  /** What stubs say of each of the bounds. */
  readonly exceeded: Readonly<Record<keyof ReferenceBounds, Exceeded["bound"]>>;
  /** Of what is kept of an object. */
  readonly bytesOf: (object: T) => number;
}

export class BoundedObjects<T extends KubeObject> extends NamedObjects<T> {
  readonly #ledger: ReferenceLedger;
  readonly #exceeded: BoundedObjectsOptions<T>["exceeded"];
  readonly #bytesOf: (object: T) => number;
  /** Those beyond the bounds that are not read, as `namespace/name`. */
  #refused: ReadonlySet<string> = new Set();
  #stored: ReadonlySet<string> = new Set();

  constructor({ bounds, exceeded, bytesOf, ...options }: BoundedObjectsOptions<T>) {
    super({ ...options, admit: (key, object) => this.#admit(key, object) });
    this.#ledger = new ReferenceLedger(bounds);
    this.#exceeded = exceeded;
    this.#bytesOf = bytesOf;
  }

  /**
   * Those that are to be read; `want` stores a stub for each other one.
   *
   * @param inUse As `namespace/name`, those that come first.
   */
  protected within(demand: ReferenceDemand, inUse: ReadonlySet<string>): ReadonlySet<string> {
    const { wanted, refused } = this.#ledger.choose(demand, inUse);
    this.#refused = refused;
    return wanted;
  }

  override want(names: ReadonlySet<string>): void {
    super.want(names);
    for (const key of this.#stored) if (!this.#refused.has(key)) this.forget(key);
    for (const key of this.#refused) {
      if (this.#stored.has(key)) continue;
      const [namespace, name] = key.split("/");
      const metadata: KubeObject["metadata"] = { namespace, name };
      this.keep(stubOf<T>({ metadata }, this.#excess("count")));
    }
    this.#stored = this.#refused;
    for (const key of names) this.#apply(key);
  }

  #admit(key: string, object: T | null): T | null {
    const changed = this.#ledger.measure(key, object === null ? 0 : this.#bytesOf(object));
    for (const other of changed) if (other !== key) this.#apply(other);
    return object !== null && this.#ledger.isDropped(key)
      ? stubOf<T>(object, this.#excess("bytes"))
      : object;
  }

  /** Drops the data of an object that is stored, or reads it again. */
  #apply(key: string): void {
    const [namespace, name] = key.split("/");
    const stored = this.store.get(namespace, name);
    if (stored === null) return;
    const isStub = this.#isStub(stored);
    if (isStub === this.#ledger.isDropped(key)) return;
    if (isStub) this.reread(key);
    else this.keep(stubOf<T>(stored, this.#excess("bytes")));
  }

  /** Whether it has no room in its namespace: one may be too large by itself, too. */
  #isStub(stored: T): boolean {
    const bound = excessOf(stored)?.bound;
    return bound === this.#exceeded.count || bound === this.#exceeded.bytes;
  }

  #excess(bound: keyof ReferenceBounds): Exceeded {
    return { bound: this.#exceeded[bound], limit: this.#ledger.bounds[bound] };
  }
}

/** Of what is read of such an object, nothing but who it is, and its type, is always there. */
function stubOf<T extends KubeObject>(
  { metadata, type }: KubeObject & { readonly type?: unknown },
  excess: Exceeded,
): T {
  const stub = { metadata, ...(type === undefined ? {} : { type }), excess };
  return stub as unknown as T;
}
