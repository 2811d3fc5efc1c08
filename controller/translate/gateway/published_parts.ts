/**
 * Parts of Gateway API as they were published. In: the snapshot that was published last. Out: its parts that
 * are of Gateways: what proxies go on with while it is not known yet which Gateways there are, as after a
 * start of the controller.
 */
import type { Snapshot } from "../../../shared/snapshot/types.ts";
import { sharedSocketOf } from "../../../shared/snapshot/listener_id.ts";
import { upstreamsOf } from "../../../shared/snapshot/forward_action.ts";
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
