/**
 * The ConfigMaps that GatewayClasses and Gateways name as their parameters. In: a client, where they may be, and
 * what is published. Out: a store of those that are wanted, from the first one on, and stubs of those for which
 * their namespaces have no room.
 *
 * Those of Gateways that are published come first, then those of the oldest Gateways; those of classes are the
 * operator's, and always read.
 */
import { gatewayOf } from "../../shared/snapshot/listener_id.ts";
import type { Snapshot } from "../../shared/snapshot/types.ts";
import { compareAge } from "../base/identity.ts";
import { boundedConfigMap } from "../kube/reduce.ts";
import type { KubeConfigMap } from "../kube/resources.ts";
import { CONFIG_MAPS, type KubeObject } from "../kube/types.ts";
import {
  PARAMETER_KEYS,
  type ParameterLists,
  type ParameterUse,
  parameterUses,
} from "../translate/gateway/gateway_parameters.ts";
import type { GatewayReaders } from "../translate/gateway/gateway_readers.ts";
import { BoundedObjects } from "./bounded_objects.ts";
import type { NamedObjectsOptions } from "./named_objects.ts";
import type { ReferenceBounds } from "./reference_ledger.ts";

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
  /** Of those that the Gateways of one namespace name, as of Secrets. */
  readonly bounds: ReferenceBounds;
}

export class ParameterConfigMaps extends BoundedObjects<StoredConfigMap> {
  readonly #classNamespace: string;
  readonly #maxCount: number;
  #isStarted = false;

  /** @param options.namespaces Of Gateways; null for all. */
  constructor(
    { maxBytes, classNamespace, namespaces, bounds, ...options }: ParameterConfigMapsOptions,
  ) {
    super({
      ...{ ...options, bounds, bytesOf },
      namespaces: namespaces && [...new Set([...namespaces, classNamespace])],
      resource: CONFIG_MAPS,
      reduce: boundedConfigMap(maxBytes, PARAMETER_KEYS),
      exceeded: { count: "configMaps", bytes: "configMapBytes" },
      fieldSelector: null,
      rights: "overlays/gateway",
    });
    this.#classNamespace = classNamespace;
    this.#maxCount = bounds.count;
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

  /**
   * Those that classes and Gateways of ours name and that are to be read, as `namespace/name`; `want` stores a stub for
   * each other one.
   */
  choose(
    lists: ParameterLists,
    readers: GatewayReaders,
    published: Snapshot | null,
  ): ReadonlySet<string> {
    const { ofGateways, ofClasses } = parameterUses(lists, this.#classNamespace, readers);
    const uses = ofGateways.map(({ gateway: owner, key }) => {
      return { owner, certificates: [], listeners: [], others: [key] };
    });
    const inUse = inUseOf(ofGateways, published, this.#maxCount);
    return this.within({ uses, global: ofClasses }, inUse);
  }
}

/**
 * Those of published Gateways. Whether it was they that Gateways were published with is not known, so in each namespace
 * the oldest Gateways have so many and no more.
 */
function inUseOf(
  uses: readonly ParameterUse[],
  published: Snapshot | null,
  maxCount: number,
): ReadonlySet<string> {
  const gateways = new Set((published?.listeners ?? []).map(({ id }) => gatewayOf(id)));
  const ofPublished = uses.filter(({ gateway }) => gateways.has(gateway.key));
  const inUse = new Set<string>();
  for (const some of Map.groupBy(ofPublished, (each) => each.gateway.ref.namespace).values()) {
    const oldest = some.length <= maxCount
      ? some
      : some.toSorted((a, b) => compareAge(a.gateway, b.gateway)).slice(0, maxCount);
    for (const { key } of oldest) inUse.add(key);
  }
  return inUse;
}

function bytesOf({ data }: StoredConfigMap): number {
  let length = 0;
  for (const [name, value] of Object.entries(data ?? {})) {
    length += name.length + (typeof value === "string" ? value.length : 0);
  }
  return length;
}
