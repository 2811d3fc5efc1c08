/**
 * Flags that bound what one tenant may take. In: nothing. Out: their specifications, with defaults.
 */
import { defineOptions } from "../../shared/options.ts";
import { DEFAULT_OBJECT_BOUNDS } from "../kube/object_bounds.ts";
import { DEFAULT_NAMESPACE_ENDPOINTS } from "../translate/backends/endpoint_bound.ts";
import { DEFAULT_NAMESPACE_BOUNDS } from "../translate/bounds/namespace_bounds.ts";

const GROUP = "Bounds";

export const BOUND_OPTIONS = defineOptions({
  maxNamespaceRoutes: {
    type: "integer",
    group: GROUP,
    default: DEFAULT_NAMESPACE_BOUNDS.routes,
    min: 1,
    reason: "some 140 MiB in each proxy of four workers",
    help: "Routes that one namespace may have served. Past it, what was published stays, and " +
      "Ingresses that would add routes are refused, the newest first.",
  },
  maxNamespaceHostBytes: {
    type: "size",
    group: GROUP,
    default: DEFAULT_NAMESPACE_BOUNDS.hostBytes,
    min: 1024,
    reason: "400 bytes for each of 10,000 routes",
    help: "Bytes that the hosts and paths of one namespace may have; past it as with " +
      "--max-namespace-routes.",
  },
  maxNamespaceEndpoints: {
    type: "integer",
    group: GROUP,
    default: DEFAULT_NAMESPACE_ENDPOINTS,
    min: 1,
    reason: "some 45 MiB in each proxy of four workers",
    help: "Endpoints that the backends of one namespace may have; each port of a Service that " +
      "Ingresses name counts them again. Past it the largest backends get fewer.",
  },
  maxNamespaceCertificates: {
    type: "integer",
    group: GROUP,
    default: DEFAULT_NAMESPACE_BOUNDS.certificates,
    min: 1,
    reason: "some 140 MiB in each proxy of four workers, and 5 MiB of published Secrets",
    help: "Secrets that TLS entries of one namespace may name; past it as with " +
      "--max-namespace-routes.",
  },
  maxIngressPaths: {
    type: "integer",
    group: GROUP,
    default: DEFAULT_OBJECT_BOUNDS.ingressPaths,
    min: 1,
    reason: "a hundred times what most Ingresses have",
    help: "Paths of one Ingress. Of a larger one, what was published stays, and nothing else is " +
      "served.",
  },
  maxObjectBytes: {
    type: "size",
    group: GROUP,
    default: DEFAULT_OBJECT_BOUNDS.objectBytes,
    min: 1024,
    reason: "1,000 endpoints, the most that an EndpointSlice may have, take less",
    help:
      "Bytes of one Ingress, Service or EndpointSlice, as JSON of what is read of it. A larger " +
      "Ingress is treated as with --max-ingress-paths; a larger Service has no ports and a larger " +
      "EndpointSlice no endpoints.",
  },
  maxNamespaceBytes: {
    type: "size",
    group: GROUP,
    default: DEFAULT_OBJECT_BOUNDS.namespaceBytes,
    min: 1024,
    reason:
      "10,000 routes in small Ingresses take 5 MiB, of the controller's memory five times that",
    help:
      "Bytes of all objects of one of these kinds in a namespace. Past it, objects that come or " +
      "grow are treated as too large, until there is room again.",
  },
});
