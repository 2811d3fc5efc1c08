/**
 * Parts of Gateway API as they were published. In: the snapshot that was published last. Out: its parts that
 * are of Gateways: what proxies go on with while it is not known yet which Gateways there are, as after a
 * start of the controller; and those of objects that there are still.
 */
import type { Snapshot } from "../../../shared/snapshot/types.ts";
import { gatewayOf, sharedSocketOf } from "../../../shared/snapshot/listener_id.ts";
import { upstreamsOf } from "../../../shared/snapshot/forward_action.ts";
import { keyOf, readIdentity } from "../../base/identity.ts";
import type { Resources } from "../../kube/resources.ts";
import { GATEWAYS, HTTP_ROUTES } from "../../kube/types.ts";
import type { GatewayParts } from "./gateway_translation.ts";
import { hostSockets } from "./sharing/host_guards.ts";
import { serviceOf } from "../model/backend_ref.ts";
import type { ServiceUpstreams } from "./objects/backend_ref.ts";

/** @param upstreams Are asked for those that routes forward to, whose endpoints go on changing. */
export function publishedParts(
  { routes, listeners = [], filterSets = [], certificates }: Snapshot,
  upstreams: ServiceUpstreams,
): GatewayParts {
  const own = routes.filter((route) => route.listeners !== undefined);
  for (const id of new Set(own.flatMap(({ action }) => upstreamsOf(action)))) {
    const service = serviceOf(id);
    if (service !== null) upstreams.faultOf(service.namespace, service.name, service.port);
  }
  const onShared = listeners.filter(({ id }) => sharedSocketOf(id) !== null);
  const shared = new Set(onShared.flatMap((listener) => listener.certificates ?? []));
  const sets = new Set(own.map(({ filterSet }) => filterSet));
  const shown = new Set(listeners.flatMap((listener) => listener.certificates ?? []));
  return {
    listeners,
    routes: own,
    filterSets: filterSets.filter(({ id }) => sets.has(id)),
    certificates: certificates.filter(({ id }) => shown.has(id))
      .map(({ plain: _, ...certificate }) => ({ ...certificate, hosts: [] })),
    // Those of Gateways are plain, as none of them makes a host HTTPS only.
    hostCertificates: new Map(
      certificates.filter(({ id }) => shared.has(id))
        .flatMap(({ id, plain = [] }) => plain.map((host) => [host, id] as const)),
    ),
    sharedHosts: hostSockets(own),
  };
}

/** With the listeners and routes of Gateways and HTTPRoutes that there are still; all while that is not known. */
export function stayingGateways(
  published: Snapshot,
  { gateways, httpRoutes, gatewayIsPending }: Resources,
): Snapshot {
  if (gatewayIsPending === true) return published;
  const keysOf = (kind: string, objects: readonly unknown[] | null | undefined) =>
    new Set((objects ?? []).flatMap((object) => readIdentity(kind, object)?.key ?? []));
  const ofGateways = keysOf(GATEWAYS.kind, gateways);
  const ofRoutes = keysOf(HTTP_ROUTES.kind, httpRoutes);
  return {
    ...published,
    listeners: (published.listeners ?? []).filter(({ id }) => ofGateways.has(gatewayOf(id))),
    routes: published.routes.filter(({ origin, listeners = [] }) =>
      origin.kind !== HTTP_ROUTES.kind ||
      (ofRoutes.has(keyOf(origin)) && listeners.some((id) => ofGateways.has(gatewayOf(id))))
    ),
  };
}
