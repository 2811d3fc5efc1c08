/**
 * The Secrets that accepted Ingresses and Gateways name. In: a client, and how to find them. Out: a store of
 * those that are wanted, and stubs of those for which their namespaces have no room.
 *
 * `named`: by their versions and names; see `named_objects.ts`. `tls`: for very large clusters, one watch of
 * all Secrets of type kubernetes.io/tls with their data; wanted ones of another type are read by name.
 */
import type { Snapshot } from "../../shared/snapshot/types.ts";
import { type Exceeded, excessOf } from "../kube/excess.ts";
import { ObjectLedger } from "../kube/object_bounds.ts";
import { reduceSecret } from "../kube/reduce.ts";
import type { KubeSecret } from "../kube/resources.ts";
import { type KubeObject, SECRETS } from "../kube/types.ts";
import { NamedObjects, type NamedObjectsOptions } from "./named_objects.ts";
import { publishedSecrets } from "./published_secrets.ts";
import { type SecretBounds, type SecretDemand, SecretLedger } from "./secret_ledger.ts";

export type StoredSecret = KubeSecret & KubeObject;

export type SecretMode = "named" | "tls";

export interface NamedSecretsOptions extends
  Pick<
    NamedObjectsOptions<StoredSecret>,
    "client" | "namespaces" | "log" | "timing" | "random"
  > {
  readonly mode: SecretMode;
  readonly bounds: SecretBounds;
}

export class NamedSecrets extends NamedObjects<StoredSecret> {
  readonly #ledger: SecretLedger;
  /** Those beyond the bounds that are not read, as `namespace/name`. */
  #refused: ReadonlySet<string> = new Set();
  #stored: ReadonlySet<string> = new Set();

  constructor({ mode, bounds, ...options }: NamedSecretsOptions) {
    super({
      ...options,
      resource: SECRETS,
      reduce: reduceSecret,
      admit: (key, object) => this.#admit(key, object),
      ...(mode === "tls" ? { ledger: watchedLedger(bounds) } : {}),
      fieldSelector: mode === "tls" ? "type=kubernetes.io/tls" : null,
      rights: "manifests/",
    });
    this.#ledger = new SecretLedger(bounds);
  }

  /** Those that are to be read; `want` stores a stub for each other one. */
  choose(demand: SecretDemand, published: Snapshot | null): ReadonlySet<string> {
    const { wanted, refused } = this.#ledger.choose(demand, publishedSecrets(published));
    this.#refused = refused;
    return wanted;
  }

  override want(names: ReadonlySet<string>): void {
    super.want(names);
    for (const key of this.#stored) if (!this.#refused.has(key)) this.forget(key);
    const excess: Exceeded = { bound: "secrets", limit: this.#ledger.bounds.count };
    for (const key of this.#refused) {
      if (this.#stored.has(key)) continue;
      const [namespace, name] = key.split("/");
      this.keep(stubOf({ metadata: { namespace, name } }, excess));
    }
    this.#stored = this.#refused;
    for (const key of names) this.#apply(key);
  }

  #admit(key: string, object: StoredSecret | null): StoredSecret | null {
    const changed = this.#ledger.measure(key, object === null ? 0 : bytesOf(object));
    for (const other of changed) if (other !== key) this.#apply(other);
    return object !== null && this.#ledger.isDropped(key) ? stubOf(object, this.#excess) : object;
  }

  /** Drops the data of a Secret that is stored, or reads it again. */
  #apply(key: string): void {
    const [namespace, name] = key.split("/");
    const stored = this.store.get(namespace, name);
    if (stored === null) return;
    const isStub = excessOf(stored) !== null;
    if (isStub === this.#ledger.isDropped(key)) return;
    if (isStub) this.reread(key);
    else this.keep(stubOf(stored, this.#excess));
  }

  get #excess(): Exceeded {
    return { bound: "secretBytes", limit: this.#ledger.bounds.bytes };
  }
}

/** Of what a namespace may have of Secrets, how often the watch keeps it of those that nobody may name. */
const WATCHED_SHARE = 4;

/** The first that come are kept; the others are asked for when they are wanted, so nobody is told of room. */
function watchedLedger({ bytes }: SecretBounds): ObjectLedger {
  const bounds = {
    ingressPaths: Infinity,
    objectBytes: Infinity,
    namespaceBytes: WATCHED_SHARE * bytes,
  };
  return new ObjectLedger("Secret", bounds, () => {});
}

/** Of its values, without base64. */
function bytesOf({ data }: StoredSecret): number {
  let length = 0;
  for (const [name, value] of Object.entries(data ?? {})) {
    length += name.length + (typeof value === "string" ? value.length : 0) * 3 / 4;
  }
  return Math.ceil(length);
}

function stubOf({ metadata, type }: StoredSecret, excess: Exceeded): StoredSecret {
  const stub = { metadata, ...(type === undefined ? {} : { type }), excess };
  return stub;
}
