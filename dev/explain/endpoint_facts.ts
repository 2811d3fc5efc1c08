/**
 * Where the requests of an upstream go. In: a snapshot, the objects that it was made of, and the upstream. Out:
 * endpoints that get requests, and those that get none with the reason.
 */
import { asList, asScalar, asText, fieldOf } from "../../controller/base/json.ts";
import type { Resources } from "../../controller/kube/resources.ts";
import { formatAddress } from "../../shared/net/address.ts";
import type { Snapshot } from "../../shared/snapshot/types.ts";
import { unusedEndpoints } from "./unused_endpoints.ts";
import type { UpstreamFacts } from "./url_explanation.ts";

type Objects = Pick<Resources, "services" | "endpointSlices">;

/** Label of an EndpointSlice with the name of its Service. */
export const SERVICE_LABEL = "kubernetes.io/service-name";

/** @param inDev Where `dev` sends requests; null outside of it. */
export function endpointFacts(
  { upstreams }: Snapshot,
  objects: Objects,
  id: string,
  inDev: string | null,
): UpstreamFacts {
  const upstream = upstreams.find((upstream) => upstream.id === id);
  const protocol = upstream?.protocol ?? null;
  const written = upstream?.addresses;
  if (written?.kind === "dns") {
    const endpoints = [{ address: `${written.name}:${written.port}`, isName: true }];
    return { id, protocol, endpoints, unused: [], inDev };
  }
  const used = written?.endpoints ?? [];
  const [service, port] = splitUpstreamId(id);
  const slices = objects.endpointSlices.filter((slice) => {
    const name = fieldOf(slice.metadata?.labels, SERVICE_LABEL);
    return `${slice.metadata?.namespace}/${name}` === service;
  });
  const addresses = new Set(used.map(({ address }) => address));
  return {
    id,
    protocol,
    endpoints: used.map(({ address, port }) => ({
      address: formatAddress({ hostname: address, port }),
      isName: false,
    })),
    unused: unusedEndpoints(slices, portName(objects, service, port), addresses),
    inDev,
  };
}

/** `<namespace>/<service>`, and the port as the Ingress names it. */
function splitUpstreamId(id: string): [service: string, port: string] {
  const [plain] = id.split("+", 1);
  const colon = plain.lastIndexOf(":");
  return [plain.slice(0, colon), plain.slice(colon + 1)];
}

/** The name of the Service's port, "" for one without; null where there is no such port. */
function portName({ services }: Objects, service: string, port: string): string | null {
  const object = services.find(({ metadata }) =>
    `${metadata?.namespace}/${metadata?.name}` === service
  );
  const found = (asList(fieldOf(object?.spec, "ports")) ?? [])
    .find((one) => fieldOf(one, "name") === port || asScalar(fieldOf(one, "port")) === port);
  return found === undefined ? null : asText(fieldOf(found, "name")) ?? "";
}
