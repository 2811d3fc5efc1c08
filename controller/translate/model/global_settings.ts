/**
 * What holds for all Ingresses of the profile nginx. In: nothing. Out: the type of what the ConfigMap
 * of ingress-nginx says, and of what is kept of it in a snapshot.
 */
import type { BlockedClients, ReplyAction } from "../../../shared/snapshot/types.ts";

/** The very same object as long as the ConfigMap says the same. */
export interface GlobalSettings {
  /** What all paths reply; null where their Ingresses decide. */
  readonly closure: ReplyAction | null;
  /** Texts of annotations, by name, where an Ingress has none. */
  readonly defaults: ReadonlyMap<string, string>;
  /** Ingresses with annotations of a higher risk are refused; null for none. */
  readonly risk: Risk | null;
  /** Words that no value of an annotation may have. */
  readonly forbiddenWords: readonly string[];
  /** Clients that all routes reject; null for none. */
  readonly blockedClients: BlockedClients | null;
  /** Networks whose forwarded headers proxies believe on all ports; empty for none. */
  readonly trustedProxies: readonly string[];
  /** Who authenticates where an Ingress has no auth-url; null for nobody. */
  readonly externalAuth: GlobalExternalAuth | null;
  /** Paths that begin with one of these, as an Ingress has them, need no login. */
  readonly noAuthLocations: readonly string[];
}

export interface GlobalExternalAuth {
  /** Of the annotations auth-url and those beside it, by name. */
  readonly texts: ReadonlyMap<string, string>;
  /** Whether an administrator has assigned the host of the URL: no other namespace can serve it. */
  readonly isHostAssigned: boolean;
}

/** From the lowest to the highest. */
export const RISKS = ["Low", "Medium", "High", "Critical"] as const;
export type Risk = typeof RISKS[number];

/** As in ingress-nginx: where certificate authorities look (RFC 8555 §8.3). */
export const NO_AUTH_LOCATIONS: readonly string[] = ["/.well-known/acme-challenge"];

export const NO_DEFAULTS: ReadonlyMap<string, string> = new Map();

/** Without a ConfigMap, and for Ingresses of other profiles. */
export const NO_GLOBALS: GlobalSettings = {
  closure: null,
  defaults: NO_DEFAULTS,
  risk: null,
  forbiddenWords: [],
  externalAuth: null,
  noAuthLocations: NO_AUTH_LOCATIONS,
  blockedClients: null,
  trustedProxies: [],
};

/** `NAMESPACE/NAME` of `--configmap`. */
export interface ConfigMapName {
  readonly namespace: string;
  readonly name: string;
}
