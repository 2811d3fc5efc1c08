/**
 * The ConfigMaps that GatewayClasses and Gateways name as their parameters. In: a client, and where they may
 * be. Out: which ones are named, and a store of those that are wanted, from the first one on.
 */
import { boundedConfigMap } from "../kube/reduce.ts";
import type { KubeConfigMap } from "../kube/resources.ts";
import { CONFIG_MAPS, type KubeObject } from "../kube/types.ts";
import {
  type ParameterLists,
  parameterReferences,
} from "../translate/gateway/gateway_parameters.ts";
import type { GatewayReaders } from "../translate/gateway/gateway_readers.ts";
import { NamedObjects, type NamedObjectsOptions } from "./named_objects.ts";

export type StoredConfigMap = KubeConfigMap & KubeObject;

export interface ParameterConfigMapsOptions extends
  Pick<
    NamedObjectsOptions<StoredConfigMap>,
    "client" | "namespaces" | "log" | "timing" | "random"
  > {
  /** Of those of classes. */
  readonly classNamespace: string;
  /** Of one, as JSON: tenants write them. */
  readonly maxBytes: number;
}

export class ParameterConfigMaps extends NamedObjects<StoredConfigMap> {
  readonly #classNamespace: string;
  #isStarted = false;

  /** @param options.namespaces Of Gateways; null for all. */
  constructor(
    { maxBytes, classNamespace, namespaces, ...options }: ParameterConfigMapsOptions,
  ) {
    super({
      ...options,
      namespaces: namespaces && [...new Set([...namespaces, classNamespace])],
      resource: CONFIG_MAPS,
      reduce: boundedConfigMap(maxBytes),
      fieldSelector: null,
      rights: "overlays/gateway",
    });
    this.#classNamespace = classNamespace;
  }

  /** Whether it is known which of the wanted ones there are, or that it cannot be known now. */
  get isKnown(): boolean {
    return !this.#isStarted || this.isSynced || this.isFailing;
  }

  /** The first that is wanted begins the watch: whoever uses no parameters needs no right on ConfigMaps. */
  override want(names: ReadonlySet<string>): void {
    if (names.size > 0 && !this.#isStarted) {
      this.#isStarted = true;
      this.start();
    }
    super.want(names);
  }

  /** Those that classes and Gateways of ours name, as `namespace/name`. */
  namedIn(lists: ParameterLists, readers: GatewayReaders): ReadonlySet<string> {
    return parameterReferences(lists, this.#classNamespace, readers);
  }
}
