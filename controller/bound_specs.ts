/**
 * Flags that bound what one tenant may take. In: nothing. Out: their specifications, with defaults.
 */
import { defineOptions } from "../shared/options.ts";
import { DEFAULT_NAMESPACE_BOUNDS } from "./translate/namespace_bounds.ts";

const GROUP = "Bounds";

export const BOUND_OPTIONS = defineOptions({
  maxNamespaceRoutes: {
    type: "integer",
    group: GROUP,
    default: DEFAULT_NAMESPACE_BOUNDS.routes,
    min: 1,
    reason: "some 10 MiB in each proxy",
    help: "Routes that one namespace may have served. Past it, what was published stays, and " +
      "Ingresses that would add routes are refused, the newest first.",
  },
  maxNamespaceHostBytes: {
    type: "size",
    group: GROUP,
    default: DEFAULT_NAMESPACE_BOUNDS.hostBytes,
    reason: "400 bytes for each of 10,000 routes",
    help: "Bytes that the hosts and paths of one namespace may have; past it as with " +
      "--max-namespace-routes.",
  },
  maxNamespaceCertificates: {
    type: "integer",
    group: GROUP,
    default: DEFAULT_NAMESPACE_BOUNDS.certificates,
    min: 1,
    reason: "some 20 MiB in each proxy, and 5 MiB of published Secrets",
    help: "Secrets that TLS entries of one namespace may name; past it as with " +
      "--max-namespace-routes.",
  },
});
