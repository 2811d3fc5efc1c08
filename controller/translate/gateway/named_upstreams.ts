/**
 * Upstreams that HTTPRoutes name. In: those of Ingresses, HTTPRoutes with Gateways of ours as parents, grants, and
 * Services. Out: the ids of all, by namespace of the Service, for the bounds of endpoints; the very same sets as
 * before where they have the same ids.
 */
import { upstreamsOf } from "../../../shared/snapshot/forward_action.ts";
import type { Snapshot } from "../../../shared/snapshot/types.ts";
import { keyOf } from "../../base/identity.ts";
import { isSameList, LastResult, ObjectCache } from "../../base/memo.ts";
import type { Resources } from "../../kube/resources.ts";
import { GATEWAY_API, GATEWAYS, HTTP_ROUTES, SERVICES } from "../../kube/types.ts";
import type { ServiceModel } from "../backends/service.ts";
import { serviceOf, upstreamId } from "../model/backend_ref.ts";
import type { GatewayReaders } from "./gateway_readers.ts";
import { servicePorts } from "./lookups.ts";
import type { HttpRouteModel } from "./objects/http_route.ts";
import type { Reference } from "./objects/reference.ts";
import type { Referrer } from "./objects/reference_grant.ts";

/** Ids by namespace. */
export type UpstreamIds = ReadonlyMap<string, ReadonlySet<string>>;

interface Inputs {
  readonly ofIngresses: UpstreamIds;
  readonly services: ReadonlyMap<string, ServiceModel>;
  /** Null where it does not matter, as the objects are known. */
  readonly published: Snapshot | null;
  readonly lists: readonly (readonly unknown[])[];
}

export class NamedUpstreams {
  readonly #readers: GatewayReaders;
  readonly #named = new ObjectCache(namedBy);
  readonly #last = new LastResult<Inputs, UpstreamIds>();

  constructor(readers: GatewayReaders) {
    this.#readers = readers;
  }

  /** @param services By `namespace/name`. */
  of(
    ofIngresses: UpstreamIds,
    resources: Resources,
    services: ReadonlyMap<string, ServiceModel>,
    published: Snapshot | null,
  ): UpstreamIds {
    const { gatewayClasses, gateways, httpRoutes, referenceGrants } = resources;
    const isPending = resources.gatewayIsPending === true;
    const inputs: Inputs = {
      ...{ ofIngresses, services, published: isPending ? published : null },
      lists: [gatewayClasses ?? [], gateways ?? [], httpRoutes ?? [], referenceGrants ?? []],
    };
    const before = this.#last.last?.result;
    return this.#last.recall((last) =>
      last.ofIngresses === ofIngresses && last.services === services &&
      last.published === inputs.published &&
      last.lists.every((list, i) => isSameList(list, inputs.lists[i]))
    ) ?? this.#last.keep(
      inputs,
      union(ofIngresses, isPending ? publishedIds(published) : this.#idsOf(inputs), before),
    );
  }

  #idsOf({ services, lists: [classes, gateways, routes, grants] }: Inputs): UpstreamIds {
    const ourClasses = this.#readers.classes(classes);
    const models = gateways.flatMap((object) => this.#readers.gateway(object) ?? []);
    const ours = new Set(
      models.filter(({ className }) => ourClasses.has(className)).map(({ identity }) =>
        identity.key
      ),
    );
    const permitted = this.#readers.grants(grants);
    const { portsOf } = servicePorts(services);
    const ids = new Map<string, Set<string>>();
    for (const route of ours.size === 0 ? [] : this.#readers.routes(routes)) {
      const { gateways, services, from } = this.#named.of(route);
      if (!gateways.some((gateway) => ours.has(gateway))) continue;
      for (const { reference, port, id } of services) {
        // Whoever names what is not there takes no endpoints from the others.
        if (!permitted.isPermitted(from, reference)) continue;
        const ports = portsOf(reference.namespace, reference.name);
        if (ports === null || ports === "any" || !ports.includes(port)) continue;
        addTo(ids, reference.namespace, id);
      }
    }
    return ids;
  }
}

/** What one HTTPRoute names. */
interface NamedByRoute {
  /** `namespace/name`. */
  readonly gateways: readonly string[];
  readonly services: readonly {
    readonly reference: Reference;
    readonly port: number;
    /** Of the upstream. */
    readonly id: string;
  }[];
  readonly from: Referrer;
}

function namedBy(
  { identity: { ref: { namespace } }, parents, rules }: HttpRouteModel,
): NamedByRoute {
  return {
    gateways: parents.filter(({ kind }) => kind === GATEWAYS.kind).map(keyOf),
    services: rules.flatMap(({ backends }) => backends).flatMap(({ reference, port }) =>
      reference === null || port === null || reference.kind !== SERVICES.kind ? [] : [{
        ...{ reference, port },
        id: upstreamId(reference.namespace, reference.name, port),
      }]
    ),
    from: { group: GATEWAY_API, kind: HTTP_ROUTES.kind, namespace },
  };
}

/** Of what proxies go on with while the objects are not known. */
function publishedIds(published: Snapshot | null): UpstreamIds {
  const ids = new Map<string, Set<string>>();
  const own = (published?.routes ?? []).filter(({ listeners }) => listeners !== undefined);
  for (const id of own.flatMap(({ action }) => upstreamsOf(action))) {
    const service = serviceOf(id);
    if (service !== null) addTo(ids, service.namespace, id);
  }
  return ids;
}

function addTo(ids: Map<string, Set<string>>, namespace: string, id: string): void {
  const own = ids.get(namespace);
  if (own === undefined) ids.set(namespace, new Set([id]));
  else own.add(id);
}

function union(
  ofIngresses: UpstreamIds,
  ofRoutes: UpstreamIds,
  before: UpstreamIds | undefined,
): UpstreamIds {
  if (ofRoutes.size === 0) return ofIngresses;
  const all = new Map(ofIngresses);
  for (const [namespace, ids] of ofRoutes) {
    const own = ofIngresses.get(namespace)?.union(ids) ?? ids;
    const last = before?.get(namespace);
    const isSame = last !== undefined && last.size === own.size && own.isSubsetOf(last);
    all.set(namespace, isSame ? last : own);
  }
  return all;
}
