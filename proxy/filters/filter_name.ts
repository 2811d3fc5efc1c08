/** What filters are called. In: the schema. Out: names of those of routes, and of the proxy's own. */
import type { FilterSpec } from "../../shared/snapshot/types.ts";

/** As a snapshot has them. */
export type Kind = FilterSpec["kind"];

/** Kinds that the proxy adds by itself. */
export type OwnKind = "received-path" | "max-forwards" | "grpc-web";

/** As metrics have them; the redirect to HTTPS is no filter of a route. */
export type FilterName = Kind | OwnKind | "https-redirect";
