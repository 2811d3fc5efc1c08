/**
 * Gateway API from one translation to the next. In: the objects that a translation sees, and what its other
 * stages know. Out: what `translateGatewayApi` gives for them; the very same as before where nothing has
 * changed that it is made of.
 */
import { DEFAULT_LISTEN_RANGE, type PortRange } from "../../../shared/net/port_range.ts";
import type { Snapshot } from "../../../shared/snapshot/types.ts";
import { isSameList, LastResult } from "../../base/memo.ts";
import { isAlike } from "../../kube/likeness.ts";
import type { Resources } from "../../kube/resources.ts";
import type { BackendResolver } from "../backends/backend.ts";
import type { ServiceModel } from "../backends/service.ts";
import type { CertificateSources, SecretModel } from "../certificates/certificate_source.ts";
import { configMapLookup } from "./gateway_parameters.ts";
import type { GatewayReaders } from "./gateway_readers.ts";
import {
  type BoundedTranslation,
  type GatewayParts,
  type GatewayTranslation,
  translateGatewayApi,
} from "./gateway_translation.ts";
import type { NamespaceBounds } from "../bounds/namespace_bounds.ts";
import { crowdedNamespaces, type RouteDemand } from "./route_bounds.ts";
import { publishedParts } from "./published_parts.ts";
import type { ServiceDefaults } from "./objects/parameters.ts";
import { namespaceLabels, servicePorts, tlsSecrets, UsedUpstreams } from "./lookups.ts";

export interface GatewayOptions {
  /** Of container ports for listeners. */
  readonly listenRange: PortRange;
  /** Where ConfigMaps of GatewayClasses are: the controller's own. */
  readonly namespace: string;
  /** What Services of Gateways are like where no parameter says otherwise. */
  readonly service: ServiceDefaults;
}

/** Those of a controller without flags. */
export const DEFAULT_GATEWAY_OPTIONS: GatewayOptions = {
  listenRange: DEFAULT_LISTEN_RANGE,
  namespace: "pingress-system",
  service: { type: "LoadBalancer", loadBalancerClass: null, annotations: {} },
};

/** What other stages of the same translation know. */
export interface GatewayStages {
  readonly backends: BackendResolver;
  readonly services: ReadonlyMap<string, ServiceModel>;
  readonly secrets: ReadonlyMap<string, SecretModel>;
  readonly sources: CertificateSources;
  readonly published: Snapshot | null;
  /** What each namespace may have, and what its Ingresses have of that. */
  readonly bounds: NamespaceBounds;
  readonly taken: ReadonlyMap<string, RouteDemand>;
}

const NO_PARTS: GatewayParts = { listeners: [], routes: [], filterSets: [], certificates: [] };

interface Inputs {
  readonly lists: readonly (readonly unknown[])[];
  readonly services: GatewayStages["services"];
  readonly secrets: GatewayStages["secrets"];
  /** Listeners with their container ports. */
  readonly published: string;
  readonly unreadConfigMaps: readonly string[];
  readonly options: GatewayOptions;
  readonly bounds: NamespaceBounds;
  readonly taken: GatewayStages["taken"];
  /** Whole. */
  readonly snapshot: Snapshot | null;
}

export class GatewayTranslator {
  readonly #readers: GatewayReaders;
  readonly #last = new LastResult<Inputs, BoundedTranslation>();
  #used: UsedUpstreams | null = null;

  constructor(readers: GatewayReaders) {
    this.#readers = readers;
  }

  /** Without a translation where the objects are not known yet: then what was published stays. */
  translate(
    resources: Resources,
    options: GatewayOptions,
    stages: GatewayStages,
  ): { readonly translation: GatewayTranslation | null; readonly parts: GatewayParts } {
    this.#used?.release(stages.backends);
    if (resources.gatewayIsPending === true) {
      const upstreams = this.#used = new UsedUpstreams(stages.backends);
      const { published } = stages;
      const parts = published === null ? NO_PARTS : publishedParts(published, upstreams);
      return { translation: null, parts };
    }
    const translation = this.#translate(resources, options, stages);
    return { translation, parts: translation.parts };
  }

  #translate(
    resources: Resources,
    options: GatewayOptions,
    { backends, services, secrets, sources, published, bounds, taken }: GatewayStages,
  ): GatewayTranslation {
    const {
      gatewayClasses,
      gateways,
      httpRoutes,
      referenceGrants,
      backendTlsPolicies,
      listenerSets,
    } = resources;
    const namespaces = resources.namespaces ?? null;
    const { gatewayConfigMaps: configMaps = [], unreadConfigMaps = [] } = resources;
    const objects = {
      classes: gatewayClasses ?? [],
      gateways: gateways ?? [],
      routes: httpRoutes ?? [],
      grants: referenceGrants ?? [],
      backendTlsPolicies: backendTlsPolicies ?? [],
      listenerSets: listenerSets ?? [],
    };
    const listeners = published?.listeners ?? [];
    const inputs: Inputs = {
      lists: [...Object.values(objects), namespaces ?? [], configMaps],
      ...{ services, secrets, unreadConfigMaps, options },
      ...{ bounds, taken, snapshot: published },
      published: JSON.stringify(listeners.map(({ id, port, socket }) => [id, port, socket])),
    };
    const before = this.#last.recall((last) =>
      isSameInputs(last, inputs) && this.#isWithinBoundsAs(last, inputs)
    );
    const again = before === null ? null : this.#used?.askAgain(backends) ?? null;
    if (before !== null && again !== null) {
      this.#used = again;
      return before;
    }
    const upstreams = this.#used = new UsedUpstreams(backends);
    return this.#last.keep(
      inputs,
      translateGatewayApi(objects, {
        ...{ upstreams, published, bounds, taken, ...options },
        configMaps: configMapLookup(configMaps, unreadConfigMaps),
        services: servicePorts(services),
        secrets: tlsSecrets(secrets, sources),
        namespaces: namespaceLabels(namespaces),
      }, this.#readers),
    );
  }

  /** Where no namespace asks for too much, neither Ingresses nor what was published change anything. */
  #isWithinBoundsAs(last: Inputs, inputs: Inputs): boolean {
    const { demands, isCrowded } = this.#last.last!.result;
    if (!isCrowded) return crowdedNamespaces(demands, inputs).size === 0;
    return last.taken === inputs.taken && last.snapshot === inputs.snapshot &&
      last.bounds.routes === inputs.bounds.routes &&
      last.bounds.hostBytes === inputs.bounds.hostBytes;
  }
}

function isSameInputs(a: Inputs, b: Inputs): boolean {
  return a.services === b.services && a.secrets === b.secrets && a.published === b.published &&
    isAlike(a.options, b.options) && isSameList(a.unreadConfigMaps, b.unreadConfigMaps) &&
    a.lists.every((list, i) => isSameList(list, b.lists[i]));
}
