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
    reason: "some 140 MiB in each proxy with four workers",
    help:
      "Maximum number of routes per namespace. Above it, published routes stay, and Ingresses " +
      "and HTTPRoutes that would add routes are rejected, the newest first.",
  },
  maxNamespaceHostBytes: {
    type: "size",
    group: GROUP,
    default: DEFAULT_NAMESPACE_BOUNDS.hostBytes,
    min: 1024,
    reason: "400 bytes for each of 10,000 routes",
    help: "Maximum size of all hosts, paths, other matches and settings of routes, such as " +
      "allowlists, of a namespace, and of the names of listeners of its HTTPRoutes. Above it, as with --max-namespace-routes.",
  },
  maxNamespaceEndpoints: {
    type: "integer",
    group: GROUP,
    default: DEFAULT_NAMESPACE_ENDPOINTS,
    min: 1,
    reason: "some 45 MiB in each proxy with four workers",
    help: "Maximum number of endpoints per namespace. Endpoints count once for each Service port " +
      "that Ingresses and HTTPRoutes reference. Above it, the largest backends get fewer endpoints.",
  },
  maxNamespaceCertificates: {
    type: "integer",
    group: GROUP,
    default: DEFAULT_NAMESPACE_BOUNDS.certificates,
    min: 1,
    reason: "some 140 MiB in each proxy with four workers, and 5 MiB of published Secrets",
    help:
      "Maximum number of Secrets that TLS entries of a namespace reference. Above it, as with " +
      "--max-namespace-routes.",
  },
  maxIngressPaths: {
    type: "integer",
    group: GROUP,
    default: DEFAULT_OBJECT_BOUNDS.ingressPaths,
    min: 1,
    reason: "a hundred times what most Ingresses have",
    help: "Maximum number of paths per Ingress. Of a larger Ingress, published routes stay, and " +
      "nothing else is served.",
  },
  maxObjectBytes: {
    type: "size",
    group: GROUP,
    default: DEFAULT_OBJECT_BOUNDS.objectBytes,
    min: 1024,
    reason: "1,000 endpoints, the maximum of an EndpointSlice, take less",
    help:
      "Maximum size of an Ingress, Service, EndpointSlice or object of Gateway API, as JSON of the " +
      "fields that are read. A larger Ingress or HTTPRoute is handled as with " +
      "--max-ingress-paths; a larger Service has no ports, a larger EndpointSlice no endpoints, a " +
      "larger Gateway no listeners, and a larger ReferenceGrant permits nothing.",
  },
  maxNamespaceBytes: {
    type: "size",
    group: GROUP,
    default: DEFAULT_OBJECT_BOUNDS.namespaceBytes,
    min: 1024,
    reason:
      "10,000 routes in small Ingresses take 5 MiB, and five times that in the controller's " +
      "memory",
    help: "Maximum size of all objects per kind and namespace. Above it, new and growing objects " +
      "are handled as too large until others shrink.",
  },
});
