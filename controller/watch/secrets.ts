/**
 * The Secrets that accepted Ingresses and Gateways name. In: a client, and how to find them. Out: a store of
 * those that are wanted, and stubs of those for which their namespaces have no room.
 *
 * `named`: by their versions and names; see `named_objects.ts`. `tls`: for very large clusters, one watch of
 * all Secrets of type kubernetes.io/tls with their data; wanted ones of another type are read by name.
 */
import type { Snapshot } from "../../shared/snapshot/types.ts";
import { ObjectLedger } from "../kube/object_bounds.ts";
import { reduceSecret } from "../kube/reduce.ts";
import type { KubeSecret } from "../kube/resources.ts";
import { type KubeObject, SECRETS } from "../kube/types.ts";
import { BoundedObjects } from "./bounded_objects.ts";
import type { NamedObjectsOptions } from "./named_objects.ts";
import { publishedSecrets } from "./published_secrets.ts";
import type { ReferenceBounds, ReferenceDemand } from "./reference_ledger.ts";

export type StoredSecret = KubeSecret & KubeObject;

export type SecretMode = "named" | "tls";

export interface NamedSecretsOptions extends
  Pick<
    NamedObjectsOptions<StoredSecret>,
    "client" | "namespaces" | "log" | "timing" | "random"
  > {
  readonly mode: SecretMode;
  readonly bounds: ReferenceBounds;
}

export class NamedSecrets extends BoundedObjects<StoredSecret> {
  constructor({ mode, bounds, ...options }: NamedSecretsOptions) {
    super({
      ...{ ...options, bounds, bytesOf },
      resource: SECRETS,
      reduce: reduceSecret,
      exceeded: { count: "secrets", bytes: "secretBytes" },
      ...(mode === "tls" ? { ledger: watchedLedger(bounds) } : {}),
      fieldSelector: mode === "tls" ? "type=kubernetes.io/tls" : null,
      rights: "manifests/",
    });
  }

  /** Those that are to be read; `want` stores a stub for each other one. */
  choose(demand: ReferenceDemand, published: Snapshot | null): ReadonlySet<string> {
    return this.within(demand, publishedSecrets(published));
  }
}

/** Of what a namespace may have of Secrets, how often the watch keeps it of those that nobody may name. */
const WATCHED_SHARE = 4;

/** The first that come are kept; the others are asked for when they are wanted, so nobody is told of room. */
function watchedLedger({ bytes }: ReferenceBounds): ObjectLedger {
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
