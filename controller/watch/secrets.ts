/**
 * The Secrets that accepted Ingresses and Gateways name. In: a client, and how to find them. Out: a store of
 * those that are wanted.
 *
 * `named`: by their versions and names; see `named_objects.ts`. `tls`: for very large clusters, one watch of
 * all Secrets of type kubernetes.io/tls with their data; wanted ones of another type are read by name.
 */
import { reduceSecret } from "../kube/reduce.ts";
import type { KubeSecret } from "../kube/resources.ts";
import { type KubeObject, SECRETS } from "../kube/types.ts";
import { NamedObjects, type NamedObjectsOptions } from "./named_objects.ts";

export type StoredSecret = KubeSecret & KubeObject;

export type SecretMode = "named" | "tls";

export interface NamedSecretsOptions extends
  Pick<
    NamedObjectsOptions<StoredSecret>,
    "client" | "namespaces" | "log" | "timing" | "random"
  > {
  readonly mode: SecretMode;
}

export class NamedSecrets extends NamedObjects<StoredSecret> {
  constructor({ mode, ...options }: NamedSecretsOptions) {
    super({
      ...options,
      resource: SECRETS,
      reduce: reduceSecret,
      fieldSelector: mode === "tls" ? "type=kubernetes.io/tls" : null,
      rights: "manifests/",
    });
  }
}
